//! What stands for [`gpu`](crate::gpu) in a build without the feature `gpu`:
//! no adapter is there, and none can be opened.

#[path = "timings.rs"]
mod timings;

use std::convert::Infallible;

use thiserror::Error;

use crate::core::image::Image;
use crate::core::window::{Window, WindowLimit};
pub use timings::{DeviceSeconds, GpuTimings};

/// What can go wrong on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The program has no GPU code.
    #[error("this wimg was built without the feature `gpu`")]
    NoAdapter,
}

/// How to open a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// The adapter: its number or a part of its name.
    pub adapter: Option<String>,
    /// The most device memory to take, in bytes.
    pub memory: u64,
}

/// An adapter: there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the feature's own type")]
pub struct AdapterInfo {
    pub number: usize,
    pub name: String,
    pub backend: String,
    pub driver: String,
    pub kind: &'static str,
    pub software: bool,
    pub max_buffer: u64,
    pub max_binding: u64,
    pub max_workgroups: u32,
    pub timestamps: bool,
    pub shared_memory: bool,
}

/// The adapters that can run the kernels: none.
pub fn adapters() -> Vec<AdapterInfo> {
    Vec::new()
}

/// A GPU that cannot be.
#[derive(Debug)]
pub struct GpuPacker(Infallible);

#[expect(missing_docs, reason = "the functions are those of the feature's own type")]
impl GpuPacker {
    pub fn open(_options: &GpuOptions) -> Result<GpuPacker, GpuError> {
        Err(GpuError::NoAdapter)
    }

    pub fn info(&self) -> &AdapterInfo {
        match self.0 {}
    }

    pub fn is_software(&self) -> bool {
        match self.0 {}
    }

    pub fn window_limit(&self) -> WindowLimit {
        match self.0 {}
    }

    pub fn in_flight(&self) -> usize {
        match self.0 {}
    }

    pub fn submit(&mut self, _: &Image, _: &Window, _: &[u8]) -> Result<(), GpuError> {
        match self.0 {}
    }

    pub fn collect(&mut self, _: &Window, _: &mut [u8], _: &mut Vec<u32>) -> Result<(), GpuError> {
        match self.0 {}
    }

    pub fn submit_check(&mut self, _: &Image, _: &Window, _: &[u8]) -> Result<(), GpuError> {
        match self.0 {}
    }

    pub fn collect_check(&mut self, _: &Window, _: &mut Vec<u32>) -> Result<(), GpuError> {
        match self.0 {}
    }

    pub fn timings(&self) -> &GpuTimings {
        match self.0 {}
    }
}
