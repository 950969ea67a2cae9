//! Windows that go through a GPU before they are checked.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use wimg_core::{Image, WindowLimit};

use super::Job;
use crate::backend::{Backend, BackendOptions};
use crate::gpu::{GpuError, GpuPacker};
use crate::pipeline::WINDOWS_BYTES;
use crate::pipeline::middle::GPU_BYTES;

/// Windows that go through a GPU, which computes their tiles' CRCs; without
/// one they come as they are read.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    gpu: Option<GpuPacker>,
    /// Windows that the GPU has, oldest first.
    flying: VecDeque<Job>,
}

impl Ahead {
    /// The GPU, where it is asked for by name: its answers cost a transfer of
    /// all bytes, so that one is never chosen unasked.
    ///
    /// # Errors
    /// None that can be used.
    pub(super) fn open(options: &BackendOptions) -> Result<Ahead, GpuError> {
        let wanted = options.backend == Backend::Gpu;
        let gpu = wanted.then(|| GpuPacker::open(&options.gpu)).transpose()?;
        Ok(Ahead { gpu, ..Ahead::default() })
    }

    /// What a window should hold.
    pub(super) fn window_limit(&self) -> WindowLimit {
        self.gpu.as_ref().map_or_else(WindowLimit::default, GpuPacker::window_limit)
    }

    /// The most bytes that all windows in flight should hold.
    pub(super) fn budget(&self) -> u64 {
        if self.gpu.is_some() { GPU_BYTES } else { WINDOWS_BYTES }
    }

    /// The next window to be checked, with a GPU's CRCs of its tiles.
    ///
    /// # Errors
    /// An error of the GPU.
    pub(super) fn next(
        &mut self,
        image: &Image,
        jobs: &Receiver<Job>,
    ) -> Result<Option<Job>, GpuError> {
        let Some(gpu) = &mut self.gpu else {
            return Ok(jobs.recv().ok());
        };
        while self.flying.len() < gpu.in_flight() {
            // The reader may wait for the bytes that are in flight.
            let flying = !self.flying.is_empty();
            let job = if flying { jobs.try_recv().ok() } else { jobs.recv().ok() };
            let Some(job) = job else { break };
            gpu.submit_check(image, &job.window, &job.channel_bytes)?;
            self.flying.push_back(job);
        }
        let Some(mut job) = self.flying.pop_front() else { return Ok(None) };
        gpu.collect_check(&job.window, &mut job.crcs)?;
        Ok(Some(job))
    }

    /// The adapter that computes the CRCs.
    pub(super) fn adapter(&self) -> Option<String> {
        self.gpu.as_ref().map(|gpu| gpu.info().name.clone())
    }
}
