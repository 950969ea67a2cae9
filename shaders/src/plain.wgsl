// Rows of plain tiles: a tile's source bytes end to end, then zeros.
//
// An invocation owns whole words of the window's channel bytes and writes
// every one of them. A workgroup packs a chunk of LANES * STEPS words of one
// tile; its invocations own every LANES-th word, so that neighbours touch
// neighbouring words.

// Invocations of a workgroup.
const LANES: u32 = 64u;
// Words that an invocation owns.
const STEPS: u32 = 16u;

struct PlainTile {
    // Byte among the source bytes where the tile's rows start: any byte.
    source: u32,
    // Word among the channel words where the tile starts.
    dest: u32,
    // Bytes of its rows.
    bytes: u32,
    // Words of its lines.
    words: u32,
    // Number of the workgroup that packs its first chunk.
    first_group: u32,
}

// The window's source bytes and at least one word more.
@group(0) @binding(0) var<storage, read> source: array<u32>;
// The window's channel bytes.
@group(0) @binding(1) var<storage, read_write> channel: array<u32>;
@group(0) @binding(2) var<storage, read> tiles: array<PlainTile>;
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

@compute @workgroup_size(64)
fn plain(
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
    let end = chunk + LANES * STEPS;
    if end * 4u > tile.bytes {
        // The chunk where the rows end: words of their last bytes, and zeros.
        for (var word = chunk + lane; word < min(end, tile.words); word += LANES) {
            var bytes = 0u;
            if word * 4u < tile.bytes {
                bytes = keep(bytes_at(tile.source + word * 4u), tile.bytes - word * 4u);
            }
            channel[tile.dest + word] = bytes;
        }
    } else if (tile.source & 3u) == 0u {
        let origin = tile.source / 4u;
        for (var word = chunk + lane; word < end; word += 4u * LANES) {
            let a = source[origin + word];
            let b = source[origin + word + LANES];
            let c = source[origin + word + 2u * LANES];
            let d = source[origin + word + 3u * LANES];
            let to = tile.dest + word;
            channel[to] = a;
            channel[to + LANES] = b;
            channel[to + 2u * LANES] = c;
            channel[to + 3u * LANES] = d;
        }
    } else {
        for (var word = chunk + lane; word < end; word += 4u * LANES) {
            let at = tile.source + word * 4u;
            let a = bytes_at(at);
            let b = bytes_at(at + 4u * LANES);
            let c = bytes_at(at + 8u * LANES);
            let d = bytes_at(at + 12u * LANES);
            let to = tile.dest + word;
            channel[to] = a;
            channel[to + LANES] = b;
            channel[to + 2u * LANES] = c;
            channel[to + 3u * LANES] = d;
        }
    }
}
