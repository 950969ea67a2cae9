// Kernels to tap-major: a tile's image rows, each a piece of a tap, gathered
// from the whole kernel, then zeros.
//
// An invocation owns whole words of the window's channel bytes and writes
// every one of them. A workgroup packs a chunk of LANES * STEPS words of one
// tile; its invocations own every LANES-th word. Kernels are the least part of
// a checkpoint, so that a word finds its elements by division.

// Invocations of a workgroup.
const LANES: u32 = 64u;
// Words that an invocation owns.
const STEPS: u32 = 16u;

struct TransposeTile {
    // Byte among the source bytes where the whole kernel starts: any byte.
    source: u32,
    // Word among the channel words where the tile starts.
    dest: u32,
    // Bytes of its rows.
    bytes: u32,
    // Words of its lines.
    words: u32,
    // Number of the workgroup that packs its first chunk.
    first_group: u32,
    // Taps: the source has a channel's taps together.
    taps: u32,
    // Pieces of a tap.
    pieces: u32,
    // Channels of a piece: the elements of an image row.
    channels: u32,
    // The tile's first image row; row `tap * pieces + k` is piece k of a tap.
    first_row: u32,
    // Bytes of an element: 1, 2, 4 or 8.
    elem_bytes: u32,
}

// The window's source bytes and at least one word more.
@group(0) @binding(0) var<storage, read> source: array<u32>;
// The window's channel bytes.
@group(0) @binding(1) var<storage, read_write> channel: array<u32>;
@group(0) @binding(2) var<storage, read> tiles: array<TransposeTile>;
// By workgroup: its tile.
@group(0) @binding(3) var<storage, read> groups: array<u32>;

// The four bytes at a byte of the source bytes.
fn bytes_at(at: u32) -> u32 {
    let word = at >> 2u;
    let shift = (at & 3u) * 8u;
    // A shift by 32 would be one by 0, so the upper part is shifted twice.
    return (source[word] >> shift) | ((source[word + 1u] << 1u) << (31u - shift));
}

// The first `count` of four bytes, zeros after them.
fn keep(bytes: u32, count: u32) -> u32 {
    return select(bytes & ((1u << (count * 8u)) - 1u), bytes, count >= 4u);
}

// Byte among the source bytes of a byte of the tile's rows.
fn origin(tile: TransposeTile, byte: u32) -> u32 {
    let element = byte / tile.elem_bytes;
    let row = element / tile.channels;
    let tap = (tile.first_row + row) / tile.pieces;
    let piece = tile.first_row + row - tap * tile.pieces;
    let channel_at = piece * tile.channels + element - row * tile.channels;
    let index = channel_at * tile.taps + tap;
    return tile.source + index * tile.elem_bytes + byte - element * tile.elem_bytes;
}

@compute @workgroup_size(64)
fn transpose(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // More than 65535 workgroups lie in two dimensions.
    let group = id.y * grid.x + id.x;
    if group >= arrayLength(&groups) {
        return;
    }
    let tile = tiles[groups[group]];
    let chunk = (group - tile.first_group) * (LANES * STEPS);
    let end = min(chunk + LANES * STEPS, tile.words);
    // Bytes of a word that lie together in the source.
    let unit = min(tile.elem_bytes, 4u);
    for (var word = chunk + lane; word < end; word += LANES) {
        var bytes = 0u;
        for (var byte = word * 4u; byte < min(word * 4u + 4u, tile.bytes); byte += unit) {
            bytes |= keep(bytes_at(origin(tile, byte)), unit) << ((byte & 3u) * 8u);
        }
        channel[tile.dest + word] = bytes;
    }
}
