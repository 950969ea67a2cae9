//! What packs the windows: the CPU, a GPU, or whichever is faster.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::gpu::{DeviceSeconds, GpuOptions};
use crate::pipeline::stages::Stages;

/// What packs the windows. Every one gives the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The faster of the two, tried on the first windows; never a GPU in software.
    #[default]
    Auto,
    /// All cores.
    Cpu,
    /// A GPU, also one in software, or none at all.
    Gpu,
}

impl Backend {
    /// All of them.
    pub const ALL: [Backend; 3] = [Backend::Auto, Backend::Cpu, Backend::Gpu];

    /// Its word on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Cpu => "cpu",
            Backend::Gpu => "gpu",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Backend::ALL.into_iter().find(|backend| backend.name() == text);
        found.ok_or_else(|| format!("backend `{}` is not auto, cpu or gpu", text.escape_debug()))
    }
}

/// A backend and how its GPU is opened.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    /// What packs.
    pub backend: Backend,
    /// Which adapter, how much of its memory, which limits.
    pub gpu: GpuOptions,
}

/// What packed an image, and what it cost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BackendReport {
    /// `cpu`, `gpu`, or `gpu+cpu` where both packed windows.
    pub backend: &'static str,
    /// The GPU's adapter, if one was opened.
    pub adapter: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// Channel bytes that the CPU packed.
    pub cpu_bytes: u64,
    /// Channel bytes that the GPU packed.
    pub gpu_bytes: u64,
    /// Gigabytes a second of the CPU on the trial's windows.
    pub trial_cpu_gb_s: Option<f64>,
    /// Gigabytes a second of the GPU on the trial's windows, transfers included.
    pub trial_gpu_gb_s: Option<f64>,
    /// The host's seconds of copying to the GPU.
    pub upload_seconds: f64,
    /// The host's seconds of waiting for the GPU.
    pub wait_seconds: f64,
    /// The host's seconds of copying from the GPU.
    pub read_back_seconds: f64,
    /// The GPU's own seconds, where it tells them.
    pub device: Option<DeviceSeconds>,
    /// How long reading, packing and writing worked, and how much of it at once.
    pub stages: Stages,
    /// Why the GPU was given up, if it was.
    pub note: Option<String>,
}
