//! The arguments, parsed purely: nothing here looks at the world.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ArgsOf, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use wimg_core::{HEADERS, ImageError, ImageLayout, Selection};

use super::failure::Failure;
use super::nightly::args::NightlyArgs;
use crate::backend::{Backend, BackendOptions};
use crate::gpu::GpuOptions;
use crate::synth::SCALE_MAX;

/// What every command's help ends with.
const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  damage was found, or images differ
  2  the command line is wrong
  3  the input is bad: do not retry
  4  input/output or resources failed: a retry may help
  5  no usable GPU
Of several, the worst: 1, else 5, else 4, else 3. A broken pipe is no error.";

/// Pack GGUF checkpoints into weight images, and check and describe them.
#[derive(Debug, Parser)]
#[command(name = "wimg", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Pack a checkpoint into an image, and verify what is on the disk
    #[command(after_help = EXIT_CODES)]
    Pack(PackArgs),
    /// Check an image: every tile, every tensor, every file
    #[command(after_help = EXIT_CODES)]
    Verify(VerifyArgs),
    /// Give the checkpoint back that an image was made from, or one of its tensors
    #[command(after_help = EXIT_CODES)]
    Unpack(UnpackArgs),
    /// Say how two images differ
    #[command(after_help = EXIT_CODES)]
    Diff(DiffArgs),
    /// Show what packing a checkpoint would give and take; nothing is written
    #[command(after_help = EXIT_CODES)]
    Plan(PlanArgs),
    /// Say in which channel, line and byte a row lies, or what lies on a line
    #[command(after_help = EXIT_CODES)]
    Locate(LocateArgs),
    /// Sum what images hold and cost, a row an image
    #[command(after_help = EXIT_CODES)]
    Ledger(LedgerArgs),
    /// Pack every checkpoint in every layout of a configuration, only what changed
    #[command(after_help = EXIT_CODES)]
    Nightly(NightlyArgs),
    /// Make a checkpoint with a public one's structure and random weights
    #[command(after_help = EXIT_CODES)]
    Synth(SynthArgs),
    /// Show ledgers and images in a browser; nothing leaves this machine
    #[command(after_help = EXIT_CODES)]
    Serve(ServeArgs),
    /// Write what the browser would show to one HTML file that opens from disk
    #[command(after_help = EXIT_CODES)]
    Report(ReportArgs),
    /// List the GPUs that could pack, and what matters of their limits
    #[command(after_help = EXIT_CODES)]
    Devices(DevicesArgs),
    /// Print a shell's completion script
    #[command(after_help = EXIT_CODES)]
    Completions(CompletionsArgs),
}

#[derive(Debug, ArgsOf)]
pub(crate) struct PackArgs {
    /// A GGUF file, any shard of a split set, or a folder with one checkpoint
    pub(crate) checkpoint: PathBuf,
    /// The image's folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Replace an image that is there, once the new one is whole
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not read the image back and verify it
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct VerifyArgs {
    /// The image's folder
    pub(crate) dir: PathBuf,
    /// Check only plan, lengths, small files and 64 tiles
    #[arg(long)]
    pub(crate) quick: bool,
    /// Compare with the checkpoint that the image was made from, byte for byte
    #[arg(long, value_name = "CHECKPOINT")]
    pub(crate) source: Option<PathBuf>,
    /// Show so many damages, 0 for all; the rest are counted
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) backend: CheckBackendArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct UnpackArgs {
    /// The image's folder; for a whole checkpoint one of selection all or table
    pub(crate) dir: PathBuf,
    /// The file, or of a split set the folder of its shards; with --tensor, - is the standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) out: PathBuf,
    /// Only this tensor's bytes, as the checkpoint had them
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Replace what is there, once the new one is whole
    #[arg(long)]
    pub(crate) force: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct DiffArgs {
    /// An image's folder
    pub(crate) a: PathBuf,
    /// Another image's folder
    pub(crate) b: PathBuf,
    /// Show so many differences, 0 for all; the rest are counted
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct PlanArgs {
    /// A GGUF file, any shard of a split set, or a folder with one checkpoint
    pub(crate) checkpoint: PathBuf,
    /// Where the image would go: its file system's free space is shown [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Show where each tensor lies instead
    #[arg(long, conflicts_with = "tiles")]
    pub(crate) tensors: bool,
    /// Show every tile instead; there may be millions
    #[arg(long)]
    pub(crate) tiles: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct LocateArgs {
    /// An image, or a checkpoint to be planned: a GGUF file, any shard of a set, or a folder with one
    #[arg(value_name = "DIR-OR-CHECKPOINT")]
    pub(crate) subject: PathBuf,
    /// The tensor
    #[arg(required_unless_present = "at", conflicts_with = "at")]
    pub(crate) tensor: Option<String>,
    /// The image row, from 0
    #[arg(default_value_t = 0, value_parser = number)]
    pub(crate) row: u64,
    /// ROW is the checkpoint's: a kernel's lies in all of its taps
    #[arg(long, conflicts_with = "at")]
    pub(crate) checkpoint_row: bool,
    /// Say what lies on this line of this channel
    #[arg(long, value_name = "CHANNEL:LINE", value_parser = channel_line)]
    pub(crate) at: Option<(u64, u64)>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct LedgerArgs {
    /// Images, and checkpoints to be planned, at both beats unless a layout is given [default: the public checkpoints that wimg knows]
    #[arg(value_name = "CHECKPOINT-OR-DIR")]
    pub(crate) subjects: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) image: ImageArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct SynthArgs {
    /// The public checkpoint whose structure it gets
    #[arg(value_parser = PossibleValuesParser::new(HEADERS.iter().map(|header| header.name)))]
    pub(crate) header: String,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Divide the widths by this
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=SCALE_MAX))]
    pub(crate) scale: u64,
    /// The seed of the weights
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = number)]
    pub(crate) seed: u64,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct ServeArgs {
    /// The folder whose ledgers (.jsonl), images and nights' reports can be read [default: none]
    pub(crate) dir: Option<PathBuf>,
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Listen on another address than 127.0.0.1: whoever reaches it can read
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<String>,
    /// Do not open a browser, only print the address
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct ReportArgs {
    /// Images, checkpoints, ledgers (.jsonl), nights' report.json, and folders with them [default: only the public checkpoints that wimg knows]
    #[arg(value_name = "CHECKPOINT-OR-DIR")]
    pub(crate) subjects: Vec<PathBuf>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct DevicesArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, ArgsOf)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// How results are written.
#[derive(Debug, ArgsOf)]
pub(crate) struct OutputArgs {
    /// How to write the result: json is JSON Lines
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// A way to write results: for people, JSON Lines, or RFC 4180 with lines that end in LF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    #[default]
    Text,
    Json,
    Csv,
}

/// What packs.
#[derive(Debug, ArgsOf)]
#[command(next_help_heading = "Backend")]
pub(crate) struct BackendArgs {
    /// What packs: auto tries a GPU, if there is one that is not software, and keeps the faster
    #[arg(
        long,
        default_value = "auto",
        value_parser = PossibleValuesParser::new(Backend::ALL.map(Backend::name))
            .try_map(|name| name.parse::<Backend>()),
    )]
    backend: Backend,
    #[command(flatten)]
    gpu: GpuArgs,
}

/// What checks tiles.
#[derive(Debug, ArgsOf)]
#[command(next_help_heading = "Backend")]
pub(crate) struct CheckBackendArgs {
    /// What computes the tiles' CRCs: a GPU must be sent all bytes, so that it is seldom the faster
    #[arg(
        long,
        default_value = "cpu",
        conflicts_with = "quick",
        value_parser = PossibleValuesParser::new([Backend::Cpu, Backend::Gpu].map(Backend::name))
            .try_map(|name| name.parse::<Backend>()),
    )]
    backend: Backend,
    #[command(flatten)]
    gpu: GpuArgs,
}

/// Which GPU, and how much of it.
#[derive(Debug, ArgsOf)]
struct GpuArgs {
    /// The GPU: its number among `wimg devices`, or a part of its name
    #[arg(long, value_name = "ADAPTER")]
    gpu: Option<String>,
    /// The most GPU memory to take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = value_parser!(u64).range(1..=1 << 20))]
    gpu_memory: u64,
}

impl BackendArgs {
    /// What the flags say.
    pub(crate) fn options(&self) -> BackendOptions {
        BackendOptions { backend: self.backend, gpu: self.gpu.options() }
    }
}

impl CheckBackendArgs {
    /// What the flags say.
    pub(crate) fn options(&self) -> BackendOptions {
        BackendOptions { backend: self.backend, gpu: self.gpu.options() }
    }
}

impl GpuArgs {
    fn options(&self) -> GpuOptions {
        let mut gpu = GpuOptions::default();
        gpu.adapter.clone_from(&self.gpu);
        gpu.memory = self.gpu_memory << 20;
        gpu
    }
}

/// What an image holds, and how it lies.
#[derive(Debug, ArgsOf)]
#[command(next_help_heading = "Image")]
pub(crate) struct ImageArgs {
    /// Which tensors: what a step reads, what it streams, that and the rest, or the checkpoint's table
    #[arg(
        long,
        default_value = "machine",
        value_parser = PossibleValuesParser::new(Selection::ALL.map(Selection::name))
            .try_map(|name| name.parse::<Selection>()),
    )]
    pub(crate) select: Selection,
    /// The whole layout, such as 4x72/512+check+stripe8+octets+slot16
    #[arg(long, value_name = "STRING", value_parser = layout, conflicts_with = "beat")]
    layout: Option<ImageLayout>,
    /// The D5005's layout with lines of 64 bytes, or of 72 with check words [default: 64]
    #[arg(
        long,
        value_name = "BYTES",
        value_parser = PossibleValuesParser::new(["64", "72"]).map(|beat| match beat.as_str() {
            "72" => ImageLayout::beat72(),
            _ => ImageLayout::beat64(),
        }),
    )]
    beat: Option<ImageLayout>,
    /// Memory channels, 1 to 256
    #[arg(long, value_name = "N", value_parser = number)]
    channels: Option<u64>,
    /// Bytes of a line, a multiple of 4
    #[arg(long, value_name = "N", value_parser = number)]
    line_bytes: Option<u64>,
    /// Lines that a tile fills before the next channel's turn
    #[arg(long, value_name = "N", value_parser = number)]
    tile_lines: Option<u64>,
    /// Lines that a channel holds
    #[arg(long, value_name = "N", value_parser = number)]
    channel_lines: Option<u64>,
    /// End tiles in a check word
    #[arg(long)]
    check: bool,
    /// Lay streamed tensors in block-major tiles of N row pairs
    #[arg(long, value_name = "N", value_parser = number)]
    stripe: Option<u64>,
    /// Lay striped Q8_0 tensors in octets
    #[arg(long)]
    octets: bool,
    /// Round a striped block's bytes up to a multiple of N
    #[arg(long, value_name = "N", value_parser = number)]
    slot: Option<u64>,
}

impl ImageArgs {
    /// The layout that the flags say: single ones go on top of `--layout` or `--beat`.
    pub(crate) fn layout(&self) -> Result<ImageLayout, Failure> {
        let base = self.layout.or(self.beat).unwrap_or_default();
        let layout = ImageLayout {
            channels: self.channels.unwrap_or(base.channels),
            line_bytes: self.line_bytes.unwrap_or(base.line_bytes),
            tile_lines: self.tile_lines.unwrap_or(base.tile_lines),
            channel_lines: self.channel_lines.unwrap_or(base.channel_lines),
            check: self.check || base.check,
            stripe: self.stripe.or(base.stripe),
            octets: self.octets || base.octets,
            slot: self.slot.unwrap_or(base.slot),
        };
        layout.validate().map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(layout)
    }

    /// Whether any layout flag was given.
    pub(crate) fn says_layout(&self) -> bool {
        let numbers =
            [self.channels, self.line_bytes, self.tile_lines, self.channel_lines, self.stripe];
        self.layout.or(self.beat).is_some()
            || numbers.iter().chain([&self.slot]).any(Option::is_some)
            || self.check
            || self.octets
    }

    /// Whether the flags say anything: of an image that is there, nothing can be said.
    pub(crate) fn says_anything(&self) -> bool {
        self.says_layout() || self.select != Selection::default()
    }
}

fn layout(text: &str) -> Result<ImageLayout, ImageError> {
    text.parse()
}

/// A number whose limits are its field's.
fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

fn channel_line(text: &str) -> Result<(u64, u64), String> {
    let (channel, line) = text.split_once(':').unwrap_or((text, ""));
    let wrong = |_| "expected two numbers, CHANNEL:LINE, such as 2:1024".to_owned();
    Ok((number(channel).map_err(wrong)?, number(line).map_err(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_sound() {
        Args::command().debug_assert();
    }

    fn flags(flags: &str) -> ImageArgs {
        let words = "wimg plan x".split(' ').chain(flags.split_whitespace());
        match Args::try_parse_from(words).unwrap().command {
            Command::Plan(args) => args.image,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn single_flags_go_on_top() {
        for (words, layout) in [
            ("", "4x64/512"),
            ("--beat 64", "4x64/512"),
            ("--beat 72", "4x72/512+check"),
            ("--line-bytes 72", "4x72/512"),
            ("--line-bytes 72 --check", "4x72/512+check"),
            ("--beat 72 --channels 2 --tile-lines 16", "2x72/16+check"),
            ("--layout 4x72/512+check --channel-lines 99", "4x72/512@99+check"),
            ("--layout 3x32/7 --stripe 8 --octets --slot 16", "3x32/7+stripe8+octets+slot16"),
            ("--layout 4x64+stripe2 --stripe 3", "4x64/512+stripe3"),
        ] {
            let args = flags(words);
            assert_eq!(args.layout().unwrap().to_string(), layout, "{words}");
            assert_eq!(args.says_layout(), !words.is_empty(), "{words}");
            assert_eq!(args.says_anything(), !words.is_empty(), "{words}");
        }
        assert!(flags("--slot 4").says_layout());
        assert!(flags("--octets").says_layout());
        assert!(flags("--octets").layout().is_err());
        assert!(flags("--channels 257").layout().is_err());
        let args = flags("--select all");
        assert_eq!((args.select, args.says_layout()), (Selection::All, false));
        assert!(args.says_anything());
    }
}
