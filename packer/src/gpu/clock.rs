//! The device's time between its commands.

use super::device::Device;
use super::mapping::Mapping;

/// The phases of a window, each between two timestamps.
pub(super) const PHASES: usize = 6;
/// A timestamp before the first phase and after each.
const STAMPS: u32 = 7;

/// Timestamps, and how they come to the host.
#[derive(Debug)]
pub(super) struct Clock {
    stamps: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    /// Seconds of a tick.
    tick: f64,
}

impl Clock {
    /// A clock, where the device has timestamps.
    pub(super) fn new(device: &Device) -> Option<Clock> {
        let tick = device.tick?;
        let size = u64::from(STAMPS) * u64::from(wgpu::QUERY_SIZE);
        let make = |usage| {
            device.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("clock"),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let stamps = device.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("clock"),
            ty: wgpu::QueryType::Timestamp,
            count: STAMPS,
        });
        let resolved = make(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let staging = make(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        Some(Clock { stamps, resolved, staging, tick })
    }

    /// Takes the time: timestamp 0, then one after each phase.
    pub(super) fn stamp(&self, encoder: &mut wgpu::CommandEncoder, number: u32) {
        encoder.write_timestamp(&self.stamps, number);
    }

    /// Has all timestamps brought to the host.
    pub(super) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.stamps, 0..STAMPS, &self.resolved, 0);
        let bytes = self.resolved.size();
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, bytes);
    }

    /// Asks for them to be mapped.
    pub(super) fn ask(&self) -> Mapping {
        Mapping::ask(&self.staging, wgpu::MapMode::Read)
    }

    /// Seconds of each phase, once they are mapped. A clock that jumps counts as none.
    pub(super) fn read(&self) -> [f64; PHASES] {
        let mut phases = [0.0; PHASES];
        if let Ok(view) = self.staging.get_mapped_range(..) {
            let stamp = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
            for (phase, pair) in phases.iter_mut().zip(view.as_chunks::<8>().0.windows(2)) {
                if let [before, after] = pair {
                    let ticks = stamp(after).saturating_sub(stamp(before));
                    *phase = u32::try_from(ticks).map_or(0.0, f64::from) * self.tick;
                }
            }
        }
        self.staging.unmap();
        phases
    }
}
