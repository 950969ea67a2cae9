//! A window on its way: its buffers up and down, used again for the next one.

use std::time::Instant;

use rayon::prelude::*;

use super::clock::Clock;
use super::device::Device;
use super::job::{Job, Region, Regions};
use super::mapping::Mapping;
use super::program::Programs;
use super::{GpuError, GpuTimings};

/// Bytes that one thread copies to or from staging at a time.
const COPY_BYTES: usize = 1 << 20;
/// Buffers' sizes are multiples of this.
const GROW_BYTES: u64 = 1 << 16;

/// A window on its way, or between two windows.
#[derive(Debug, Default)]
pub(super) struct Flight {
    up: Option<Side>,
    down: Option<Side>,
    clock: Option<Clock>,
    submitted: Option<Submitted>,
}

/// A buffer that kernels use, and what the host maps of it.
#[derive(Debug)]
struct Side {
    buffer: wgpu::Buffer,
    /// `None` where the kernels' buffer itself can be mapped.
    staging: Option<wgpu::Buffer>,
}

/// What the GPU is at work on.
#[derive(Debug)]
struct Submitted {
    submission: wgpu::SubmissionIndex,
    regions: Regions,
    /// The mappings to come: up, down, and the clock's.
    mappings: Vec<Mapping>,
}

impl Side {
    /// Buffers of `size` bytes. What goes up is made mapped.
    fn new(device: &Device, size: u64, up: bool) -> Side {
        use wgpu::BufferUsages as Usage;
        let (name, used, copied, mapped) = if up {
            // What is only checked is copied to where `tile_crc` reads it.
            let used = Usage::STORAGE | Usage::UNIFORM | Usage::COPY_SRC;
            ("up", used, (Usage::COPY_DST, Usage::COPY_SRC), Usage::MAP_WRITE)
        } else {
            let used = Usage::STORAGE | Usage::COPY_DST;
            ("down", used, (Usage::COPY_SRC, Usage::COPY_DST), Usage::MAP_READ)
        };
        let make = |usage, mapped_at_creation| {
            device.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(name),
                size,
                usage,
                mapped_at_creation,
            })
        };
        if device.shared_memory {
            Side { buffer: make(used | mapped, up), staging: None }
        } else {
            let staging = make(mapped | copied.1, up);
            Side { buffer: make(used | copied.0, false), staging: Some(staging) }
        }
    }

    /// Has every byte of the kernels' buffer set to `byte`.
    fn fill(&self, device: &Device, byte: u8) -> Option<()> {
        let size = self.buffer.size();
        let filled = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("sentinel"),
            size,
            usage: wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        filled.get_mapped_range_mut(..).ok()?.slice(..).fill(byte);
        filled.unmap();
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("sentinel") };
        let mut encoder = device.device.create_command_encoder(&descriptor);
        encoder.copy_buffer_to_buffer(&filled, 0, &self.buffer, 0, size);
        device.queue.submit([encoder.finish()]);
        Some(())
    }

    fn host(&self) -> &wgpu::Buffer {
        self.staging.as_ref().unwrap_or(&self.buffer)
    }

    fn size(side: Option<&Side>) -> u64 {
        side.map_or(0, |side| side.buffer.size())
    }

    fn bind(&self, region: Region) -> wgpu::BufferBinding<'_> {
        let size = wgpu::BufferSize::new(region.len);
        wgpu::BufferBinding { buffer: &self.buffer, offset: region.offset, size }
    }
}

impl Flight {
    /// Bytes of device memory that it holds.
    pub(super) fn device_bytes(&self) -> u64 {
        Side::size(self.up.as_ref()) + Side::size(self.down.as_ref())
    }

    /// Makes room for a job, in `allowed` more bytes of device memory than the
    /// other flights hold; `memory` is what all may hold.
    pub(super) fn reserve(
        &mut self,
        device: &Device,
        job: &Job<'_>,
        allowed: u64,
        memory: u64,
    ) -> Result<(), GpuError> {
        let regions = job.regions(device);
        let too_large = |what, bytes, limit| {
            Err(GpuError::TooLarge { tiles: job.tiles.clone(), what, bytes, limit })
        };
        for (what, bytes) in [("source bytes", regions.up), ("channel bytes", regions.down)] {
            if bytes > device.binding_limit() {
                return too_large(what, bytes, device.binding_limit());
            }
        }
        let room = |needed: u64, side: Option<&Side>| {
            // More than is needed, so that windows of about one size find room
            // in what the first one made.
            let size = (needed + needed / 8).next_multiple_of(GROW_BYTES);
            size.min(device.binding_limit()).max(Side::size(side))
        };
        let (up, down) =
            (room(regions.up, self.up.as_ref()), room(regions.down, self.down.as_ref()));
        if up + down > allowed {
            return too_large("source and channel bytes", up + down, memory);
        }
        device.scoped(|| {
            if up > Side::size(self.up.as_ref()) {
                self.up = Some(Side::new(device, up, true));
            }
            if down > Side::size(self.down.as_ref()) {
                self.down = Some(Side::new(device, down, false));
            }
            if self.clock.is_none() {
                self.clock = Clock::new(device);
            }
        })
    }

    /// Uploads a job for which room was made, and has it done; without
    /// `programs` its bytes only travel.
    pub(super) fn submit(
        &mut self,
        device: &Device,
        programs: Option<&Programs>,
        job: &Job<'_>,
        sentinel: Option<u8>,
        timings: &mut GpuTimings,
    ) -> Result<(), GpuError> {
        let (Some(up), Some(down)) = (&self.up, &self.down) else {
            return Err(GpuError::Idle);
        };
        let regions = job.regions(device);
        let started = Instant::now();
        fill(up, job, &regions).ok_or_else(|| device.mapping_failed("the upload's buffer"))?;
        timings.upload += started.elapsed().as_secs_f64();
        let clock = self.clock.as_ref();
        let submitted = device.scoped(|| {
            if let Some(byte) = sentinel {
                down.fill(device, byte)?;
            }
            let commands = encode(device, programs, job, &regions, (up, down), clock);
            up.host().unmap();
            let submission = device.queue.submit([commands]);
            let mut mappings = vec![
                Mapping::ask(up.host(), wgpu::MapMode::Write),
                Mapping::ask(down.host(), wgpu::MapMode::Read),
            ];
            if let Some(clock) = clock {
                mappings.push(clock.ask());
            }
            Some(Submitted { submission, regions, mappings })
        })?;
        if submitted.is_none() {
            return Err(device.mapping_failed("the sentinel's buffer"));
        }
        self.submitted = submitted;
        Ok(())
    }

    /// Waits for the job and reads it back.
    pub(super) fn collect(
        &mut self,
        device: &Device,
        channel_bytes: &mut [u8],
        crcs: &mut Vec<u32>,
        timings: &mut GpuTimings,
    ) -> Result<(), GpuError> {
        let (Some(down), Some(submitted)) = (&self.down, self.submitted.take()) else {
            return Err(GpuError::Idle);
        };
        let started = Instant::now();
        device.wait(submitted.submission)?;
        if !submitted.mappings.iter().all(Mapping::is_done) {
            return Err(device.mapping_failed("its buffers cannot be mapped"));
        }
        timings.wait += started.elapsed().as_secs_f64();
        let started = Instant::now();
        let read = drain(down.host(), &submitted.regions, channel_bytes, crcs);
        let seconds = self.clock.as_ref().map(Clock::read);
        read.ok_or_else(|| device.mapping_failed("the read-back's buffer"))?;
        if let Some(seconds) = seconds {
            timings.device.get_or_insert_default().add(seconds);
        }
        timings.read_back += started.elapsed().as_secs_f64();
        Ok(())
    }
}

/// Copies a job into its mapped buffer.
fn fill(up: &Side, job: &Job<'_>, regions: &Regions) -> Option<()> {
    let mut view = up.host().get_mapped_range_mut(..).ok()?;
    let range = |region: Region, len: usize| {
        let start = usize::try_from(region.offset).ok()?;
        Some(start..start.checked_add(len)?)
    };
    for (region, bytes) in job.uploads(regions) {
        view.slice(range(region, bytes.len())?).copy_from_slice(bytes);
    }
    let whole = view.slice(range(regions.source, job.source.len())?);
    // Only pieces of a known length can go to other threads.
    let (pieces, mut tail) = whole.into_chunks::<COPY_BYTES>();
    let (source, source_tail) = job.source.as_chunks::<COPY_BYTES>();
    tail.copy_from_slice(source_tail);
    let pieces: Vec<_> = pieces.into_iter().zip(source).collect();
    pieces
        .into_par_iter()
        .for_each(|(to, bytes)| wgpu::WriteOnly::<[u8]>::from(to).copy_from_slice(bytes));
    Some(())
}

/// Copies a job's channel bytes and CRCs from its mapped buffer and unmaps it.
fn drain(
    host: &wgpu::Buffer,
    regions: &Regions,
    channel_bytes: &mut [u8],
    crcs: &mut Vec<u32>,
) -> Option<()> {
    let view = host.get_mapped_range(..).ok()?;
    let part = |region: Region| {
        let start = usize::try_from(region.offset).ok()?;
        view.get(start..)?.get(..usize::try_from(region.len).ok()?)
    };
    let channel = part(regions.channel)?;
    if channel.len() != channel_bytes.len() {
        return None;
    }
    let parts = channel_bytes.par_chunks_mut(COPY_BYTES).zip(channel.par_chunks(COPY_BYTES));
    parts.for_each(|(to, bytes)| to.copy_from_slice(bytes));
    let words = part(regions.crcs)?.as_chunks::<4>().0;
    crcs.extend(words.iter().map(|&word| u32::from_le_bytes(word)));
    drop(view);
    host.unmap();
    Some(())
}

/// A job's commands: up, each kernel, down, a timestamp after each.
fn encode(
    device: &Device,
    programs: Option<&Programs>,
    job: &Job<'_>,
    regions: &Regions,
    (up, down): (&Side, &Side),
    clock: Option<&Clock>,
) -> wgpu::CommandBuffer {
    let descriptor = wgpu::CommandEncoderDescriptor { label: Some("window") };
    let mut encoder = device.device.create_command_encoder(&descriptor);
    let mut number = 0;
    let mut stamp = |encoder: &mut wgpu::CommandEncoder| {
        if let Some(clock) = clock {
            clock.stamp(encoder, number);
        }
        number += 1;
    };
    stamp(&mut encoder);
    let first = if job.packs { 0 } else { regions.crc.offset };
    if let Some(staging) = &up.staging {
        let bytes = regions.up.next_multiple_of(4) - first;
        encoder.copy_buffer_to_buffer(staging, first, &up.buffer, first, bytes);
    }
    if !job.packs {
        encoder.copy_buffer_to_buffer(up.host(), 0, &down.buffer, 0, job.channel_bytes);
    }
    stamp(&mut encoder);
    let packers = (0..).zip(job.groups()).zip(regions.packers);
    for ((kernel, groups), (tiles, group_tiles)) in packers {
        let program = programs.and_then(|programs| programs.packer(kernel));
        if let Some(program) = program.filter(|_| groups > 0) {
            let bound = [
                up.bind(regions.source),
                down.bind(regions.channel),
                up.bind(tiles),
                up.bind(group_tiles),
            ];
            program.dispatch(device, &mut encoder, bound, groups);
        }
        stamp(&mut encoder);
    }
    let program = programs.and_then(|programs| programs.crc(job.lanes));
    if let Some(program) = program.filter(|_| job.crc_groups() > 0) {
        let bound = [
            down.bind(regions.vectors),
            up.bind(regions.crc),
            down.bind(regions.crcs),
            up.bind(regions.weights),
        ];
        program.dispatch(device, &mut encoder, bound, job.crc_groups());
    }
    stamp(&mut encoder);
    if let Some(staging) = &down.staging {
        let first = if job.packs { 0 } else { regions.crcs.offset };
        let bytes = regions.down.next_multiple_of(4) - first;
        encoder.copy_buffer_to_buffer(&down.buffer, first, staging, first, bytes);
    }
    stamp(&mut encoder);
    if let Some(clock) = clock {
        clock.resolve(&mut encoder);
    }
    encoder.finish()
}
