// Striped tiles: for each block, for each row, that row's block and zeros up
// to the slot; then zeros. An octet is a block of 272 bytes.
//
// An invocation owns whole words of the window's channel bytes and writes
// every one of them. A workgroup packs a chunk of LANES * STEPS words of one
// tile; its invocations own every LANES-th word. A place in a tile is a block,
// a row and a byte within the slot: found by division for an invocation's
// first word, and from there by adding LANES words and carrying.

// Invocations of a workgroup.
const LANES: u32 = 64u;
// Words that an invocation owns.
const STEPS: u32 = 16u;

struct StripeTile {
    // Byte among the source bytes where the tile's rows start: any byte.
    source: u32,
    // Word among the channel words where the tile starts.
    dest: u32,
    // Words of its lines.
    words: u32,
    // Number of the workgroup that packs its first chunk.
    first_group: u32,
    // Rows of the tile.
    rows: u32,
    // Blocks of a row.
    blocks: u32,
    // Bytes of a row in the source.
    row_bytes: u32,
    // Bytes of a block.
    block_bytes: u32,
    // Bytes from a block to the next in the tile.
    slot_bytes: u32,
    // LANES words as blocks, rows (fewer than the tile's) and bytes (fewer
    // than a slot's).
    step_blocks: u32,
    step_rows: u32,
    step_bytes: u32,
}

// The window's source bytes and at least one word more.
@group(0) @binding(0) var<storage, read> source: array<u32>;
// The window's channel bytes.
@group(0) @binding(1) var<storage, read_write> channel: array<u32>;
@group(0) @binding(2) var<storage, read> tiles: array<StripeTile>;
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

// A tile's word from a place on, put together from the slots it touches: one
// or two, or up to four where slots are a byte or two.
fn gather(tile: StripeTile, block_at: u32, row_at: u32, within_at: u32) -> u32 {
    var block = block_at;
    var row = row_at;
    var within = within_at;
    var word = 0u;
    var filled = 0u;
    loop {
        if block < tile.blocks && within < tile.block_bytes {
            let at = tile.source + row * tile.row_bytes + block * tile.block_bytes + within;
            word |= keep(bytes_at(at), tile.block_bytes - within) << (filled * 8u);
        }
        filled += tile.slot_bytes - within;
        if filled >= 4u {
            break;
        }
        within = 0u;
        row += 1u;
        if row == tile.rows {
            row = 0u;
            block += 1u;
        }
    }
    return word;
}

@compute @workgroup_size(64)
fn stripe(
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
    let slots = (chunk + lane) * 4u / tile.slot_bytes;
    var within = (chunk + lane) * 4u - slots * tile.slot_bytes;
    var block = slots / tile.rows;
    var row = slots - block * tile.rows;
    for (var word = chunk + lane; word < end; word += LANES) {
        channel[tile.dest + word] = gather(tile, block, row, within);
        within += tile.step_bytes;
        row += tile.step_rows;
        block += tile.step_blocks;
        if within >= tile.slot_bytes {
            within -= tile.slot_bytes;
            row += 1u;
        }
        if row >= tile.rows {
            row -= tile.rows;
            block += 1u;
        }
    }
}
