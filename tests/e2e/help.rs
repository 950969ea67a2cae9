//! Help, version, and what is no command line.

use expect_test::expect_file;
use wimg_tests::program::wimg;

use super::vectors_folder;

#[test]
fn every_command_has_its_help() {
    let folder = vectors_folder();
    let help = |line: &str| wimg(&folder, line).done();
    let all = help("--help");
    expect_file!["golden/help/wimg.txt"].assert_eq(&all);
    let listed: Vec<&str> = all
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
        .collect();
    let (last, commands) = listed.split_last().unwrap();
    assert_eq!(*last, "help");
    for command in ["pack", "verify", "plan", "locate", "ledger", "synth", "completions"] {
        assert!(commands.contains(&command), "{command}");
    }
    for command in commands {
        let text = help(&format!("{command} --help"));
        expect_file![format!("golden/help/{command}.txt")].assert_eq(&text);
        for code in 0..=5 {
            let line = format!("\n  {code}  ");
            assert!(all.contains(&line) && text.contains(&line), "{command}: {code}");
        }
        assert_eq!(help(&format!("help {command}")), text);
    }
}

#[test]
fn the_version_is_a_line() {
    let version = wimg(&vectors_folder(), "--version").done();
    assert_eq!(version, format!("wimg {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = wimg(&vectors_folder(), &format!("completions {shell}")).done();
        assert!(script.contains("locate") && script.contains("tile-lines"), "{shell}");
    }
}

#[test]
fn what_is_no_command_line_exits_with_2() {
    let mut told = String::new();
    for line in [
        "pakc",
        "plan",
        "plan tiny-q8.gguf --banana",
        "plan tiny-q8.gguf --tensors --tiles",
        "plan tiny-q8.gguf --layout banana",
        "plan tiny-q8.gguf --layout 4x66",
        "plan tiny-q8.gguf --layout 4x64 --beat 72",
        "plan tiny-q8.gguf --beat 73",
        "plan tiny-q8.gguf --channels 0",
        "plan tiny-q8.gguf --channels 257",
        "plan tiny-q8.gguf --channels four",
        "plan tiny-q8.gguf --channels 18446744073709551616",
        "plan tiny-q8.gguf --octets",
        "plan tiny-q8.gguf --select none",
        "plan tiny-q8.gguf --format xml",
        "pack tiny-q8.gguf",
        "verify",
        "locate tiny-q8.gguf",
        "locate tiny-q8.gguf output.weight --at 0:0",
        "locate tiny-q8.gguf --at 0",
        "locate tiny-q8.gguf --at 4:0",
        "locate tiny-q8.gguf --at 0:29786",
        "locate tiny-q8.gguf banana",
        "locate tiny-q8.gguf output.weight 320",
        "locate tiny-q8.gguf output.weight -1",
        "locate tiny-q8.gguf blk.0.ssm_conv1d.weight 512 --checkpoint-row",
        "synth banana --out x.gguf",
        "synth qwen3.8-27b-ggml-org-q8_0 --out x.gguf --scale 0",
        "completions tcsh",
    ] {
        let ran = wimg(&vectors_folder(), line);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}: {}", ran.err);
        assert!(ran.err.starts_with("wimg: "), "{line}: {}", ran.err);
        told += &format!("$ wimg {line}\n{}\n", ran.err.trim_end());
    }
    expect_file!["golden/usage.txt"].assert_eq(&told);
    // Without a command, help: also nothing that a script may take for done.
    let ran = wimg(&vectors_folder(), "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.err, wimg(&vectors_folder(), "--help").out);
}
