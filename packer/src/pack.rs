//! Packing a checkpoint into an image directory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::Advice;
use wimg_core::window::WindowLimit;
use wimg_core::{Digest, ImageLayout, ImageRow, Manifest, Plan, Selection};

use crate::backend::{BackendOptions, BackendReport};
use crate::error::Error;
use crate::pipeline::middle::Middle;
use crate::pipeline::{self, Flow, HELD_BYTES, WINDOWS_BYTES};
use crate::progress::Tell;
use crate::rest;
use crate::run::Run;
use crate::source::Source;
use crate::stop::Stop;
use crate::store::{
    IMAGE_JSON, RUN_JSON, Staging, channel_name, free_bytes, header_name, parent_of,
};
use crate::target::TargetKind;
use crate::verify::{VerifyOptions, VerifyReport, verify};

/// What is packed, and where to.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// Which tensors.
    pub selection: Selection,
    /// How they lie.
    pub layout: ImageLayout,
    /// The image's folder.
    pub out: PathBuf,
    /// Replace an image that is there.
    pub force: bool,
    /// Verify what is on the disk before it is put in place.
    pub verify: bool,
    /// What packs.
    pub backend: BackendOptions,
}

/// A packed image.
#[derive(Debug)]
pub struct PackDone {
    /// Its id: the BLAKE3 of `image.json`.
    pub id: Digest,
    /// Its ledger row.
    pub row: ImageRow,
    /// Bytes of the checkpoint that were read.
    pub read_bytes: u64,
    /// Bytes of all files that were written.
    pub written_bytes: u64,
    /// Seconds from reading the first byte to the last one being on the disk.
    pub seconds: f64,
    /// What packed it, and what that cost.
    pub backend: BackendReport,
    /// What verifying it said, unless that was not wanted.
    pub verified: Option<VerifyReport>,
}

/// What packing will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackCost {
    /// Bytes of the checkpoint to read.
    pub read_bytes: u64,
    /// Bytes to write, `image.json` as an upper bound; `rest.bin`, which nobody
    /// knows before the gaps are read, does not count.
    pub write_bytes: u64,
    /// The most memory the process will take, about.
    pub memory_bytes: u64,
    /// Bytes free where the image would go.
    pub free_bytes: Option<u64>,
}

/// What the program itself takes besides windows and headers: code, stacks,
/// allocator, measured as 24 MB.
const BASE_BYTES: u64 = 32 << 20;

/// The most bytes of a tensor's line of `image.json`, but for its name and what
/// it says of each channel.
const MANIFEST_LINE_BYTES: u64 = 700;
/// The most bytes of that for each channel.
const MANIFEST_CHANNEL_BYTES: u64 = 18;

/// What packing a plan will take; `out` is the image's folder, if it is known.
pub fn cost(source: &Source, plan: &Plan, out: Option<&Path>) -> Result<PackCost, Error> {
    let image = plan.image();
    let line_bytes = image.layout().line_bytes;
    let headers: u64 = source.headers.iter().map(|header| header.len() as u64).sum();
    let channels = image.channel_lines().iter().sum::<u64>() * line_bytes;
    // A tile that is larger than a window makes a window of its own.
    let largest = image.largest_tile_lines() * line_bytes;
    let windows = (WINDOWS_BYTES + 2 * WindowLimit::default().bytes).max(2 * largest);
    let image_bytes = channels.saturating_mul(2).saturating_add(2 * WindowLimit::default().bytes);
    let tensors = image.tensors().len() as u64;
    let names: u64 = image.tensors().iter().map(|tensor| tensor.name.len() as u64).sum();
    let line = MANIFEST_LINE_BYTES + MANIFEST_CHANNEL_BYTES * image.layout().channels;
    let gaps: u64 = source.checkpoint.gaps().iter().map(|gap| gap.len).sum();
    Ok(PackCost {
        read_bytes: plan.sources().iter().map(|source| source.len).sum::<u64>() + gaps,
        write_bytes: channels + image.tile_count() * 4 + headers + tensors * line + names,
        // A header is held as read and as parsed, a tensor in its table, its
        // plan and its line; a small image never fills its windows.
        memory_bytes: BASE_BYTES
            + 3 * headers
            + 3 * tensors * line
            + windows.min(image_bytes)
            + HELD_BYTES.min(channels),
        free_bytes: out.map(|out| free_bytes(&parent_of(out))).transpose()?,
    })
}

/// Packs the checkpoint at `checkpoint` into the image directory `options.out`.
///
/// Nothing is at `out` before all of the image is, on the disk and (unless
/// that is not wanted) verified; a failure leaves what was there.
///
/// # Errors
/// A checkpoint that cannot be read or has no such image; an image that does
/// not fit its channels or the disk; a target that exists; a checkpoint that
/// changed while it was read; I/O.
pub fn pack(checkpoint: &Path, options: &PackOptions, tell: Tell<'_>) -> Result<PackDone, Error> {
    // Verifying plans anew, from the disk: nothing of this is kept for it.
    let mut built = {
        let source = Source::open(checkpoint)?;
        let plan = Plan::new(&source.checkpoint, options.selection, &options.layout)?;
        check(&source, &plan, options)?;
        let middle = Middle::open(&options.backend)?;
        let staging = Staging::create(&options.out, options.force)?;
        Built::build(&source, &plan, middle, staging, Flow::default(), tell)?
    };
    if options.verify {
        built.verify(&Stop::default(), tell)?;
    }
    built.publish()
}

/// An image that is whole on the disk, and not in its place yet. Dropped, it
/// leaves nothing behind.
#[derive(Debug)]
pub struct Built {
    staging: Staging,
    done: PackDone,
}

impl Built {
    /// Packs a plan of the source's checkpoint.
    ///
    /// # Errors
    /// A checkpoint that changed while it was read; being asked to stop; I/O.
    pub fn build(
        source: &Source,
        plan: &Plan,
        mut middle: Middle,
        staging: Staging,
        flow: Flow<'_>,
        tell: Tell<'_>,
    ) -> Result<Built, Error> {
        let started = Instant::now();
        let rest = rest::write(source, &staging)?;
        // Again, now that rest.bin has taken its space.
        check_space(&cost(source, plan, Some(staging.dir()))?, staging.dir())?;
        let mut contents = pipeline::run(source, plan, &mut middle, &staging, flow, tell)?;
        contents.rest = rest;
        for (number, header) in source.headers.iter().enumerate() {
            staging.write_file(&header_name(number), header)?;
        }
        source.unchanged()?;
        let manifest = Manifest::new(&source.checkpoint, &source.headers, plan, &contents)?;
        let text = manifest.render();
        staging.write_file(IMAGE_JSON, text.as_bytes())?;
        let seconds = started.elapsed().as_secs_f64();
        let cost = cost(source, plan, None)?;
        let rest_bytes = contents.rest.as_ref().map_or(0, |rest| rest.length);
        let backend = middle.report();
        let run = Run::new(source, &backend, seconds, cost.read_bytes);
        staging.write_file(RUN_JSON, run.render().as_bytes())?;
        let done = PackDone {
            id: Digest::of(text.as_bytes()),
            row: manifest.ledger,
            read_bytes: cost.read_bytes,
            written_bytes: cost.write_bytes + rest_bytes + text.len() as u64,
            seconds,
            backend,
            verified: None,
        };
        Ok(Built { staging, done })
    }

    /// Verifies what the disk has, not what the page cache still holds.
    ///
    /// # Errors
    /// Damage; being asked to stop; I/O.
    pub fn verify(&mut self, stop: &Stop, tell: Tell<'_>) -> Result<(), Error> {
        self.drop_pages()?;
        let options = VerifyOptions { limit: 8, stop: stop.clone(), ..VerifyOptions::default() };
        let report = verify(self.staging.dir(), &options, tell)?;
        if let Some(first) = report.damage.first() {
            return Err(Error::Unverified(format!(
                "{} damages, the first: {first}",
                report.damages
            )));
        }
        self.done.verified = Some(report);
        Ok(())
    }

    /// Takes the channels' bytes out of the page cache.
    ///
    /// # Errors
    /// I/O.
    pub fn drop_pages(&self) -> Result<(), Error> {
        for channel in 0..self.done.row.channel_lines.len() {
            let path = self.staging.dir().join(channel_name(channel));
            let file = File::open(&path).map_err(|cause| Error::io(&path, "opening it", cause))?;
            // A hint: some file systems keep their pages in memory all the same.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
        Ok(())
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// I/O.
    pub fn publish(self) -> Result<PackDone, Error> {
        self.staging.publish()?;
        Ok(self.done)
    }

    /// Puts it beside its place, under its id.
    ///
    /// # Errors
    /// I/O.
    pub fn publish_as_id(mut self) -> Result<PackDone, Error> {
        self.staging.rename(&self.done.id.to_string());
        self.publish()
    }
}

/// Everything that can be known to fail before a byte is read.
fn check(source: &Source, plan: &Plan, options: &PackOptions) -> Result<(), Error> {
    TargetKind::Image.check(&options.out, options.force)?;
    let parent = parent_of(&options.out);
    let found = std::fs::metadata(&parent);
    found.map_err(|cause| Error::io(&parent, "looking for the image's folder", cause))?;
    check_source_outside(source, &options.out)?;
    check_plan(plan)?;
    check_space(&cost(source, plan, Some(&options.out))?, &options.out)
}

fn check_space(cost: &PackCost, out: &Path) -> Result<(), Error> {
    match cost.free_bytes {
        Some(free) if free < cost.write_bytes => {
            Err(Error::Space { path: parent_of(out), needed: cost.write_bytes, free })
        }
        _ => Ok(()),
    }
}

/// Refuses a target that holds the checkpoint: replacing it would remove that.
fn check_source_outside(source: &Source, out: &Path) -> Result<(), Error> {
    let Ok(out_path) = std::fs::canonicalize(out) else {
        // Nothing is there yet, so nothing is in it.
        return Ok(());
    };
    let within = |path: &Path| std::fs::canonicalize(path).is_ok_and(|p| p.starts_with(&out_path));
    if source.files.iter().any(|file| within(&file.path)) {
        return Err(TargetKind::Image.occupied(out, "where the checkpoint is".to_owned()));
    }
    Ok(())
}

/// Refuses an image that cannot be packed, or does not fit its channels.
///
/// # Errors
/// Those.
pub fn check_plan(plan: &Plan) -> Result<(), Error> {
    plan.check_packable()?;
    let image = plan.image();
    let limit = image.layout().channel_lines;
    let fullest = image.channel_lines().iter().enumerate().max_by_key(|(_, lines)| **lines);
    if let Some((channel, &lines)) = fullest.filter(|(_, lines)| **lines > limit) {
        return Err(Error::DoesNotFit { channel, lines, limit });
    }
    Ok(())
}
