//! What `test` needs beside cargo and rustc, looked for and set up.
//!
//! All that is made here lies under `target/`, but for rustup's parts and
//! Debian's packages, and is made once.

use std::path::{Path, PathBuf};

use crate::step::{Step, root, say, target_dir};

const WASM: &str = "wasm32-unknown-unknown";

/// The reference reader and writer of GGUF that the tests check against.
const GGUF_PY: &str = "gguf==0.19.0";

/// The version of cargo-deny that deny.toml is written for.
const CARGO_DENY: &str = "0.20.2";

/// The version of cargo-fuzz that `fuzz` builds its targets with.
const CARGO_FUZZ: &str = "0.13.2";

/// Programs of the system that the tests run.
struct Needed {
    what: &'static str,
    /// Debian's packages of it.
    packages: &'static str,
    is_there: fn() -> bool,
}

/// Python with `venv` and `ensurepip`, which Debian keeps in a package of its own.
const PYTHON: Needed = Needed {
    what: "python3 with venv and ensurepip",
    packages: "python3 python3-venv",
    is_there: || Step::new("python3", "-c").args(&["import venv, ensurepip".to_owned()]).succeeds(),
};

/// A browser, and the program that drives it for the tests of the page.
const CHROMIUM: Needed = Needed {
    what: "Chromium with chromedriver",
    packages: "chromium chromium-driver",
    is_there: || {
        let browsers = ["chromium", "google-chrome", "chromium-browser"];
        let there = |program: &str| Step::new(program, "--version").succeeds();
        there("chromedriver") && browsers.into_iter().any(there)
    },
};

/// A driver for Vulkan, so that the GPU's kernels run: Mesa's, in software,
/// where there is no other.
const VULKAN: Needed = Needed {
    what: "a Vulkan driver",
    packages: "mesa-vulkan-drivers",
    is_there: || {
        let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
        let drivers =
            |folder| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
        std::env::var_os("VK_DRIVER_FILES").is_some() || folders.into_iter().any(drivers)
    },
};

/// A batch system of one node, for the test of the array script. It takes root
/// to start one, so nobody else needs it.
const SLURM: Needed = Needed {
    what: "Slurm with munge",
    packages: "slurmctld slurmd slurm-client munge",
    is_there: || {
        // Looked for and not run: without a configuration some of them fail.
        let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
        let there = |program: &str| folders.iter().any(|f| Path::new(f).join(program).exists());
        let superuser = Step::new("id", "-u").output().as_deref() == Some("0");
        !superuser || ["slurmctld", "slurmd", "sbatch", "munge"].into_iter().all(there)
    },
};

/// Sets everything up, or says what a person has to do.
pub(crate) fn run(install: bool) -> Result<(), String> {
    system_packages(&PYTHON, install)?;
    system_packages(&VULKAN, install)?;
    system_packages(&CHROMIUM, install)?;
    system_packages(&SLURM, install)?;
    toolchain()?;
    python_environment()
}

/// The program of cargo-deny, built if this machine has not this version.
pub(crate) fn cargo_deny() -> Result<PathBuf, String> {
    tool("cargo-deny", CARGO_DENY)
}

/// The program of cargo-fuzz, likewise.
pub(crate) fn cargo_fuzz() -> Result<PathBuf, String> {
    tool("cargo-fuzz", CARGO_FUZZ)
}

/// A program of a crate of its name, built if this machine has not this version.
fn tool(name: &str, wanted: &str) -> Result<PathBuf, String> {
    let found = PathBuf::from(name);
    let own = root().join("target/tools/bin").join(name);
    for program in [&found, &own] {
        let version = Step::at(program, name, "--version").output();
        if version.as_deref() == Some(&format!("{name} {wanted}")) {
            return Ok(program.clone());
        }
    }
    // Unoptimised: built in under a minute on two cores, and as quick as this
    // tree needs. Only the program is kept; what it is built from is large.
    let build = target_dir().join(name);
    let words = format!("install {name} --version ={wanted} --locked --debug --force");
    Step::cargo(&words)
        .args(&["--root".to_owned(), "target/tools".to_owned()])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", &build.display().to_string())
        .run()?;
    std::fs::remove_dir_all(&build)
        .map_err(|why| format!("cannot clear `{}`: {why}", build.display()))?;
    Ok(own)
}

/// Fetches the database of advisories; false where there is no network for it.
pub(crate) fn advisories(deny: &Path) -> bool {
    let fetch = Step::at(deny, "cargo-deny", "fetch db").env("GIT_TERMINAL_PROMPT", "0");
    let fetched = fetch.succeeds();
    if !fetched {
        say("\nno advisory database can be fetched here: advisories are NOT checked");
    }
    fetched
}

/// Looks for what the system has to have, and installs it where that may be.
fn system_packages(needed: &Needed, install: bool) -> Result<(), String> {
    if (needed.is_there)() {
        return Ok(());
    }
    let debian = Path::new("/etc/debian_version").exists();
    let superuser = Step::new("id", "-u").output().as_deref() == Some("0");
    let sudo = if superuser { "" } else { "sudo " };
    if !(install || debian && superuser) {
        return Err(missing(needed, debian, sudo));
    }
    let packages = needed.packages;
    for words in ["update", &format!("install -y --no-install-recommends {packages}")] {
        let apt = if superuser {
            Step::new("apt-get", words)
        } else {
            Step::new("sudo", &format!("apt-get {words}"))
        };
        apt.env("DEBIAN_FRONTEND", "noninteractive").run()?;
    }
    if (needed.is_there)() {
        return Ok(());
    }
    Err(format!("{} is missing even with {packages} installed", needed.what))
}

fn missing(needed: &Needed, debian: bool, sudo: &str) -> String {
    let Needed { what, packages, .. } = needed;
    let command = format!(
        "{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {packages}"
    );
    if debian {
        format!("{what} is missing; install it with\n\n  {command}\n\nor pass --install")
    } else {
        format!("{what} is missing; on Debian that is\n\n  {command}")
    }
}

/// rustfmt, clippy and the standard library for wasm32. Automatic installs may
/// be switched off in rustup, so that its toolchain file alone does nothing.
fn toolchain() -> Result<(), String> {
    for (command, component) in [("fmt --version", "rustfmt"), ("clippy --version", "clippy")] {
        if !Step::cargo(command).succeeds() {
            Step::new("rustup", "component add").args(&[component.to_owned()]).run()?;
        }
    }
    wasm()
}

/// The standard library for wasm32.
pub(crate) fn wasm() -> Result<(), String> {
    let target = WASM.to_owned();
    let library =
        Step::new("rustc", "--print target-libdir --target").args(std::slice::from_ref(&target));
    let there = library.output().is_some_and(|path| Path::new(&path).is_dir());
    if there { Ok(()) } else { Step::new("rustup", "target add").args(&[target]).run() }
}

/// `target/venv`, with gguf-py in it.
fn python_environment() -> Result<(), String> {
    let python = python();
    let shown = "target/venv/bin/python";
    let version = "import gguf, importlib.metadata as m; print('gguf==' + m.version('gguf'))";
    let installed = Step::at(&python, shown, "-c").args(&[version.to_owned()]);
    if installed.output().as_deref() == Some(GGUF_PY) {
        return Ok(());
    }
    // Cleared: an environment whose Python is gone cannot be mended in place.
    Step::new("python3", "-m venv --clear target/venv").run()?;
    let pip = "-m pip install --quiet --disable-pip-version-check --root-user-action=ignore";
    Step::at(&python, shown, pip).args(&[GGUF_PY.to_owned()]).run()?;
    match installed.output() {
        Some(version) if version == GGUF_PY => Ok(()),
        other => Err(format!("wanted {GGUF_PY} in target/venv, found {other:?}")),
    }
}

/// The environment's Python. The tests look for it at this path.
fn python() -> PathBuf {
    root().join("target/venv/bin/python")
}
