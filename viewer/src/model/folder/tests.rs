//! An image made in memory, and what verifying says once one thing is broken.

use std::collections::BTreeMap;

use wimg_core::gguf::{self, Read, Value, write};
use wimg_core::manifest::{Contents, ManifestFile};
use wimg_core::pack::{pack_tile, tile_slices_mut};
use wimg_core::{
    Checkpoint, Digest, Format, Manifest, Plan, Selection, TensorEntry, WindowLimit, crc32c,
};

use super::*;

type Files = BTreeMap<String, Vec<u8>>;

fn tensor(name: &str, format: Format, dims: &[u64]) -> TensorEntry {
    TensorEntry {
        name: name.to_owned(),
        format,
        dims: dims.to_vec(),
        kernel: false,
        streamed: false,
    }
}

fn host(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// An image's files: two tensors on two channels, with check words.
fn image() -> (Files, Plan) {
    let tensors = [tensor("a<b>", Format::F32, &[16, 40]), tensor("b", Format::Q8_0, &[64, 33])];
    let name = [("general.name", Value::String(b"x".to_vec()))];
    let written = write::header(&name, &tensors).unwrap();
    let Read::Header(header) = gguf::read(&written.bytes, written.file_bytes).unwrap() else {
        panic!("the header is whole");
    };
    let mut file = written.bytes.clone();
    file.extend((file.len() as u64..written.file_bytes).map(|i| (i * 7 % 251).to_le_bytes()[0]));
    let checkpoint = Checkpoint::new(vec![header]).unwrap();
    let layout = "2x64/4+check".parse().unwrap();
    let plan = Plan::new(&checkpoint, Selection::Table, &layout).unwrap();
    let mut channels = vec![Vec::new(); 2];
    let mut crcs = Vec::new();
    for window in plan.windows(WindowLimit::default()) {
        let mut source = Vec::new();
        for range in &window.sources {
            source.extend_from_slice(&file[host(range.offset)..][..host(range.len)]);
        }
        let mut bytes = vec![0; host(window.channel_bytes)];
        for (task, tile) in window.tasks.iter().zip(tile_slices_mut(&window, &mut bytes).unwrap()) {
            crcs.push(pack_tile(plan.image(), task, &source, tile).unwrap());
        }
        for run in &window.runs {
            let run_bytes = &bytes[host(run.at)..][..host(run.lines * 64)];
            channels[host(run.channel)].extend_from_slice(run_bytes);
        }
    }
    let crcs: Vec<u8> = crcs.iter().flat_map(|crc: &u32| crc.to_le_bytes()).collect();
    let contents = Contents {
        channels: channels.iter().map(|bytes| Digest::of(bytes)).collect(),
        tiles_crc: ManifestFile { length: crcs.len() as u64, blake3: Digest::of(&crcs) },
        rest: None,
        tensor_crcs: plan
            .sources()
            .iter()
            .map(|source| crc32c(&file[host(source.offset)..][..host(source.len)]))
            .collect(),
    };
    let headers = [written.bytes];
    let manifest = Manifest::new(&checkpoint, &headers, &plan, &contents).unwrap();
    let [header] = headers;
    let mut files = Files::from([
        ("image.json".to_owned(), manifest.render().into_bytes()),
        ("header-0.gguf".to_owned(), header),
        ("tiles.crc".to_owned(), crcs),
    ]);
    for (number, bytes) in channels.into_iter().enumerate() {
        files.insert(format!("channel-{number}.bin"), bytes);
    }
    (files, plan)
}

/// What verifying tells, in all, or what stops it.
fn verified(files: &Files) -> Result<(Progress, Vec<Finding>), String> {
    let mut found = Vec::new();
    let lengths = files.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect();
    let mut read = |name: &str, from: u64, len: u64| {
        let bytes = files.get(name).and_then(|b| b.get(host(from)..host(from + len)));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| format!("{name} was read where it is not"))
    };
    let mut folder = Folder { files: lengths, read: &mut read };
    let last = folder.verify(&mut |progress| found.extend(progress.found.clone()))?;
    assert_eq!(Progress::read(&last.message()).as_ref(), Some(&last), "as a worker tells it");
    found.extend(last.found.clone());
    Ok((last, found))
}

#[test]
fn a_sound_image_is_sound() {
    let (files, plan) = image();
    let (last, found) = verified(&files).unwrap();
    assert_eq!(found, []);
    assert_eq!((last.damages, last.finished), (0, true));
    assert_eq!((last.done, last.tiles), (last.total, plan.image().tile_count()));
    assert!(last.tiles > 15, "{} tiles", last.tiles);
}

#[test]
fn whatever_is_broken_is_told() {
    let (whole, plan) = image();
    let mut said = String::new();
    type Break = (&'static str, fn(&mut Files));
    let breaks: [Break; 10] = [
        ("a bit of a channel", |f| f.get_mut("channel-1.bin").unwrap()[700] ^= 1),
        ("a check word", |f| f.get_mut("channel-0.bin").unwrap()[255] ^= 0x80),
        ("two tiles swapped", |f| {
            let channel = f.get_mut("channel-0.bin").unwrap();
            let (a, b) = channel[..512].split_at_mut(256);
            a.swap_with_slice(b);
        }),
        ("a channel cut off", |f| f.get_mut("channel-0.bin").unwrap().truncate(300)),
        ("a channel missing", |f| drop(f.remove("channel-1.bin"))),
        ("a word of tiles.crc", |f| f.get_mut("tiles.crc").unwrap()[9] ^= 1),
        ("tiles.crc missing", |f| drop(f.remove("tiles.crc"))),
        ("a file too many", |f| drop(f.insert("rest.bin".to_owned(), vec![1]))),
        ("a header", |f| f.get_mut("header-0.gguf").unwrap()[50] ^= 1),
        ("image.json", |f| {
            let text = f.get_mut("image.json").unwrap();
            let at = text.windows(6).rposition(|six| six == b"\"name\"").unwrap();
            text[at + 8] = b'c';
        }),
    ];
    for (what, broken) in breaks {
        let mut files = whole.clone();
        broken(&mut files);
        said += &format!("# {what}\n");
        match verified(&files) {
            Ok((last, found)) => {
                assert!(last.damages > 0, "{what} is told");
                assert_eq!(last.damages, found.len() as u64);
                for finding in found {
                    let tile = finding.tile.map_or(String::new(), |tile| format!("[{tile}] "));
                    said += &format!("{tile}{}\n", finding.text);
                    assert!(finding.tile.is_none_or(|tile| tile < plan.image().tile_count()));
                }
            }
            Err(why) => said += &format!("stopped: {why}\n"),
        }
    }
    expect_test::expect_file!["damage.txt"].assert_eq(&said);
}

#[test]
fn one_tile_is_read_and_checked() {
    let (mut files, plan) = image();
    let tile = |files: &Files, index| {
        let lengths = files.iter().map(|(name, b)| (name.clone(), b.len() as u64)).collect();
        let mut read = |name: &str, from: u64, len: u64| {
            Ok(files[name][host(from)..host(from + len)].to_vec())
        };
        Folder { files: lengths, read: &mut read }.tile(&plan, index)
    };
    let (bytes, findings) = tile(&files, 3).unwrap();
    let at = plan.image().tile(3).unwrap();
    let name = format!("channel-{}.bin", at.channel);
    assert_eq!(bytes, files[&name][host(at.line * 64)..host((at.line + at.lines) * 64)]);
    assert_eq!(findings, []);
    files.get_mut(&name).unwrap()[host(at.line * 64)] ^= 1;
    let (_, findings) = tile(&files, 3).unwrap();
    assert_eq!(findings.iter().map(|found| found.tile).collect::<Vec<_>>(), [Some(3)]);
    files.get_mut(&name).unwrap().truncate(host(at.line * 64 + 1));
    assert!(tile(&files, 3).unwrap_err().contains("before the tile's end"));
    files.remove("tiles.crc");
    assert!(tile(&files, 0).is_err());
    assert!(tile(&files, 1 << 40).is_err());
}

#[test]
fn other_words_of_a_worker_are_no_progress() {
    for text in ["", "image.json is missing", "1 2 3 4", "1 2 3 4 maybe", "1 2 3 4 true\nx"] {
        assert_eq!(Progress::read(text), None, "{text}");
    }
    let finding = Finding { text: "tile 7: x y".to_owned(), tile: Some(7) };
    let progress = Progress { damages: 1, found: vec![finding], ..Progress::default() };
    assert_eq!(progress.message(), "0 0 0 1 false\n7 tile 7: x y");
}
