//! One pipeline carries out a plan: it reads ahead, packs windows in its
//! middle, and hashes and writes every channel as one run.
//!
//! A window is in one stage at a time; the budget bounds the bytes of all
//! windows in flight, whatever the checkpoint.

mod block;
pub mod budget;
pub mod cpu;
mod disk;
pub mod lockstep;
pub mod middle;
mod output;
pub mod stages;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};

use rustix::fs::Advice;
use wimg_core::manifest::Contents;
use wimg_core::tensor_crc::TensorCrcs;
use wimg_core::window::SourceRange;
use wimg_core::{Plan, Window, WindowLimit};

use crate::error::Error;
use crate::progress::{Progress, Stage, Tell};
use crate::source::Source;
use crate::stop::Stop;
use crate::store::Staging;
use budget::Budget;
use lockstep::Member;
use middle::{Job, Middle};
pub(crate) use output::HELD_BYTES;
use output::Output;
use stages::{Clock, Clocks};

/// Bytes of all windows in flight: the most a pack holds besides headers.
pub const WINDOWS_BYTES: u64 = 128 << 20;

/// Windows that may wait between two stages.
const QUEUE: usize = 2;

/// How a pipeline runs beside others, and until when.
#[derive(Debug)]
pub struct Flow<'a> {
    /// Looked at before every window.
    pub stop: Stop,
    /// How many pipelines share the memory that one alone would take.
    pub sharers: u64,
    /// Its place among pipelines that read the same checkpoint; what is read is
    /// dropped from the page cache then.
    pub member: Option<Member<'a>>,
}

impl Default for Flow<'_> {
    fn default() -> Self {
        Flow { stop: Stop::default(), sharers: 1, member: None }
    }
}

/// Packs a plan into a staging directory: the channel files and `tiles.crc`,
/// on the disk when this returns. `rest` is left to the caller.
pub fn run(
    source: &Source,
    plan: &Plan,
    middle: &mut Middle,
    staging: &Staging,
    flow: Flow<'_>,
    tell: Tell<'_>,
) -> Result<Contents, Error> {
    let mut output = Output::create(plan, staging)?;
    let Flow { stop, sharers, member } = flow;
    let budget = Budget::new(middle.budget() / sharers.max(1));
    let limit = middle.window_limit();
    let (to_middle, from_reader) = sync_channel::<Job>(QUEUE);
    let (to_writer, from_middle) = sync_channel::<Job>(QUEUE);
    let (recycle, recycled) = channel::<(Vec<u8>, Vec<u8>)>();
    let clocks = Clocks::new();
    let (read, packed, written) = std::thread::scope(|scope| {
        let (budget, stop, clocks, packing) = (&budget, &stop, &clocks, &mut *middle);
        let reader = scope.spawn(move || {
            let clock = &clocks.read;
            let reader = Reader { source, plan, limit, budget, stop, member, clock };
            let result = reader.read_windows(&recycled, &to_middle);
            drop(to_middle);
            result
        });
        let packer = scope
            .spawn(move || pack_windows(plan, packing, &clocks.pack, &from_reader, &to_writer));
        let result = write_windows(&mut output, budget, stop, clocks, &from_middle, &recycle, tell);
        // Whoever failed: nobody may wait for bytes that are never given back.
        budget.close();
        drop(from_middle);
        let finished = result.and_then(|()| clocks.write.time(|| output.finish()));
        (reader.join(), packer.join(), finished)
    });
    let read = read.map_err(|_| Error::Stopped("reading"))?;
    packed.map_err(|_| Error::Stopped("packing"))??;
    let tensor_crcs = read?;
    let (channels, tiles_crc) = written?;
    middle.note_stages(clocks.stages());
    Ok(Contents { channels, tiles_crc, rest: None, tensor_crcs })
}

/// What reads ahead of the packer.
struct Reader<'a> {
    source: &'a Source,
    plan: &'a Plan,
    limit: WindowLimit,
    budget: &'a Budget,
    stop: &'a Stop,
    member: Option<Member<'a>>,
    clock: &'a Clock,
}

impl Reader<'_> {
    /// Reads every window's source bytes and takes the tensors' CRCs from the
    /// bytes as read.
    fn read_windows(
        &self,
        recycled: &Receiver<(Vec<u8>, Vec<u8>)>,
        next: &SyncSender<Job>,
    ) -> Result<Vec<u32>, Error> {
        let (source, plan, limit) = (self.source, self.plan, self.limit);
        let mut crcs = TensorCrcs::new(plan.image().tensors().len());
        let mut windows = plan.windows(limit).peekable();
        while let Some(window) = windows.next() {
            self.stop.check()?;
            if let Some(member) = &self.member {
                member.wait(plan, &window);
            }
            if !self.budget.take(window.source_bytes + window.channel_bytes) {
                break;
            }
            if let Some(ahead) = windows.peek() {
                read_ahead(source, &ahead.sources);
            }
            let (mut bytes, mut channel_bytes) = recycled.try_recv().unwrap_or_default();
            resize(&mut bytes, window.source_bytes, limit);
            resize(&mut channel_bytes, window.channel_bytes, limit);
            self.clock.time(|| {
                read_sources(source, &window, &mut bytes)?;
                crcs.absorb(&window, &bytes);
                Ok::<(), Error>(())
            })?;
            if let Some(member) = &self.member {
                member.passed(plan, source, &window);
            }
            let job = Job { window, source: bytes, channel_bytes, crcs: Vec::new() };
            if next.send(job).is_err() {
                break;
            }
        }
        Ok(crcs.finish())
    }
}

/// Makes a recycled buffer as long as it must be, and no larger than is usual:
/// what a huge tile needed once is given back.
fn resize(buffer: &mut Vec<u8>, bytes: u64, limit: WindowLimit) {
    let usual = limit.bytes * 2;
    if buffer.capacity() as u64 > usual.max(bytes) {
        *buffer = Vec::new();
    }
    buffer.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0);
}

/// Reads a window's source ranges, those that lie together in one go.
pub fn read_sources(source: &Source, window: &Window, bytes: &mut [u8]) -> Result<(), Error> {
    let mut rest = bytes;
    let mut ranges = window.sources.iter().peekable();
    while let Some(range) = ranges.next() {
        let mut len = range.len;
        while let Some(more) =
            ranges.next_if(|next| next.shard == range.shard && next.offset == range.offset + len)
        {
            len += more.len;
        }
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let (now, later) = rest.split_at_mut_checked(len).ok_or(Error::Stopped("reading"))?;
        source.read_exact_at(range.shard, range.offset, now)?;
        rest = later;
    }
    Ok(())
}

/// Tells the system what is read next.
fn read_ahead(source: &Source, ranges: &[SourceRange]) {
    for range in ranges {
        let file = usize::try_from(range.shard).ok().and_then(|shard| source.files.get(shard));
        let (Some(file), len) = (file, std::num::NonZeroU64::new(range.len)) else { continue };
        // A hint: where it cannot be given, reading is only slower.
        let _ = rustix::fs::fadvise(&file.file, range.offset, len, Advice::WillNeed);
    }
}

/// Keeps the middle busy: jobs go in while it takes them, and come out in
/// order when it is full or nothing is there to go in.
fn pack_windows(
    plan: &Plan,
    middle: &mut Middle,
    clock: &Clock,
    jobs: &Receiver<Job>,
    next: &SyncSender<Job>,
) -> Result<(), Error> {
    let image = plan.image();
    let mut open = true;
    loop {
        let job = match () {
            () if !open || middle.is_full() => None,
            () => match jobs.recv_timeout(middle.patience()) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    open = false;
                    None
                }
            },
        };
        if let Some(job) = job {
            clock.time(|| middle.submit(image, job))?;
            continue;
        }
        let collected = clock.time(|| {
            middle.flush(image)?;
            middle.collect(image)
        });
        let done = match collected? {
            // A writer that is gone has failed, and says why itself.
            Some(job) => next.send(job).is_err(),
            None => !open,
        };
        if done {
            return Ok(());
        }
    }
}

fn write_windows(
    output: &mut Output,
    budget: &Budget,
    stop: &Stop,
    clocks: &Clocks,
    jobs: &Receiver<Job>,
    recycle: &Sender<(Vec<u8>, Vec<u8>)>,
    tell: Tell<'_>,
) -> Result<(), Error> {
    let mut done = 0;
    for job in jobs {
        stop.check()?;
        clocks.write.time(|| output.write(&job))?;
        done += job.window.channel_bytes;
        tell(Progress { stage: Stage::Pack, done, total: output.total });
        let bytes = job.bytes();
        // Before its bytes are free: else they would be twice. The reader may
        // have read its last window already.
        let _ = recycle.send((job.source, job.channel_bytes));
        budget.give(bytes);
    }
    Ok(())
}
