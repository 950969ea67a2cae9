//! What packing on a GPU costs.

/// Seconds and bytes over all windows collected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuTimings {
    /// Windows.
    pub windows: u64,
    /// Bytes of the checkpoint that went up.
    pub source_bytes: u64,
    /// Bytes of the channels that came down, or went up to be checked.
    pub channel_bytes: u64,
    /// The host's seconds of copying into staging.
    pub upload: f64,
    /// The host's seconds of waiting for the GPU.
    pub wait: f64,
    /// The host's seconds of copying from staging.
    pub read_back: f64,
    /// The GPU's seconds, where it has timestamps.
    pub device: Option<DeviceSeconds>,
}

/// The GPU's seconds, from timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct DeviceSeconds {
    /// Copying from staging; 0 where staging is what the kernels read.
    pub upload: f64,
    /// The kernel `plain`.
    pub plain: f64,
    /// The kernel `stripe`.
    pub stripe: f64,
    /// The kernel `transpose`.
    pub transpose: f64,
    /// The kernel `tile_crc`.
    pub tile_crc: f64,
    /// Copying to staging; 0 where the kernels write what the host reads.
    pub read_back: f64,
}

impl DeviceSeconds {
    /// The kernels' seconds.
    pub fn kernels(&self) -> f64 {
        self.plain + self.stripe + self.transpose + self.tile_crc
    }

    /// Adds a window's phases, in the order in which they ran.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a GPU takes time"))]
    pub(super) fn add(&mut self, phases: [f64; 6]) {
        let [upload, plain, stripe, transpose, tile_crc, read_back] = phases;
        self.upload += upload;
        self.plain += plain;
        self.stripe += stripe;
        self.transpose += transpose;
        self.tile_crc += tile_crc;
        self.read_back += read_back;
    }
}
