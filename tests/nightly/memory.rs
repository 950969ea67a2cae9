//! A night's memory is bounded, whatever its checkpoints and layouts sum to.

use wimg::synth::Synth;
use wimg_core::headers::find;
use wimg_tests::program::memory_up_to;

use crate::night::Night;

/// The most bytes of memory of a night: those of the windows of one packing,
/// which the layouts share, and of the program.
const MOST: u64 = 320 << 20;

#[test]
fn a_night_of_many_bytes_takes_the_memory_of_a_few_windows() {
    let night = Night::empty();
    let third = "[[layouts]]\nname = \"third\"\nlayout = \"2x32/64\"\nselect = \"all\"";
    night.configure("checkpoints = [\"checkpoints\"]", &format!("backend = \"cpu\"\n{third}"));
    for (name, header, scale) in
        [("a", "qwen3.8-27b-ggml-org-q4_k_m", 20), ("b", "qwen3.8-27b-ggml-org-q8_0", 22)]
    {
        let synth = Synth::new(find(header).unwrap(), scale, 0).unwrap();
        synth.write_sparse(&night.checkpoint(name), false).unwrap();
    }
    let peak = memory_up_to("report", &mut night.command("--quiet"));
    let written = night.report()["written_bytes"].as_u64().unwrap();
    assert_eq!(night.report()["counts"]["packed"], 6);
    println!("{written} bytes in {peak} bytes of memory");
    assert!(written > 3 * MOST, "{written}: it could all be held");
    assert!(peak < MOST, "{peak}");
}
