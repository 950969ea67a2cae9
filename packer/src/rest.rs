//! `rest.bin`: a checkpoint's bytes that are in no header and no tensor, where
//! they are not all zero.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use wimg_core::manifest::{ManifestRest, RestRange};
use wimg_core::{Digest, Gap};

use crate::error::Error;
use crate::source::Source;
use crate::store::{REST_BIN, Staging};

/// Bytes of a gap that are read at a time.
const CHUNK: u64 = 1 << 20;

/// Writes `rest.bin` if the checkpoint has anything for it: of every gap the
/// bytes from its first to its last that is not zero.
pub(crate) fn write(source: &Source, staging: &Staging) -> Result<Option<ManifestRest>, Error> {
    gather(source, Some(staging))
}

/// What `rest.bin` of the checkpoint would be.
pub(crate) fn scan(source: &Source) -> Result<Option<ManifestRest>, Error> {
    gather(source, None)
}

fn gather(source: &Source, staging: Option<&Staging>) -> Result<Option<ManifestRest>, Error> {
    let mut rest: Option<Rest> = None;
    for gap in source.checkpoint.gaps() {
        let mut offset = gap.offset;
        let end = gap.offset + gap.len;
        let mut range: Option<RestRange> = None;
        while offset < end {
            let bytes = read(source, &gap, offset, (end - offset).min(CHUNK))?;
            let first = bytes.iter().position(|&byte| byte != 0);
            let last = bytes.iter().rposition(|&byte| byte != 0);
            if let (Some(first), Some(last)) = (first, last) {
                let rest = match &mut rest {
                    Some(rest) => rest,
                    None => rest.insert(Rest::create(staging)?),
                };
                let from = if range.is_some() { 0 } else { first };
                let start = offset + from as u64;
                let range =
                    range.get_or_insert(RestRange { shard: gap.shard, offset: start, length: 0 });
                // The zeros between this run and the last one.
                rest.zeros(start - (range.offset + range.length))?;
                rest.write(bytes.get(from..=last).unwrap_or_default())?;
                range.length = offset + last as u64 + 1 - range.offset;
            }
            offset += bytes.len() as u64;
        }
        if let (Some(rest), Some(range)) = (&mut rest, range) {
            rest.ranges.push(range);
        }
    }
    rest.map(Rest::finish).transpose()
}

fn read(source: &Source, gap: &Gap, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    source.read_exact_at(gap.shard, offset, &mut bytes)?;
    Ok(bytes)
}

/// The file as it grows.
struct Rest {
    /// None where it is only looked at.
    file: Option<(PathBuf, BufWriter<File>)>,
    hasher: blake3::Hasher,
    length: u64,
    ranges: Vec<RestRange>,
}

impl Rest {
    fn create(staging: Option<&Staging>) -> Result<Rest, Error> {
        let file = staging.map(|staging| staging.create_file(REST_BIN)).transpose()?;
        let file = file.map(|(path, file)| (path, BufWriter::new(file)));
        Ok(Rest { file, hasher: blake3::Hasher::new(), length: 0, ranges: Vec::new() })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        match &mut self.file {
            None => Ok(()),
            Some((path, file)) => {
                file.write_all(bytes).map_err(|cause| Error::io(path, "writing it", cause))
            }
        }
    }

    fn zeros(&mut self, mut count: u64) -> Result<(), Error> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while count > 0 {
            let now = usize::try_from(count).map_or(ZEROS.len(), |count| count.min(ZEROS.len()));
            self.write(ZEROS.get(..now).unwrap_or_default())?;
            count -= now as u64;
        }
        Ok(())
    }

    fn finish(self) -> Result<ManifestRest, Error> {
        if let Some((path, file)) = self.file {
            let failed = |cause| Error::io(&path, "syncing it", cause);
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
        }
        let blake3 = Digest::finish(&self.hasher);
        Ok(ManifestRest { ranges: self.ranges, length: self.length, blake3 })
    }
}
