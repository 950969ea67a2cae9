//! The middle of the pipeline: what packs windows.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use wimg_core::{Image, Window, WindowLimit};

use crate::backend::{Backend, BackendOptions, BackendReport};
use crate::error::Error;
use crate::gpu::{GpuError, GpuPacker, adapters};

use super::cpu;
use super::stages::Stages;

/// Bytes of all windows in flight with the CPU.
const CPU_BYTES: u64 = 128 << 20;
/// Bytes of all windows in flight with a GPU, whose windows are larger: with
/// its staging this stays under 512 MiB.
pub(crate) const GPU_BYTES: u64 = 224 << 20;
/// Rounds of the trial: in the first one buffers are made.
const TRIAL_ROUNDS: u32 = 2;

/// A window with its bytes.
#[derive(Debug)]
pub struct Job {
    /// The window.
    pub window: Window,
    /// Its source bytes.
    pub source: Vec<u8>,
    /// Its channel bytes, once packed.
    pub channel_bytes: Vec<u8>,
    /// Its tiles' CRCs, once packed.
    pub crcs: Vec<u32>,
}

impl Job {
    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        self.window.source_bytes + self.window.channel_bytes
    }

    fn pack(&mut self, image: &Image) -> Result<(), Error> {
        self.crcs = cpu::pack_window(image, &self.window, &self.source, &mut self.channel_bytes)?;
        Ok(())
    }
}

/// What packs windows, in order: jobs are submitted and collected.
#[derive(Debug)]
pub struct Middle {
    /// The GPU, while it is used.
    gpu: Option<GpuPacker>,
    /// Whether the CPU may take over when the GPU fails.
    fallback: bool,
    limit: WindowLimit,
    budget: u64,
    /// Rounds of the trial still to come.
    trial: u32,
    /// Jobs of the trial's round, not yet submitted.
    gathered: Vec<Job>,
    /// Jobs in flight, oldest first; packed ones wait for their turn.
    flying: VecDeque<Flying>,
    report: BackendReport,
}

/// A job in flight.
#[derive(Debug)]
struct Flying {
    job: Job,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For the CPU, when it is collected.
    Waiting,
    /// The GPU has it.
    Submitted,
    /// Its bytes are there.
    Packed,
}

/// Whether this machine can have a GPU at all: on Linux one has a device node.
/// Asking the drivers takes a while, and some print complaints on a machine
/// without a display, which nobody wants to read every night.
fn may_have_gpu() -> bool {
    let nodes = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd"];
    !cfg!(target_os = "linux") || nodes.iter().any(|node| Path::new(node).exists())
}

impl Middle {
    /// The middle that the options ask for.
    ///
    /// # Errors
    /// `gpu` without one that can be used. `auto` then takes the CPU.
    pub fn open(options: &BackendOptions) -> Result<Middle, Error> {
        let fallback = options.backend == Backend::Auto;
        let wanted = match options.backend {
            Backend::Cpu => false,
            Backend::Gpu => true,
            // Looked at before one is opened: opening compiles kernels. An
            // adapter that was named is tried whatever it is.
            Backend::Auto => {
                options.gpu.adapter.is_some()
                    || (may_have_gpu() && adapters().iter().any(|info| !info.software))
            }
        };
        if !wanted {
            return Ok(Middle::cpu());
        }
        match GpuPacker::open(&options.gpu) {
            Ok(gpu) if fallback && gpu.is_software() => Ok(Middle::cpu()),
            Ok(gpu) if fallback => Ok(Middle::auto(gpu, TRIAL_ROUNDS)),
            Ok(gpu) => Ok(Middle::gpu(gpu)),
            Err(error) if fallback => {
                let mut middle = Middle::cpu();
                middle.report.note = Some(error.to_string());
                Ok(middle)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The CPU.
    pub fn cpu() -> Middle {
        Middle {
            gpu: None,
            fallback: false,
            limit: WindowLimit::default(),
            budget: CPU_BYTES,
            trial: 0,
            gathered: Vec::new(),
            flying: VecDeque::new(),
            report: BackendReport::default(),
        }
    }

    /// A GPU, and nothing where it fails.
    pub fn gpu(gpu: GpuPacker) -> Middle {
        Middle {
            limit: gpu.window_limit(),
            budget: GPU_BYTES,
            report: BackendReport {
                adapter: Some(gpu.info().name.clone()),
                driver: Some(gpu.info().driver.clone()),
                ..BackendReport::default()
            },
            gpu: Some(gpu),
            ..Middle::cpu()
        }
    }

    /// A GPU that so many rounds hold against the CPU, of which the faster one
    /// stays; the CPU takes over where it fails.
    pub fn auto(gpu: GpuPacker, rounds: u32) -> Middle {
        Middle { fallback: true, trial: rounds, ..Middle::gpu(gpu) }
    }

    /// What a window should hold.
    pub fn window_limit(&self) -> WindowLimit {
        self.limit
    }

    /// The most bytes that all windows in flight should hold.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Whether a job must be collected before another is submitted.
    pub fn is_full(&self) -> bool {
        // A round of the trial starts when the one before has left, so that
        // nothing else is timed with it.
        let tries = self.trial > 0 && self.gpu.is_some() && !self.flying.is_empty();
        tries || self.flying.len() >= self.gpu.as_ref().map_or(1, GpuPacker::in_flight)
    }

    /// How long to wait for another job before what is there is worked off.
    pub fn patience(&self) -> Duration {
        match (self.flying.is_empty(), self.gathered.is_empty()) {
            (false, _) => Duration::ZERO,
            // A round of the trial may take more bytes than the budget gives
            // out: whoever waits for it forever waits for himself.
            (true, false) => Duration::from_millis(200),
            (true, true) => Duration::from_secs(60),
        }
    }

    /// Takes a job.
    ///
    /// # Errors
    /// An error of the GPU that the CPU may not take over from.
    pub fn submit(&mut self, image: &Image, job: Job) -> Result<(), Error> {
        if self.trial > 0 && self.gpu.is_some() {
            self.gathered.push(job);
            let round = self.gpu.as_ref().map_or(1, GpuPacker::in_flight);
            return if self.gathered.len() >= round { self.try_round(image) } else { Ok(()) };
        }
        self.submit_now(image, job)
    }

    fn submit_now(&mut self, image: &Image, job: Job) -> Result<(), Error> {
        let mut state = State::Waiting;
        if let Some(gpu) = &mut self.gpu {
            match gpu.submit(image, &job.window, &job.source) {
                Ok(()) => state = State::Submitted,
                Err(error) => self.give_up(error)?,
            }
        }
        self.flying.push_back(Flying { job, state });
        Ok(())
    }

    /// No more jobs come now: the trial's round is what was gathered.
    ///
    /// # Errors
    /// As [`Middle::submit`].
    pub fn flush(&mut self, image: &Image) -> Result<(), Error> {
        if self.gathered.is_empty() { Ok(()) } else { self.try_round(image) }
    }

    /// The oldest job, packed; `None` when none is in flight.
    ///
    /// # Errors
    /// An error of the GPU that the CPU may not take over from.
    pub fn collect(&mut self, image: &Image) -> Result<Option<Job>, Error> {
        let Some(Flying { mut job, mut state }) = self.flying.pop_front() else {
            return Ok(None);
        };
        if state == State::Submitted
            && let Some(gpu) = &mut self.gpu
        {
            job.crcs.clear();
            match gpu.collect(&job.window, &mut job.channel_bytes, &mut job.crcs) {
                Ok(()) => {
                    self.report.gpu_bytes += job.window.channel_bytes;
                    state = State::Packed;
                }
                Err(error) => self.give_up(error)?,
            }
        }
        if state != State::Packed {
            job.pack(image)?;
            self.report.cpu_bytes += job.window.channel_bytes;
        }
        Ok(Some(job))
    }

    /// The GPU failed: without it, unless the CPU may not take over.
    fn give_up(&mut self, error: GpuError) -> Result<(), Error> {
        if !self.fallback {
            return Err(error.into());
        }
        self.note_timings();
        self.report.note = Some(format!("{error}; the CPU carried on"));
        self.gpu = None;
        Ok(())
    }

    /// Packs the gathered windows on the GPU and on the CPU; after the last
    /// round the faster one stays.
    fn try_round(&mut self, image: &Image) -> Result<(), Error> {
        let jobs = std::mem::take(&mut self.gathered);
        let bytes: u64 = jobs.iter().map(|job| job.window.channel_bytes).sum();
        let started = Instant::now();
        for job in jobs {
            self.submit_now(image, job)?;
        }
        let mut packed = Vec::new();
        while let Some(job) = self.collect(image)? {
            packed.push(job);
        }
        let gpu_seconds = started.elapsed().as_secs_f64();
        let mut scratch = Vec::new();
        let started = Instant::now();
        for job in &mut packed {
            scratch.resize(job.channel_bytes.len(), 0);
            let crcs = cpu::pack_window(image, &job.window, &job.source, &mut scratch)?;
            if crcs != job.crcs || scratch != job.channel_bytes {
                let tiles = job.window.tiles.clone();
                std::mem::swap(&mut job.channel_bytes, &mut scratch);
                job.crcs = crcs;
                self.gpu = None;
                self.report.note =
                    Some(format!("the GPU packed other bytes than the CPU in tiles {tiles:?}"));
            }
        }
        let cpu_seconds = started.elapsed().as_secs_f64();
        let collected = packed.into_iter().map(|job| Flying { job, state: State::Packed });
        self.flying.extend(collected);
        self.trial -= 1;
        if self.trial == 0 && self.gpu.is_some() {
            let rate = |seconds: f64| bytes as f64 / seconds.max(1e-9) / 1e9;
            self.report.trial_cpu_gb_s = Some(rate(cpu_seconds));
            self.report.trial_gpu_gb_s = Some(rate(gpu_seconds));
            if cpu_seconds <= gpu_seconds {
                self.note_timings();
                self.gpu = None;
            }
        }
        Ok(())
    }

    fn note_timings(&mut self) {
        if let Some(timings) = self.gpu.as_ref().map(GpuPacker::timings) {
            self.report.upload_seconds = timings.upload;
            self.report.wait_seconds = timings.wait;
            self.report.read_back_seconds = timings.read_back;
            self.report.device = timings.device;
        }
    }

    /// Takes how long the pipeline around it worked.
    pub(crate) fn note_stages(&mut self, stages: Stages) {
        self.report.stages = stages;
    }

    /// What packed, and what it cost.
    pub fn report(mut self) -> BackendReport {
        self.note_timings();
        self.report.backend = match (self.report.gpu_bytes, self.report.cpu_bytes) {
            (0, _) => "cpu",
            (_, 0) => "gpu",
            _ => "gpu+cpu",
        };
        self.report
    }
}
