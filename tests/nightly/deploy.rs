//! The files that schedulers are given.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wimg_tests::program::{Ran, command};

use crate::night::{Night, assert_same, ran};

/// A file of `packer/deploy`.
pub(crate) fn deployed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packer/deploy").join(name)
}

/// The program's path.
pub(crate) fn program() -> String {
    command(Path::new(".")).get_program().to_str().unwrap().to_owned()
}

/// Runs the array's script as Slurm does, with the variables that it sets.
fn job(night: &Night, task: u64, count: u64) -> Ran {
    let mut command = Command::new("bash");
    command.arg(deployed("slurm.sh")).arg("nightly.toml").current_dir(night.folder());
    command.env("WIMG", program()).env("SLURM_ARRAY_JOB_ID", "77");
    command.env("SLURM_ARRAY_TASK_ID", (task + 1).to_string());
    command.env("SLURM_ARRAY_TASK_MIN", "1").env("SLURM_ARRAY_TASK_STEP", "1");
    command.env("SLURM_ARRAY_TASK_COUNT", count.to_string());
    ran(command)
}

#[test]
fn the_array_script_does_a_share_under_slurms_variables() {
    let whole = Night::new();
    whole.run("").done();
    let night = Night::new();
    for task in 0..3 {
        job(&night, task, 3).done();
    }
    night.run("--collect --night 77").done();
    assert_eq!(night.report()["counts"]["packed"], 4);
    assert_same(&whole.images(), &night.images(), "slurm.sh");
}

/// Without an array it submits one, and the collecting job after it.
#[test]
fn the_array_script_submits_itself_and_the_report() {
    let night = Night::new();
    let bin = night.path("bin");
    fs::create_dir(&bin).unwrap();
    let sbatch = "#!/bin/sh\nprintf '%s\\n' \"$*\" >> submitted\necho '77;cluster'\n";
    fs::write(bin.join("sbatch"), sbatch).unwrap();
    let chmod = Command::new("chmod").arg("+x").arg(bin.join("sbatch")).status().unwrap();
    assert!(chmod.success());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg(deployed("slurm.sh")).arg("nightly.toml").current_dir(night.folder());
    command.env("PATH", path).env_remove("SLURM_ARRAY_TASK_ID");
    assert_eq!(ran(command).out, "77;cluster\n");
    let submitted = fs::read_to_string(night.path("submitted")).unwrap();
    let lines: Vec<&str> = submitted.lines().collect();
    assert_eq!(lines.len(), 2, "{submitted}");
    assert!(lines[0].ends_with("slurm.sh nightly.toml"), "{submitted}");
    assert!(lines[1].contains("--dependency=afterany:77 "), "{submitted}");
    assert!(lines[1].contains("nightly nightly.toml --collect --night 77"), "{submitted}");
}

/// Each file marks what a site must change, and the exit codes that it knows
/// are those of the program.
#[test]
fn every_file_says_what_to_change_and_knows_the_exit_codes() {
    let mut files = 0;
    for name in [
        "slurm.sh",
        "kubernetes.yaml",
        "kubernetes-collect.yaml",
        "wimg-nightly.service",
        "wimg-nightly.timer",
    ] {
        let text = fs::read_to_string(deployed(name)).unwrap();
        assert!(text.contains("CHANGE: "), "{name}");
        files += 1;
    }
    assert_eq!(files, 5);
    let kubernetes = fs::read_to_string(deployed("kubernetes.yaml")).unwrap();
    assert!(kubernetes.contains("values: [2, 3]") && kubernetes.contains("values: [1, 4, 5]"));
    let service = fs::read_to_string(deployed("wimg-nightly.service")).unwrap();
    assert!(service.contains("RestartPreventExitStatus=1 2 3 5"));
}
