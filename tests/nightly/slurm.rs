//! A one-node Slurm, started by the test: the array script as a site runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::deploy::{deployed, program};
use crate::night::{Night, assert_same};

/// The daemons of one node, everything of theirs in one folder.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    /// Starts the daemons and waits for the node.
    fn start() -> Cluster {
        let cluster = Cluster { folder: tempfile::tempdir().unwrap() };
        for folder in ["state", "spool"] {
            fs::create_dir(cluster.path(folder)).unwrap();
        }
        let key = cluster.path("munge.key");
        fs::write(&key, "a key of 32 bytes at least, of this test").unwrap();
        run(Command::new("chmod").arg("400").arg(&key));
        run(Command::new("chmod").arg("711").arg(cluster.folder.path()));
        let file = |name: &str| cluster.path(name).to_str().unwrap().to_owned();
        // As root, with its own key and socket: another munged may run.
        run(Command::new("munged").args([
            "--force".to_owned(),
            format!("--socket={}", file("munge.socket")),
            format!("--key-file={}", file("munge.key")),
            format!("--pid-file={}", file("munged.pid")),
            format!("--log-file={}", file("munged.log")),
            format!("--seed-file={}", file("munged.seed")),
        ]));
        fs::write(cluster.path("slurm.conf"), cluster.config()).unwrap();
        run(cluster.command("slurmctld"));
        run(cluster.command("slurmd"));
        cluster.wait("the node is not idle", || cluster.says("sinfo", "-h -o %T") == "idle");
        cluster
    }

    fn config(&self) -> String {
        let host = says(Command::new("hostname").arg("-s"));
        let node = says(Command::new("slurmd").arg("-C"));
        let node = node.lines().next().unwrap().to_owned();
        let folder = self.folder.path().display();
        let pid = std::process::id() % 1000;
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge.socket\nStateSaveLocation={folder}/state\n\
             SlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.pid\nSlurmctldLogFile={folder}/slurmctld.log\n\
             SlurmdLogFile={folder}/slurmd.log\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SchedulerParameters=sched_min_interval=10000,sched_interval=1\n\
             {node} NodeAddr=127.0.0.1 State=UNKNOWN\n\
             PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n",
            20_000 + pid,
            21_000 + pid,
        )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// What a command of Slurm's says.
    fn says(&self, program: &str, words: &str) -> String {
        says(self.command(program).args(words.split_whitespace()))
    }

    #[track_caller]
    fn wait(&self, what: &str, mut done: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(90);
        while !done() {
            let log = || fs::read_to_string(self.path("slurmctld.log")).unwrap_or_default();
            assert!(Instant::now() < until, "{what}: {}", log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Stops the daemons by their own pid files.
impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in ["slurmd", "slurmctld", "munged"] {
            if let Ok(pid) = fs::read_to_string(self.path(&format!("{daemon}.pid"))) {
                let _ = Command::new("kill").arg(pid.trim()).status();
            }
        }
    }
}

#[track_caller]
fn run(mut command: impl std::borrow::BorrowMut<Command>) {
    let command: &mut Command = command.borrow_mut();
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
}

fn says(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Whether a cluster can be started here: `cargo xtask test` installs what it
/// needs as root on Debian.
fn can_start() -> bool {
    let there = |program: &str| {
        Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output()
            .unwrap()
            .status
            .success()
    };
    let root = rustix::process::geteuid().is_root();
    root && ["munged", "slurmctld", "slurmd", "sbatch"].into_iter().all(there)
}

/// The script with what a site changes.
fn site_script(night: &Night) -> PathBuf {
    let text = fs::read_to_string(deployed("slurm.sh")).unwrap();
    let mut changed = 0;
    let mut change = |text: String, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        changed += 1;
        text.replace(from, to)
    };
    let text = change(text, "#SBATCH --array=0-7", "#SBATCH --array=0-2");
    let text = change(text, "#SBATCH --cpus-per-task=8", "#SBATCH --cpus-per-task=1");
    let text = change(text, "#SBATCH --mem=2G\n", "");
    assert_eq!(changed, 3);
    let path = night.path("slurm.sh");
    fs::write(&path, text).unwrap();
    run(Command::new("chmod").arg("+x").arg(&path));
    path
}

/// The program, but the first time that it does the first share it stops where
/// it writes.
fn pausing_program(night: &Night) -> PathBuf {
    let path = night.path("wimg.sh");
    let text = format!(
        "#!/bin/sh\nif [ \"$SLURM_ARRAY_TASK_ID\" = 0 ] && [ -z \"$SLURM_RESTART_COUNT\" ]; then\n\
         export WIMG_FAULT=write:pause\nfi\nexec {} \"$@\"\n",
        program()
    );
    fs::write(&path, text).unwrap();
    run(Command::new("chmod").arg("+x").arg(&path));
    path
}

#[test]
fn the_array_script_under_slurm_with_one_task_killed_and_requeued() {
    if !can_start() {
        println!("no Slurm here: only the script under Slurm's variables was tested");
        return;
    }
    let whole = Night::new();
    whole.put("c", "tiny-edge.gguf");
    whole.run("").done();
    let night = Night::new();
    night.put("c", "tiny-edge.gguf");
    let script = site_script(&night);
    let cluster = Cluster::start();
    let mut submit = cluster.command(script.to_str().unwrap());
    submit.arg("nightly.toml").current_dir(night.folder());
    submit.env("WIMG", pausing_program(&night));
    let array = says(&mut submit);
    assert!(array.parse::<u64>().is_ok(), "{array}");
    // The first task is running, and in the middle of its first image.
    let first = format!("{array}_0");
    let state = |job: &str| cluster.says("squeue", &format!("-h -j {job} -o %T"));
    let building = || {
        let folders = ["a/plain", "a/striped"].map(|place| night.path(&format!("images/{place}")));
        folders.iter().any(|folder| has_partial(folder))
    };
    cluster.wait("the first task does not begin", || state(&first) == "RUNNING" && building());
    run(cluster.command("scontrol").args(["requeue", &first]));
    let requeued = Instant::now();
    let collected = || {
        // What is requeued waits two minutes, unless it is told not to. Not at
        // once: a node that still clears up after the job fails to start it.
        if requeued.elapsed() > Duration::from_secs(4) {
            let update = format!("update JobId={first} StartTime=now");
            let _ = cluster.says("scontrol", &update);
        }
        night.path("images/report.json").exists()
    };
    cluster.wait("nothing is collected", collected);
    assert_eq!(
        night.statuses(),
        whole.statuses(),
        "{}{}",
        fs::read_to_string(night.path("images/summary.txt")).unwrap(),
        fs::read_to_string(cluster.path("slurmctld.log")).unwrap_or_default()
    );
    assert_eq!(night.report()["night"], array);
    assert_same(&whole.images(), &night.images(), "the array");
    let log = fs::read_to_string(night.path(&format!("wimg-nightly-{array}_0.log"))).unwrap();
    println!("the log of the task that was requeued:\n{log}");
}

fn has_partial(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains(".partial-"))
}
