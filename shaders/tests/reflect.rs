//! The WGSL against the host's mirrors of it: structs, constants, bindings and
//! workgroup sizes, as naga reads them.

#![expect(clippy::panic, clippy::expect_used, reason = "what naga cannot read fails the test")]

use std::collections::BTreeMap;
use std::mem::offset_of;

use naga::front::wgsl;
use naga::{AddressSpace, Expression, Literal, Module, TypeInner};
use wimg_shaders::{plain, stripe, tile_crc, transpose};

/// A struct's name, its size, and its fields' names and offsets.
type Struct = (&'static str, usize, Vec<(&'static str, usize)>);

/// What the host believes of a shader.
#[derive(Clone)]
struct Mirror {
    source: String,
    entry: &'static str,
    workgroup: u32,
    constants: Vec<(&'static str, u32)>,
    overrides: Vec<&'static str>,
    structs: Vec<Struct>,
    /// By binding: the address space's words and the array's element or the struct.
    bindings: Vec<(&'static str, &'static str)>,
}

macro_rules! fields {
    ($of:ty: $($field:ident),+) => {
        (size_of::<$of>(), vec![$((stringify!($field), offset_of!($of, $field))),+])
    };
}

fn structure(name: &'static str, (size, fields): (usize, Vec<(&'static str, usize)>)) -> Struct {
    (name, size, fields)
}

fn packer(source: &str, entry: &'static str, lanes: u32, steps: u32, tile: Struct) -> Mirror {
    Mirror {
        source: source.to_owned(),
        entry,
        workgroup: lanes,
        constants: vec![("LANES", lanes), ("STEPS", steps)],
        overrides: vec![],
        bindings: vec![("read", "u32"), ("read_write", "u32"), ("read", tile.0), ("read", "u32")],
        structs: vec![tile],
    }
}

fn mirrors() -> Vec<Mirror> {
    let plain_tile =
        structure("PlainTile", fields!(plain::PlainTile: source, dest, bytes, words, first_group));
    let stripe_tile = structure(
        "StripeTile",
        fields!(stripe::StripeTile: source, dest, words, first_group, rows, blocks, row_bytes,
            block_bytes, slot_bytes, step_blocks, step_rows, step_bytes),
    );
    let transpose_tile = structure(
        "TransposeTile",
        fields!(transpose::TransposeTile: source, dest, bytes, words, first_group, taps, pieces,
            channels, first_row, elem_bytes),
    );
    let crc_tile = structure("CrcTile", fields!(tile_crc::CrcTile: first, words, start, check));
    let weights = structure("Weights", fields!(tile_crc::Weights: advance, behind, lanes));
    vec![
        packer(plain::SOURCE, plain::ENTRY, plain::LANES, plain::STEPS, plain_tile),
        packer(stripe::SOURCE, stripe::ENTRY, stripe::LANES, stripe::STEPS, stripe_tile),
        packer(
            transpose::SOURCE,
            transpose::ENTRY,
            transpose::LANES,
            transpose::STEPS,
            transpose_tile,
        ),
        Mirror {
            source: tile_crc::SOURCE.to_owned(),
            entry: tile_crc::ENTRY,
            workgroup: tile_crc::INVOCATIONS,
            constants: vec![
                ("INVOCATIONS", tile_crc::INVOCATIONS),
                ("POLYNOMIAL", tile_crc::POLYNOMIAL),
                ("DEGREE", tile_crc::DEGREE),
            ],
            overrides: vec![tile_crc::LANES],
            structs: vec![crc_tile, weights],
            bindings: vec![
                ("read_write", "vec4<u32>"),
                ("read", "CrcTile"),
                ("read_write", "u32"),
                ("uniform", "Weights"),
            ],
        },
    ]
}

fn constants(module: &Module) -> BTreeMap<String, u32> {
    let value = |constant: &naga::Constant| match module.global_expressions[constant.init] {
        Expression::Literal(Literal::U32(value)) => value,
        _ => panic!("a constant is no u32"),
    };
    module.constants.iter().map(|(_, c)| (c.name.clone().unwrap_or_default(), value(c))).collect()
}

fn type_name(module: &Module, ty: naga::Handle<naga::Type>) -> String {
    match &module.types[ty].inner {
        TypeInner::Array { base, .. } => type_name(module, *base),
        TypeInner::Scalar(naga::Scalar::U32) => "u32".to_owned(),
        TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::U32 } => {
            "vec4<u32>".to_owned()
        }
        _ => module.types[ty].name.clone().unwrap_or_default(),
    }
}

fn space_name(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Uniform => "uniform",
        AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
            "read_write"
        }
        AddressSpace::Storage { .. } => "read",
        _ => "other",
    }
}

/// Where a shader and the host's mirror of it are not of one mind.
fn disagreements(mirror: &Mirror) -> Vec<String> {
    let module = wgsl::parse_str(&mirror.source).expect("the shader parses");
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    validator.validate(&module).expect("the shader is valid without any extension");
    let mut found = Vec::new();
    let mut compare = |what: String, shader: String, host: String| {
        if shader != host {
            found.push(format!("{what}: the shader has {shader}, the host {host}"));
        }
    };
    assert_eq!(module.entry_points.len(), 1);
    let entry = &module.entry_points[0];
    compare("entry".into(), entry.name.clone(), mirror.entry.into());
    let size = format!("{:?}", entry.workgroup_size);
    compare("workgroup".into(), size, format!("{:?}", [mirror.workgroup, 1, 1]));
    let host = mirror.constants.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
    compare(
        "constants".into(),
        format!("{:?}", constants(&module)),
        format!("{:?}", BTreeMap::<String, u32>::clone(&host)),
    );
    let overrides: Vec<_> = module.overrides.iter().filter_map(|(_, o)| o.name.clone()).collect();
    compare("overrides".into(), format!("{overrides:?}"), format!("{:?}", mirror.overrides));
    let structs: Vec<_> = module
        .types
        .iter()
        .filter_map(|(_, ty)| match &ty.inner {
            TypeInner::Struct { members, span } => {
                let fields: Vec<_> = members
                    .iter()
                    .map(|m| (m.name.clone().unwrap_or_default(), m.offset))
                    .collect();
                Some((ty.name.clone().unwrap_or_default(), *span, fields))
            }
            _ => None,
        })
        .collect();
    compare("structs".into(), format!("{structs:?}"), format!("{:?}", mirror.structs));
    let bindings: BTreeMap<_, _> = module
        .global_variables
        .iter()
        .filter_map(|(_, v)| {
            let binding = v.binding.as_ref()?;
            assert_eq!(binding.group, 0);
            Some((binding.binding, (space_name(v.space), type_name(&module, v.ty))))
        })
        .collect();
    let host: BTreeMap<_, _> =
        (0u32..).zip(mirror.bindings.iter().map(|&(space, ty)| (space, ty.to_owned()))).collect();
    compare("bindings".into(), format!("{bindings:?}"), format!("{host:?}"));
    found
}

#[test]
fn the_mirrors_are_the_shaders() {
    let mirrors = mirrors();
    assert_eq!(mirrors.len(), 4);
    for mirror in &mirrors {
        assert_eq!(disagreements(mirror), Vec::<String>::new(), "{}", mirror.entry);
    }
}

#[test]
fn a_mirror_notices_sabotage_of_either_side() {
    let sabotages = [
        ("    source: u32,", "    origin: u32,"),
        ("    source: u32,", "    @size(8) source: u32,"),
        ("STEPS: u32 = 16u", "STEPS: u32 = 8u"),
        ("@workgroup_size(64)", "@workgroup_size(128)"),
        ("@binding(3)", "@binding(4)"),
        ("var<storage, read> groups", "var<storage, read_write> groups"),
    ];
    let plain = &mirrors()[0];
    for (from, to) in sabotages {
        let mut mirror = plain.clone();
        mirror.source = plain.source.replace(from, to);
        assert_ne!(mirror.source, plain.source, "`{from}` is not in the shader");
        if to.contains("origin") {
            mirror.source = mirror.source.replace("tile.source", "tile.origin");
        }
        assert_eq!(disagreements(&mirror).len(), 1, "`{from}`");
    }
    let mut mirror = plain.clone();
    mirror.structs[0].2[1].1 += 4;
    assert_eq!(disagreements(&mirror).len(), 1);
    let mut mirror = plain.clone();
    mirror.constants[0].1 += 1;
    assert_eq!(disagreements(&mirror).len(), 1);
}

#[test]
fn no_shader_needs_an_extension() {
    for mirror in mirrors() {
        for word in ["enable", "subgroup", "u64", "f16", "requires"] {
            let code = mirror.source.lines().filter(|line| !line.trim_start().starts_with("//"));
            assert_eq!(code.filter(|line| line.contains(word)).count(), 0, "`{word}`");
        }
    }
}
