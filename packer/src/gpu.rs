//! Packing windows with wgpu compute shaders: byte for byte what
//! [`pack_window`](crate::core::pack_window) gives.
//!
//! Nothing above this module names wgpu. Tensor CRCs are not the GPU's
//! business: the host computes them from the bytes that it reads, so that a
//! GPU that damages bytes is found out.

mod adapter;
mod baseline;
mod clock;
mod device;
mod error;
mod flight;
mod job;
mod mapping;
mod place;
mod plain;
mod polynomial;
mod program;
mod self_test;
mod stripe;
mod table;
mod tile_crc;
mod timings;
mod transpose;

use std::collections::VecDeque;

use crate::core::image::Image;
use crate::core::window::{Window, WindowLimit};
use device::Device;
use flight::Flight;
use job::Job;
use program::Programs;

pub use adapter::{AdapterInfo, adapters};
pub use error::GpuError;
pub use timings::{DeviceSeconds, GpuTimings};

/// Windows in flight: one being uploaded, one computed, one read back.
const IN_FLIGHT: usize = 3;
/// Bytes that a window aims at: enough to amortise a dispatch.
const WINDOW_BYTES: u64 = 32 << 20;
/// Tiles that a window aims at.
const WINDOW_TILES: u64 = 1 << 16;

/// Which limits a device is opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuLimits {
    /// All that the adapter has.
    #[default]
    Adapter,
    /// wgpu's defaults, which every WebGPU implementation has.
    Default,
}

/// How to open a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuOptions {
    /// The adapter: its number among [`adapters`] or a part of its name.
    /// `None` takes the first that is not software, else the first.
    pub adapter: Option<String>,
    /// The most device memory to take, in bytes.
    pub memory: u64,
    /// The device's limits.
    pub limits: GpuLimits,
    /// Lanes that share a tile in `tile_crc`, 1 to 64, a power of two; `None`
    /// chooses by window.
    pub crc_lanes: Option<u32>,
    /// Whether to upload to and read back from the buffers that the kernels
    /// use, where the adapter shares its memory with the host and can.
    pub shared_memory: bool,
    /// Whether to run the kernels; without them bytes only travel, as a
    /// baseline for speed, and what comes back means nothing.
    pub kernels: bool,
    /// Fill the channel bytes with this before the kernels run, so that a byte
    /// that none writes shows: for tests, at the cost of a copy.
    pub sentinel: Option<u8>,
    /// Whether to test the kernels even where this adapter and driver passed before.
    pub always_self_test: bool,
}

impl Default for GpuOptions {
    fn default() -> Self {
        GpuOptions {
            adapter: None,
            memory: 1 << 30,
            limits: GpuLimits::Adapter,
            crc_lanes: None,
            shared_memory: true,
            kernels: true,
            sentinel: None,
            always_self_test: false,
        }
    }
}

/// Packs windows on a GPU, several in flight, in order.
#[derive(Debug)]
pub struct GpuPacker {
    device: Device,
    programs: Programs,
    crc_lanes: Option<u32>,
    kernels: bool,
    sentinel: Option<u8>,
    memory: u64,
    /// Windows submitted, oldest first, and whether each is packed.
    flying: VecDeque<(Flight, Window, bool)>,
    /// Staging and buffers to use again.
    idle: Vec<Flight>,
    timings: GpuTimings,
}

impl GpuPacker {
    /// Opens an adapter, builds the kernels and tests them.
    ///
    /// # Errors
    /// No adapter, or none that `options.adapter` names; a device that cannot
    /// be opened; an adapter that computes wrong bytes.
    pub fn open(options: &GpuOptions) -> Result<GpuPacker, GpuError> {
        let mut packer = GpuPacker::open_untested(options)?;
        self_test::run(&mut packer, options.always_self_test)?;
        packer.kernels = options.kernels;
        packer.sentinel = options.sentinel;
        packer.timings = GpuTimings::default();
        Ok(packer)
    }

    fn open_untested(options: &GpuOptions) -> Result<GpuPacker, GpuError> {
        let device = Device::open(options)?;
        let programs = Programs::new(&device, options.crc_lanes)?;
        Ok(GpuPacker {
            device,
            programs,
            crc_lanes: options.crc_lanes,
            kernels: true,
            // So that the self-test sees what no kernel writes.
            sentinel: Some(0xA5),
            memory: options.memory,
            flying: VecDeque::new(),
            idle: Vec::new(),
            timings: GpuTimings::default(),
        })
    }

    /// The adapter.
    pub fn info(&self) -> &AdapterInfo {
        self.device.info()
    }

    /// Whether the adapter is software, which is slower than the CPU packer.
    pub fn is_software(&self) -> bool {
        self.info().software
    }

    /// What a window should hold. One that holds more, because of one large
    /// tile, is still packed where memory allows.
    pub fn window_limit(&self) -> WindowLimit {
        // A quarter is for the kernels' tables and what buffers grow by.
        let share = self.memory / (2 * IN_FLIGHT as u64) / 4 * 3;
        let bytes = WINDOW_BYTES.min(share).min(self.device.binding_limit() / 2);
        WindowLimit { bytes, tiles: WINDOW_TILES }
    }

    /// The most windows between [`GpuPacker::submit`] and [`GpuPacker::collect`].
    pub fn in_flight(&self) -> usize {
        IN_FLIGHT
    }

    /// Uploads a window's source bytes and has it packed; does not wait.
    ///
    /// # Errors
    /// As many windows are in flight as may be; source bytes that are not the
    /// window's; a window past the device's limits or the memory allowed; an
    /// error of the GPU.
    pub fn submit(
        &mut self,
        image: &Image,
        window: &Window,
        source: &[u8],
    ) -> Result<(), GpuError> {
        let job = Job::pack(image, window, source, self.lanes_for(window))?;
        self.fly(&job, window)
    }

    /// Uploads a window's channel bytes and has their tiles' CRCs computed, of
    /// check words' tiles without the word; does not wait.
    ///
    /// # Errors
    /// As [`GpuPacker::submit`].
    pub fn submit_check(
        &mut self,
        image: &Image,
        window: &Window,
        channel_bytes: &[u8],
    ) -> Result<(), GpuError> {
        let job = Job::check(image, window, channel_bytes, self.lanes_for(window))?;
        self.fly(&job, window)
    }

    fn lanes_for(&self, window: &Window) -> u32 {
        let tiles = window.tasks.len();
        self.crc_lanes.unwrap_or_else(|| tile_crc::lanes_for(tiles, self.is_software()))
    }

    fn fly(&mut self, job: &Job<'_>, window: &Window) -> Result<(), GpuError> {
        if self.flying.len() >= IN_FLIGHT {
            return Err(GpuError::Busy { in_flight: IN_FLIGHT });
        }
        let mut flight = self.idle.pop().unwrap_or_default();
        let held: u64 = self.flying.iter().map(|(flight, ..)| flight.device_bytes()).sum();
        let held = held + self.idle.iter().map(Flight::device_bytes).sum::<u64>();
        let allowed = self.memory.saturating_sub(held);
        flight.reserve(&self.device, job, allowed, self.memory)?;
        let programs = self.kernels.then_some(&self.programs);
        flight.submit(&self.device, programs, job, self.sentinel, &mut self.timings)?;
        self.flying.push_back((flight, window.clone(), job.packs));
        Ok(())
    }

    /// Waits for the window submitted first and gives its channel bytes, every
    /// one of them, and after `crcs`' content its tiles' CRCs in its order.
    ///
    /// # Errors
    /// No window is in flight, or the oldest is another; channel bytes of
    /// another length; an error of the GPU.
    pub fn collect(
        &mut self,
        window: &Window,
        channel_bytes: &mut [u8],
        crcs: &mut Vec<u32>,
    ) -> Result<(), GpuError> {
        self.land(window, channel_bytes, crcs, true)
    }

    /// Waits for the window submitted first, to be checked, and gives its
    /// tiles' CRCs after `crcs`' content in its order.
    ///
    /// # Errors
    /// As [`GpuPacker::collect`].
    pub fn collect_check(&mut self, window: &Window, crcs: &mut Vec<u32>) -> Result<(), GpuError> {
        self.land(window, &mut [], crcs, false)
    }

    fn land(
        &mut self,
        window: &Window,
        channel_bytes: &mut [u8],
        crcs: &mut Vec<u32>,
        packs: bool,
    ) -> Result<(), GpuError> {
        let Some((mut flight, submitted, packed)) = self.flying.pop_front() else {
            return Err(GpuError::Idle);
        };
        let bytes = if packs { window.channel_bytes } else { 0 };
        if submitted != *window || packed != packs || channel_bytes.len() as u64 != bytes {
            let error =
                GpuError::Order { submitted: submitted.tiles.clone(), asked: window.tiles.clone() };
            self.flying.push_front((flight, submitted, packed));
            return Err(error);
        }
        flight.collect(&self.device, channel_bytes, crcs, &mut self.timings)?;
        self.timings.windows += 1;
        self.timings.source_bytes += if packs { window.source_bytes } else { 0 };
        self.timings.channel_bytes += window.channel_bytes;
        self.idle.push(flight);
        Ok(())
    }

    /// What packing has cost so far.
    pub fn timings(&self) -> &GpuTimings {
        &self.timings
    }

    /// Seconds that the device takes to copy `bytes` bytes of its memory: what
    /// a kernel's seconds are held against. `None` without timestamps.
    ///
    /// # Errors
    /// An error of the GPU.
    pub fn device_copy_seconds(&self, bytes: u64) -> Result<Option<f64>, GpuError> {
        baseline::copy_seconds(&self.device, bytes)
    }

    /// What destroys the device, as a reset of the driver would, whatever is
    /// under way: for tests of what then happens.
    pub fn destroyer(&self) -> impl Fn() + Send + Sync + 'static {
        self.device.destroyer()
    }
}
