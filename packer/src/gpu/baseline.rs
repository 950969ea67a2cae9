//! The device's own copy, which kernels are held against.

use super::GpuError;
use super::clock::{Clock, PHASES};
use super::device::Device;
use super::mapping::Mapping;

/// Seconds of the fastest of some copies of `bytes` bytes within device memory.
pub(super) fn copy_seconds(device: &Device, bytes: u64) -> Result<Option<f64>, GpuError> {
    let copied = device.scoped(|| {
        let clock = Clock::new(device)?;
        let size = bytes.next_multiple_of(4);
        let make = || {
            device.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("baseline"),
                size,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let (one, other) = (make(), make());
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("baseline") };
        let mut encoder = device.device.create_command_encoder(&descriptor);
        // Memory is committed when it is first touched.
        encoder.clear_buffer(&one, 0, None);
        encoder.clear_buffer(&other, 0, None);
        clock.stamp(&mut encoder, 0);
        for number in (1..).take(PHASES) {
            encoder.copy_buffer_to_buffer(&one, 0, &other, 0, size);
            clock.stamp(&mut encoder, number);
        }
        clock.resolve(&mut encoder);
        let submission = device.queue.submit([encoder.finish()]);
        let mapping: Mapping = clock.ask();
        Some((clock, submission, mapping))
    })?;
    let Some((clock, submission, mapping)) = copied else {
        return Ok(None);
    };
    device.wait(submission)?;
    if !mapping.is_done() {
        return Err(device.mapping_failed("the timestamps' buffer"));
    }
    let least = clock.read().into_iter().filter(|&seconds| seconds > 0.0).reduce(f64::min);
    Ok(least)
}
