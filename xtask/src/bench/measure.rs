//! What a process costs: wall, processor seconds and memory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// How often the memory of a process is looked at: its peak never falls.
const LOOK: Duration = Duration::from_millis(10);
/// Ticks of a second in `/proc/PID/stat`: Linux has 100 on every platform.
const TICKS: f64 = 100.0;

/// What one process cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    seconds: f64,
    user: f64,
    system: f64,
    /// The most resident memory, in KiB.
    peak: u64,
}

/// Runs a program to its end and measures it.
pub(super) fn measure(program: &Path, words: &[String]) -> Result<Measured, String> {
    let shown = || format!("{} {}", program.display(), words.join(" "));
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().map_err(|why| format!("cannot run {}: {why}", shown()))?;
    let process = format!("/proc/{}", child.id());
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| format!("{} has no process", shown()))?;
    let mut peak = 0;
    let seconds = loop {
        // Left as it is, for its times to be read.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(pid), options) {
            Ok(None) => {}
            Ok(Some(_)) => break started.elapsed().as_secs_f64(),
            Err(why) => return Err(format!("cannot wait for {}: {why}", shown())),
        }
        peak = peak.max(peak_of(&process).unwrap_or(0));
        std::thread::sleep(LOOK);
    };
    let (user, system) = times_of(&process).unwrap_or((f64::NAN, f64::NAN));
    let status = child.wait().map_err(|why| format!("cannot wait for {}: {why}", shown()))?;
    if status.success() {
        Ok(Measured { seconds, user, system, peak })
    } else {
        Err(format!("failed ({status}): {}", shown()))
    }
}

/// `VmHWM` in KiB.
fn peak_of(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// User and system seconds, of it and of the children that it waited for.
fn times_of(process: &str) -> Option<(f64, f64)> {
    let stat = fs::read_to_string(format!("{process}/stat")).ok()?;
    // The name in brackets may have blanks and brackets; after it comes the state.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some(((ticks(11)? + ticks(13)?) / TICKS, (ticks(12)? + ticks(14)?) / TICKS))
}

/// A case's runs.
#[derive(Debug)]
pub(super) struct Series {
    name: &'static str,
    runs: Vec<Measured>,
}

impl Series {
    /// Over the columns of [`Series::line`].
    pub(super) const HEADING: &'static str =
        "case              GB/s  slowest  fastest  x cp   wall s  user s  sys s  VmHWM MiB";

    pub(super) fn new(name: &'static str) -> Series {
        Series { name, runs: Vec::new() }
    }

    pub(super) fn add(&mut self, run: Measured) {
        self.runs.push(run);
    }

    fn sorted(&self, of: impl Fn(&Measured) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn median(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        let values = self.sorted(of);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn median_seconds(&self) -> f64 {
        self.median(|run| run.seconds)
    }

    /// The case in a line; its rate is of the checkpoint's `bytes`.
    pub(super) fn line(&self, bytes: u64, cp_seconds: f64) -> String {
        let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
        let seconds = self.sorted(|run| run.seconds);
        let edge = |value: Option<&f64>| rate(value.copied().unwrap_or(f64::NAN));
        let median = self.median_seconds();
        format!(
            "{:<15} {:>6.2} {:>8.2} {:>8.2} {:>5.2} {:>8.2} {:>7.2} {:>6.2} {:>10.0}",
            self.name,
            rate(median),
            edge(seconds.last()),
            edge(seconds.first()),
            cp_seconds / median,
            median,
            self.median(|run| run.user),
            self.median(|run| run.system),
            self.median(|run| run.peak as f64 / 1024.0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_measured_to_its_end() {
        let words = ["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; sleep 0.05"];
        let run = measure(Path::new("sh"), &words.map(str::to_owned)).expect("sh runs");
        assert!(run.seconds > 0.05 && run.user > 0.0 && run.system >= 0.0, "{run:?}");
        assert!(run.peak > 100, "{run:?}");
        let failed = measure(Path::new("sh"), &["-c".to_owned(), "exit 3".to_owned()]);
        assert!(failed.expect_err("it fails").starts_with("failed (exit status: 3): sh -c"));
    }

    #[test]
    fn the_median_counts() {
        let mut series = Series::new("x");
        for seconds in [3.0, 1.0, 2.0] {
            series.add(Measured { seconds, user: 1.5, system: 0.5, peak: 2048 });
        }
        let line = series.line(4_000_000_000, 4.0);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["x", "2.00", "1.33", "4.00", "2.00", "2.00", "1.50", "0.50", "2"]);
        assert_eq!(line.len(), Series::HEADING.len());
    }
}
