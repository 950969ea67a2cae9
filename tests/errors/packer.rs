//! Errors of files, folders and the command line.

use std::io;
use std::path::PathBuf;

use wimg::Error;
use wimg::gpu::GpuError;
use wimg::synth::SynthError;
use wimg_core::Damage;
use wimg_core::gguf::write::WriteError;
use wimg_core::{Digest, Format, Manifest, PackError};

use crate::{Chapter, Entry};

pub(crate) fn path() -> PathBuf {
    PathBuf::from("models/a.image")
}

fn denied() -> io::Error {
    io::Error::from_raw_os_error(13)
}

pub(crate) fn entry(
    variant: &'static str,
    error: impl Into<Error>,
    cause: &'static str,
    remedy: &'static str,
) -> Entry {
    let error = error.into();
    Entry { variant, message: error.to_string(), code: error.exit_code(), cause, remedy }
}

pub(crate) fn said(
    variant: &'static str,
    code: u8,
    message: &str,
    cause: &'static str,
    remedy: &'static str,
) -> Entry {
    Entry { variant, message: message.to_owned(), code, cause, remedy }
}

pub(crate) fn chapter() -> Chapter {
    let mut entries = vec![
        said(
            "Usage",
            2,
            "the image has no tensor `output`: `wimg plan --tensors` lists the 55 that it has",
            "The command line asks for what cannot be.",
            "Correct it; every command has `--help`.",
        ),
        said(
            "Damage",
            1,
            &Damage::digest("channel-0.bin", Digest::of(b"a"), Digest::of(b"b"))
                .map(|damage| damage.to_string())
                .unwrap_or_default(),
            "`verify` prints each damage on a line, with its place: a file, a tile's rows, channel and lines, a tensor.",
            "Copy or pack the image again; look at the disk that held it.",
        ),
        said(
            "Difference",
            1,
            "tensor `output.weight`: changed, crc32c 3b9c1aa9 and cde940f7",
            "`diff` prints each difference on a line.",
            "Nothing is wrong: the images differ.",
        ),
    ];
    entries.extend(targets());
    entries.extend(images());
    entries.extend(synthetic());
    Chapter { title: "Files, folders and images", entries }
}

fn targets() -> Vec<Entry> {
    vec![
        entry(
            "Error::Io",
            Error::io(&path(), "creating it", denied()),
            "The operating system refused; its reason is at the end. A path that names nothing has code 3.",
            "See to the reason (space, permission, a failing disk) and run the same command again.",
        ),
        entry(
            "Error::Write",
            Error::Write(io::Error::from_raw_os_error(28)),
            "The standard output, or whoever takes the bytes, failed. A reader that left is no error.",
            "See to the reason and run the command again.",
        ),
        entry(
            "Error::Exists",
            Error::Exists(path()),
            "Something is at the target.",
            "Choose another target, or replace it with `--force`, which keeps it until the new one is whole.",
        ),
        entry(
            "Error::Occupied",
            Error::Occupied { path: path(), what: "a symbolic link".into(), noun: "an image" },
            "The target is a link, of another kind, or a folder with foreign files. `--force` does not replace it.",
            "Choose another target, or clear this one away by hand.",
        ),
        entry(
            "Error::Space",
            Error::Space { path: "models".into(), needed: 28_584_769_536, free: 1_000_000 },
            "The file system of the target has too little room, found before anything is written.",
            "Make room or choose another target.",
        ),
        entry(
            "Error::Stopped",
            Error::Stopped("packing"),
            "A part of the program ended without a word: a mistake of the program.",
            "Run it again; report it.",
        ),
    ]
}

fn images() -> Vec<Entry> {
    stored().into_iter().chain(packed()).collect()
}

/// Errors of an image directory that is opened.
fn stored() -> Vec<Entry> {
    let text = |why: &str| why.to_owned();
    vec![
        entry(
            "Error::NotAnImage",
            Error::NotAnImage(path()),
            "The folder holds no `image.json`.",
            "Name an image's folder.",
        ),
        entry(
            "Error::Damaged",
            Error::Damaged { path: path(), why: text("channel-1.bin: it is missing") },
            "A file of the image is missing or not what `image.json` says.",
            "`wimg verify` says all that is damaged; copy or pack the image again.",
        ),
        entry(
            "ManifestError::Json",
            Error::Damaged {
                path: "models/a.image/image.json".into(),
                why: Manifest::read(b"{").err().map(|error| error.to_string()).unwrap_or_default(),
            },
            "`image.json` is cut short or was edited.",
            "Copy or pack the image again.",
        ),
        entry(
            "Error::Later, ManifestError::Version",
            Error::Later {
                path: "models/a.image/image.json".into(),
                why: wimg_core::ManifestError::Version { found: 2 }.to_string(),
            },
            "A later `wimg` wrote the image.",
            "Use that version, or a later one.",
        ),
        entry(
            "ManifestError::Plan",
            Error::Damaged {
                path: "models/a.image/image.json".into(),
                why: wimg_core::ManifestError::Plan("tensor `a`: its placement is another".into())
                    .to_string(),
            },
            "What `image.json` says of its tensors does not agree with itself (the viewer, which has no headers, tells).",
            "Copy or pack the image again.",
        ),
    ]
}

/// Errors of an image that is packed, unpacked or compared.
fn packed() -> Vec<Entry> {
    let text = |why: &str| why.to_owned();
    vec![
        entry(
            "Error::NotWhole",
            Error::NotWhole { path: path(), selection: "machine" },
            "The image holds what the machine reads, not all of the checkpoint.",
            "Unpack single tensors, or pack with `--select all` or `table`.",
        ),
        entry(
            "Error::NoTensor",
            Error::NoTensor { path: path(), name: "output".into(), tensors: 55 },
            "The image holds no tensor of that name. The command line has code 2 for it.",
            "`wimg plan --tensors` lists the names.",
        ),
        entry(
            "Error::DoesNotFit",
            Error::DoesNotFit { channel: 2, lines: 150_000_000, limit: 134_217_728 },
            "A channel of the card holds fewer lines than its share of the image.",
            "Choose a smaller checkpoint or selection, or a card with more lines (`--channel-lines`).",
        ),
        entry(
            "Error::Unverified",
            Error::Unverified("1 damages, the first: channel-0.bin: it is missing".into()),
            "What the disk gives back is not what was written to it.",
            "Run it again; if it happens again, the disk or the memory is failing.",
        ),
        entry(
            "Error::OtherSource",
            Error::OtherSource { path: "a.gguf".into(), why: text("shard 0 has another header") },
            "`verify --source` was given another checkpoint than the image was made from.",
            "Name the right one; `wimg diff` compares images.",
        ),
    ]
}

fn synthetic() -> Vec<Entry> {
    let tile = PackError::Tile { tile: 7 };
    let length = PackError::Length { tiles: 0..9, what: "source bytes", actual: 1, expected: 2 };
    let format = Format::from_id(148);
    let header = |error: WriteError| SynthError::Header(error);
    let again = "Choose another.";
    let own = "A mistake of the program, or a plan and buffers that do not belong together.";
    let wrong = "The table to be written is none.";
    vec![
        entry("PackError::Tile", tile, own, "Report it."),
        entry("PackError::Length", length, own, "Report it."),
        entry("SynthError::Scale", SynthError::Scale { scale: 0 }, "A scale out of bounds.", again),
        entry(
            "SynthError::Structure",
            SynthError::Structure { header: "a" },
            "No synthetic checkpoint has this structure.",
            again,
        ),
        entry(
            "WriteError::Alignment",
            header(WriteError::Alignment("bool".into())),
            wrong,
            "Correct it.",
        ),
        entry(
            "WriteError::Format",
            header(WriteError::Format { name: "a".into(), format }),
            wrong,
            "Correct it.",
        ),
        entry(
            "WriteError::Ragged",
            header(WriteError::Ragged {
                name: "a".into(),
                format: Format::Q8_0,
                elements: 33,
                block: 32,
            }),
            wrong,
            "Correct it.",
        ),
        entry(
            "WriteError::Overflow",
            header(WriteError::Overflow("a".into())),
            wrong,
            "Correct it.",
        ),
    ]
}

pub(crate) fn gpu() -> Chapter {
    let (adapter, driver) = ("H200".to_owned(), "580.65".to_owned());
    let why = || "the driver says so".to_owned();
    let cpu = "Pack on the CPU (`--backend cpu`), which gives the same bytes.";
    let e = |variant, error: GpuError, cause, remedy| entry(variant, error, cause, remedy);
    let entries = vec![
        e(
            "GpuError::NoAdapter",
            GpuError::NoAdapter,
            "No driver shows an adapter.",
            "Install the driver, or pack on the CPU.",
        ),
        e(
            "GpuError::NoSuchAdapter",
            GpuError::NoSuchAdapter { asked: "7".into(), there: vec![adapter.clone()] },
            "The adapter that was asked for is not there.",
            "Ask for one that is: `wimg devices` lists them.",
        ),
        e(
            "GpuError::Open",
            GpuError::Open { adapter: adapter.clone(), why: why() },
            "The driver gives no device.",
            cpu,
        ),
        e(
            "GpuError::WrongBytes",
            GpuError::WrongBytes { adapter, driver, what: "kernel plain, byte 4".into() },
            "The adapter failed its self-test.",
            "Update the driver; pack on the CPU until then.",
        ),
        e(
            "GpuError::Lost",
            GpuError::Lost { why: why() },
            "The device went away while it packed.",
            cpu,
        ),
        e(
            "GpuError::OutOfMemory",
            GpuError::OutOfMemory { what: "a buffer".into() },
            "Others use the GPU's memory.",
            cpu,
        ),
        e(
            "GpuError::Validation",
            GpuError::Validation { what: "a binding".into() },
            "The driver refused a command.",
            "Report it; pack on the CPU.",
        ),
        e(
            "GpuError::TooLarge",
            GpuError::TooLarge {
                tiles: 0..1,
                what: "channel bytes",
                bytes: 2 << 30,
                limit: 1 << 30,
            },
            "A tile takes more of the GPU's memory than it may.",
            cpu,
        ),
    ];
    let other = entry(
        "Error::GpuCrc",
        Error::GpuCrc { tile: 7 },
        "The GPU computed a wrong CRC in `verify --backend gpu`; the image is sound there.",
        "Verify on the CPU; do not pack with that GPU.",
    );
    let entries = entries.into_iter().chain([other]).chain(gpu_mistakes()).collect();
    Chapter { title: "GPU", entries }
}

fn gpu_mistakes() -> Vec<Entry> {
    vec![
        entry(
            "GpuError::Busy",
            GpuError::Busy { in_flight: 3 },
            "A mistake of the program.",
            "Report it.",
        ),
        entry("GpuError::Idle", GpuError::Idle, "A mistake of the program.", "Report it."),
        entry(
            "GpuError::Order",
            GpuError::Order { submitted: 0..9, asked: 9..18 },
            "A mistake of the program.",
            "Report it.",
        ),
    ]
}
