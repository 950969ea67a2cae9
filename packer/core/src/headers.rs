//! `HEADERS`: the tensor tables of eight public checkpoints that fit the card.
//!
//! Each is a file of `headers/`: name, format and dims of every tensor, in the
//! order of the published GGUF file. `index.tsv` says which file that is. The
//! tables are facts about published files, so a test lays each one out and
//! arrives at the published size to the byte.

use std::sync::LazyLock;

use crate::format::Format;
use crate::tensor::{Meta, TensorEntry, TensorTable};

/// What all of the published files have as `general.architecture`.
const ARCHITECTURE: &str = "qwen35";
/// What all of them have as `qwen35.ssm.conv_kernel`, in taps.
const CONV_KERNEL: u64 = 4;

const INDEX: &str = include_str!("../headers/index.tsv");

/// The tables, in `index.tsv`'s order.
const TABLES: [&str; 8] = [
    include_str!("../headers/qwen3.8-27b-ggml-org-q8_0.tsv"),
    include_str!("../headers/qwen3.8-27b-ggml-org-q4_k_m.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-q8_0.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-q6_k.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-q5_k_m.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-q4_k_m.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-ud-q4_k_xl.tsv"),
    include_str!("../headers/qwen3.8-27b-unsloth-q4_0.tsv"),
];

/// The public checkpoints, in `index.tsv`'s order.
///
/// A line of the embedded text that did not parse would be missing here; tests
/// prove that none is.
pub static HEADERS: LazyLock<Vec<HeaderFile>> = LazyLock::new(|| {
    rows(INDEX).zip(TABLES).filter_map(|(row, table)| HeaderFile::parse(row, table)).collect()
});

/// A public checkpoint whose tensor table is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFile {
    /// The name that this project calls it by.
    pub name: &'static str,
    /// The repository and file name that it was published under.
    pub file: &'static str,
    /// The tensors in its table.
    pub tensors: usize,
    /// The published file's exact size in bytes.
    pub file_bytes: u64,
    /// Where in the published file the tensors' data starts, in bytes.
    pub data_start: u64,
    /// `qwen35.block_count`.
    pub block_count: u64,
    /// `qwen35.nextn_predict_layers`: how many of the blocks only draft.
    pub nextn_predict_layers: u64,
    /// `qwen35.full_attention_interval`.
    pub full_attention_interval: u64,
    table: &'static str,
}

impl HeaderFile {
    fn parse(row: &'static str, table: &'static str) -> Option<HeaderFile> {
        let mut columns = row.split('\t');
        let name = columns.next()?;
        let tensors = columns.next()?.parse().ok()?;
        let file = columns.next()?;
        let mut number = || columns.next()?.parse::<u64>().ok();
        Some(HeaderFile {
            name,
            file,
            tensors,
            file_bytes: number()?,
            data_start: number()?,
            block_count: number()?,
            nextn_predict_layers: number()?,
            full_attention_interval: number()?,
            table,
        })
    }

    /// The tensor table, with the metadata that the step reads. O(tensors).
    pub fn table(&self) -> TensorTable {
        let metadata = [
            ("block_count", self.block_count),
            ("nextn_predict_layers", self.nextn_predict_layers),
            ("full_attention_interval", self.full_attention_interval),
            ("ssm.conv_kernel", CONV_KERNEL),
        ];
        let mut tensors = Vec::with_capacity(self.tensors);
        tensors.extend(rows(self.table).filter_map(tensor));
        TensorTable {
            architecture: Some(ARCHITECTURE.to_owned()),
            metadata: metadata
                .into_iter()
                .map(|(key, value)| (format!("{ARCHITECTURE}.{key}"), Meta::Integer(value.into())))
                .collect(),
            tensors,
        }
    }
}

/// The one of [`HEADERS`] with this name.
pub fn find(name: &str) -> Option<&'static HeaderFile> {
    HEADERS.iter().find(|header| header.name == name)
}

/// The one of [`HEADERS`] with these tensors: the same names, formats and dims,
/// in any order. A checkpoint's file name is never believed. Trailing dims of 1
/// say nothing. O(tensors × log tensors) for the table, once a header of its
/// length.
pub fn recognise(table: &TensorTable) -> Option<&'static HeaderFile> {
    let mut sorted = None;
    HEADERS.iter().filter(|header| header.tensors == table.tensors.len()).find(|header| {
        let sorted = sorted.get_or_insert_with(|| identities(table));
        *sorted == identities(&header.table())
    })
}

/// What a tensor is recognised by, sorted by name.
fn identities(table: &TensorTable) -> Vec<(&str, Format, &[u64])> {
    let mut all: Vec<_> = table
        .tensors
        .iter()
        .map(|tensor| (tensor.name.as_str(), tensor.format, significant(&tensor.dims)))
        .collect();
    all.sort_unstable();
    all
}

/// The dims without trailing ones, the first kept.
fn significant(mut dims: &[u64]) -> &[u64] {
    while let [rest @ .., 1] = dims
        && !rest.is_empty()
    {
        dims = rest;
    }
    dims
}

/// The lines of a table below its heading.
fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().skip(1)
}

fn tensor(row: &str) -> Option<TensorEntry> {
    let mut columns = row.split('\t');
    let name = columns.next()?;
    let format = Format::from_name(columns.next()?)?;
    let dims =
        columns.next()?.split(',').map(|dim| dim.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some(TensorEntry { name: name.to_owned(), format, dims, kernel: false, streamed: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GGUF's default alignment, which all of the published files keep.
    const ALIGNMENT: u64 = 32;

    /// The size of a file with these tensors from `data_start` on.
    fn laid_out(data_start: u64, table: &TensorTable) -> u64 {
        table.tensors.iter().fold(data_start, |at, tensor| {
            let block = tensor.format.block().unwrap();
            let elements: u64 = tensor.dims.iter().product();
            at.next_multiple_of(ALIGNMENT) + elements / block.elems * block.bytes
        })
    }

    #[test]
    fn the_tables_lay_out_to_the_published_sizes() {
        assert_eq!(HEADERS.len(), rows(INDEX).count());
        assert_eq!(HEADERS.len(), TABLES.len());
        for header in HEADERS.iter() {
            let table = header.table();
            assert_eq!(laid_out(header.data_start, &table), header.file_bytes, "{}", header.name);
            assert_eq!(table.tensors.len(), header.tensors, "{}", header.name);
            assert_eq!(rows(header.table).count(), header.tensors, "{}", header.name);
            assert_eq!(header.tensors, if header.nextn_predict_layers == 1 { 866 } else { 851 });
            assert_eq!(table.metadata.len(), 4);
            assert_eq!(
                table.metadata["qwen35.block_count"],
                Meta::Integer(header.block_count.into())
            );
        }
    }

    #[test]
    fn a_lost_tensor_or_a_wrong_format_changes_the_size() {
        for header in HEADERS.iter() {
            let mut table = header.table();
            table.tensors.remove(2);
            assert_ne!(laid_out(header.data_start, &table), header.file_bytes);
            let mut table = header.table();
            table.tensors[2].format = Format::F32;
            assert_ne!(laid_out(header.data_start, &table), header.file_bytes);
        }
    }

    #[test]
    fn every_kernel_has_the_taps_that_the_metadata_says() {
        for header in HEADERS.iter() {
            let table = header.table();
            let taps: Vec<u64> = table
                .tensors
                .iter()
                .filter(|t| t.name.ends_with(".ssm_conv1d.weight"))
                .map(|t| t.dims[0])
                .collect();
            assert_eq!(taps, [CONV_KERNEL; 48], "{}", header.name);
            assert_eq!(table.metadata["qwen35.ssm.conv_kernel"], Meta::Integer(CONV_KERNEL.into()));
        }
    }

    #[test]
    fn names_are_found_and_unique() {
        for (i, header) in HEADERS.iter().enumerate() {
            assert_eq!(find(header.name), Some(header));
            assert!(HEADERS.iter().skip(i + 1).all(|other| other.name != header.name));
        }
        assert_eq!(find("qwen3.8-27b"), None);
    }

    #[test]
    fn a_table_is_recognised_in_any_order_and_only_when_all_of_it_agrees() {
        for header in HEADERS.iter() {
            let mut table = header.table();
            assert_eq!(recognise(&table), Some(header));
            table.tensors.reverse();
            table.architecture = None;
            table.tensors[0].dims.push(1);
            assert_eq!(recognise(&table), Some(header));

            let mut other = table.clone();
            other.tensors[100].format = Format::from_id(148);
            assert_eq!(recognise(&other), None);
            let mut other = table.clone();
            other.tensors[100].dims[0] += 1;
            assert_eq!(recognise(&other), None);
            let mut other = table.clone();
            other.tensors[100].name.push('x');
            assert_eq!(recognise(&other), None);
            table.tensors.pop();
            assert_eq!(recognise(&table), None);
        }
        assert_eq!(recognise(&TensorTable::default()), None);
    }
}
