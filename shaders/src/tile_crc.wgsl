// CRC-32C of every tile, and its check word.
//
// A tile's words, first to last, are a polynomial over GF(2) whose remainder
// modulo P (Castagnoli's) is sought. LANES lanes share a tile. Lane t owns the
// vectors of four words t, t + LANES, …, which are four polynomials in
// y = x^(128 LANES), one a component. Since 128 LANES is a power of two, P(x)
// divides P(y), and a lane first reduces modulo P(y), whose coefficients are
// single bits: a word folds into the words that come 32 - e vectors of the
// lane after it, for each of the 17 exponents e < 32 of P. That is 17 XORs a
// word, with no table and no shift. What is left, 32 vectors a lane, a short
// Horner scheme takes to one; then all are weighed with powers of x by how
// many words come after theirs, and added.
//
// Every word here is reflected: bit 31 is the coefficient of x^0.
//
// Vectors lie where the buffer has them, so a tile may start and end inside
// one. Zeros in front change no remainder: a tile is filled up at its front to
// whole blocks of 32 vectors a lane. Up to three words behind it count as
// zeros and are taken back by a power of x. The register's all-ones start is a
// term of its own that depends on nothing but the tile's length.

// Invocations of a workgroup.
const INVOCATIONS: u32 = 64u;
// P without x^32.
const POLYNOMIAL: u32 = 0x82f63b78u;
// Vectors that are left of a lane: the degree of P.
const DEGREE: u32 = 32u;

// Lanes that share a tile: a power of two, INVOCATIONS at most.
override LANES: u32 = 8u;

struct CrcTile {
    // Word among the channel words where the tile starts.
    first: u32,
    // Words that the CRC covers: all but the check word.
    words: u32,
    // The CRC-32C of as many zeros: what the all-ones start comes to.
    start: u32,
    // 1 where the CRC is also written behind the words it covers, else 0.
    check: u32,
}

struct Weights {
    // y * x^i modulo P, for i from 0 to 31, four to an entry.
    advance: array<vec4<u32>, 8>,
    // x^(-32 n) modulo P, for the n from 0 to 3 words of a last vector that
    // are behind a tile.
    behind: vec4<u32>,
    // By lane t and component c: x^(32 (4 (LANES - t) - c)) / y^32 modulo P.
    lanes: array<vec4<u32>, 64>,
}

// The window's channel bytes and up to three words more.
@group(0) @binding(0) var<storage, read_write> channel: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> tiles: array<CrcTile>;
// By tile: its CRC.
@group(0) @binding(2) var<storage, read_write> crcs: array<u32>;
@group(0) @binding(3) var<uniform> weights: Weights;

// By invocation: its part of its tile's remainder.
var<workgroup> parts: array<u32, INVOCATIONS>;

// `factor` in each component whose bit `i`, counted from the top, is set.
fn times_bit(bits: vec4<u32>, i: u32, factor: vec4<u32>) -> vec4<u32> {
    return factor & (vec4(0u) - ((bits >> vec4(31u - i)) & vec4(1u)));
}

// `value` * y modulo P, by component.
fn advanced(value: vec4<u32>) -> vec4<u32> {
    var product = vec4(0u);
    product ^= times_bit(value, 0u, vec4(weights.advance[0][0]));
    product ^= times_bit(value, 1u, vec4(weights.advance[0][1]));
    product ^= times_bit(value, 2u, vec4(weights.advance[0][2]));
    product ^= times_bit(value, 3u, vec4(weights.advance[0][3]));
    product ^= times_bit(value, 4u, vec4(weights.advance[1][0]));
    product ^= times_bit(value, 5u, vec4(weights.advance[1][1]));
    product ^= times_bit(value, 6u, vec4(weights.advance[1][2]));
    product ^= times_bit(value, 7u, vec4(weights.advance[1][3]));
    product ^= times_bit(value, 8u, vec4(weights.advance[2][0]));
    product ^= times_bit(value, 9u, vec4(weights.advance[2][1]));
    product ^= times_bit(value, 10u, vec4(weights.advance[2][2]));
    product ^= times_bit(value, 11u, vec4(weights.advance[2][3]));
    product ^= times_bit(value, 12u, vec4(weights.advance[3][0]));
    product ^= times_bit(value, 13u, vec4(weights.advance[3][1]));
    product ^= times_bit(value, 14u, vec4(weights.advance[3][2]));
    product ^= times_bit(value, 15u, vec4(weights.advance[3][3]));
    product ^= times_bit(value, 16u, vec4(weights.advance[4][0]));
    product ^= times_bit(value, 17u, vec4(weights.advance[4][1]));
    product ^= times_bit(value, 18u, vec4(weights.advance[4][2]));
    product ^= times_bit(value, 19u, vec4(weights.advance[4][3]));
    product ^= times_bit(value, 20u, vec4(weights.advance[5][0]));
    product ^= times_bit(value, 21u, vec4(weights.advance[5][1]));
    product ^= times_bit(value, 22u, vec4(weights.advance[5][2]));
    product ^= times_bit(value, 23u, vec4(weights.advance[5][3]));
    product ^= times_bit(value, 24u, vec4(weights.advance[6][0]));
    product ^= times_bit(value, 25u, vec4(weights.advance[6][1]));
    product ^= times_bit(value, 26u, vec4(weights.advance[6][2]));
    product ^= times_bit(value, 27u, vec4(weights.advance[6][3]));
    product ^= times_bit(value, 28u, vec4(weights.advance[7][0]));
    product ^= times_bit(value, 29u, vec4(weights.advance[7][1]));
    product ^= times_bit(value, 30u, vec4(weights.advance[7][2]));
    product ^= times_bit(value, 31u, vec4(weights.advance[7][3]));
    return product;
}

// `a` * `b` modulo P, by component.
fn product(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    var sum = vec4(0u);
    var shifted = b;
    for (var i = 0u; i < 32u; i += 1u) {
        sum ^= times_bit(a, i, shifted);
        shifted = (shifted >> vec4(1u)) ^ times_bit(shifted, 31u, vec4(POLYNOMIAL));
    }
    return sum;
}

// Vector `at` of the channel words, zeros where it is not words `first` to
// `end`. Before the buffer's start `at` is past its end.
fn within(at: u32, first: u32, end: u32) -> vec4<u32> {
    let word = vec4(at * 4u) + vec4(0u, 1u, 2u, 3u);
    let inside = (word >= vec4(first)) & (word < vec4(end));
    return select(vec4(0u), channel[at], inside);
}

// What is left of a lane of the tile of words `first` to `end`: the
// coefficients of y^31 down to y^0.
fn folded(first: u32, end: u32, blocks: u32, lane: u32) -> array<vec4<u32>, DEGREE> {
    var s0 = vec4(0u);
    var s1 = vec4(0u);
    var s2 = vec4(0u);
    var s3 = vec4(0u);
    var s4 = vec4(0u);
    var s5 = vec4(0u);
    var s6 = vec4(0u);
    var s7 = vec4(0u);
    var s8 = vec4(0u);
    var s9 = vec4(0u);
    var s10 = vec4(0u);
    var s11 = vec4(0u);
    var s12 = vec4(0u);
    var s13 = vec4(0u);
    var s14 = vec4(0u);
    var s15 = vec4(0u);
    var s16 = vec4(0u);
    var s17 = vec4(0u);
    var s18 = vec4(0u);
    var s19 = vec4(0u);
    var s20 = vec4(0u);
    var s21 = vec4(0u);
    var s22 = vec4(0u);
    var s23 = vec4(0u);
    var s24 = vec4(0u);
    var s25 = vec4(0u);
    var s26 = vec4(0u);
    var s27 = vec4(0u);
    var s28 = vec4(0u);
    var s29 = vec4(0u);
    var s30 = vec4(0u);
    var s31 = vec4(0u);
    var w: array<vec4<u32>, DEGREE>;
    var at = (end + 3u) / 4u - blocks * DEGREE * LANES + lane;
    for (var block = 0u; block < blocks; block += 1u) {
        // Only the first and the last block can hold what is not the tile's.
        if block == 0u || block == blocks - 1u {
            w[0] = within(at + 0u * LANES, first, end);
            w[1] = within(at + 1u * LANES, first, end);
            w[2] = within(at + 2u * LANES, first, end);
            w[3] = within(at + 3u * LANES, first, end);
            w[4] = within(at + 4u * LANES, first, end);
            w[5] = within(at + 5u * LANES, first, end);
            w[6] = within(at + 6u * LANES, first, end);
            w[7] = within(at + 7u * LANES, first, end);
            w[8] = within(at + 8u * LANES, first, end);
            w[9] = within(at + 9u * LANES, first, end);
            w[10] = within(at + 10u * LANES, first, end);
            w[11] = within(at + 11u * LANES, first, end);
            w[12] = within(at + 12u * LANES, first, end);
            w[13] = within(at + 13u * LANES, first, end);
            w[14] = within(at + 14u * LANES, first, end);
            w[15] = within(at + 15u * LANES, first, end);
            w[16] = within(at + 16u * LANES, first, end);
            w[17] = within(at + 17u * LANES, first, end);
            w[18] = within(at + 18u * LANES, first, end);
            w[19] = within(at + 19u * LANES, first, end);
            w[20] = within(at + 20u * LANES, first, end);
            w[21] = within(at + 21u * LANES, first, end);
            w[22] = within(at + 22u * LANES, first, end);
            w[23] = within(at + 23u * LANES, first, end);
            w[24] = within(at + 24u * LANES, first, end);
            w[25] = within(at + 25u * LANES, first, end);
            w[26] = within(at + 26u * LANES, first, end);
            w[27] = within(at + 27u * LANES, first, end);
            w[28] = within(at + 28u * LANES, first, end);
            w[29] = within(at + 29u * LANES, first, end);
            w[30] = within(at + 30u * LANES, first, end);
            w[31] = within(at + 31u * LANES, first, end);
        } else {
            w[0] = channel[at + 0u * LANES];
            w[1] = channel[at + 1u * LANES];
            w[2] = channel[at + 2u * LANES];
            w[3] = channel[at + 3u * LANES];
            w[4] = channel[at + 4u * LANES];
            w[5] = channel[at + 5u * LANES];
            w[6] = channel[at + 6u * LANES];
            w[7] = channel[at + 7u * LANES];
            w[8] = channel[at + 8u * LANES];
            w[9] = channel[at + 9u * LANES];
            w[10] = channel[at + 10u * LANES];
            w[11] = channel[at + 11u * LANES];
            w[12] = channel[at + 12u * LANES];
            w[13] = channel[at + 13u * LANES];
            w[14] = channel[at + 14u * LANES];
            w[15] = channel[at + 15u * LANES];
            w[16] = channel[at + 16u * LANES];
            w[17] = channel[at + 17u * LANES];
            w[18] = channel[at + 18u * LANES];
            w[19] = channel[at + 19u * LANES];
            w[20] = channel[at + 20u * LANES];
            w[21] = channel[at + 21u * LANES];
            w[22] = channel[at + 22u * LANES];
            w[23] = channel[at + 23u * LANES];
            w[24] = channel[at + 24u * LANES];
            w[25] = channel[at + 25u * LANES];
            w[26] = channel[at + 26u * LANES];
            w[27] = channel[at + 27u * LANES];
            w[28] = channel[at + 28u * LANES];
            w[29] = channel[at + 29u * LANES];
            w[30] = channel[at + 30u * LANES];
            w[31] = channel[at + 31u * LANES];
        }
        at += DEGREE * LANES;
        s0 ^= w[0] ^ s28 ^ s27 ^ s26 ^ s25 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s14 ^ s13 ^ s11 ^ s10 ^ s9 ^ s8 ^ s6;
        s1 ^= w[1] ^ s29 ^ s28 ^ s27 ^ s26 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s15 ^ s14 ^ s12 ^ s11 ^ s10 ^ s9 ^ s7;
        s2 ^= w[2] ^ s30 ^ s29 ^ s28 ^ s27 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s16 ^ s15 ^ s13 ^ s12 ^ s11 ^ s10 ^ s8;
        s3 ^= w[3] ^ s31 ^ s30 ^ s29 ^ s28 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s17 ^ s16 ^ s14 ^ s13 ^ s12 ^ s11 ^ s9;
        s4 ^= w[4] ^ s0 ^ s31 ^ s30 ^ s29 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s18 ^ s17 ^ s15 ^ s14 ^ s13 ^ s12 ^ s10;
        s5 ^= w[5] ^ s1 ^ s0 ^ s31 ^ s30 ^ s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s19 ^ s18 ^ s16 ^ s15 ^ s14 ^ s13 ^ s11;
        s6 ^= w[6] ^ s2 ^ s1 ^ s0 ^ s31 ^ s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s20 ^ s19 ^ s17 ^ s16 ^ s15 ^ s14 ^ s12;
        s7 ^= w[7] ^ s3 ^ s2 ^ s1 ^ s0 ^ s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s21 ^ s20 ^ s18 ^ s17 ^ s16 ^ s15 ^ s13;
        s8 ^= w[8] ^ s4 ^ s3 ^ s2 ^ s1 ^ s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s22 ^ s21 ^ s19 ^ s18 ^ s17 ^ s16 ^ s14;
        s9 ^= w[9] ^ s5 ^ s4 ^ s3 ^ s2 ^ s0 ^ s31 ^ s29 ^ s28 ^ s27 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s17 ^ s15;
        s10 ^= w[10] ^ s6 ^ s5 ^ s4 ^ s3 ^ s1 ^ s0 ^ s30 ^ s29 ^ s28 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s18 ^ s16;
        s11 ^= w[11] ^ s7 ^ s6 ^ s5 ^ s4 ^ s2 ^ s1 ^ s31 ^ s30 ^ s29 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s19 ^ s17;
        s12 ^= w[12] ^ s8 ^ s7 ^ s6 ^ s5 ^ s3 ^ s2 ^ s0 ^ s31 ^ s30 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s20 ^ s18;
        s13 ^= w[13] ^ s9 ^ s8 ^ s7 ^ s6 ^ s4 ^ s3 ^ s1 ^ s0 ^ s31 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s21 ^ s19;
        s14 ^= w[14] ^ s10 ^ s9 ^ s8 ^ s7 ^ s5 ^ s4 ^ s2 ^ s1 ^ s0 ^ s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s22 ^ s20;
        s15 ^= w[15] ^ s11 ^ s10 ^ s9 ^ s8 ^ s6 ^ s5 ^ s3 ^ s2 ^ s1 ^ s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s23 ^ s21;
        s16 ^= w[16] ^ s12 ^ s11 ^ s10 ^ s9 ^ s7 ^ s6 ^ s4 ^ s3 ^ s2 ^ s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s24 ^ s22;
        s17 ^= w[17] ^ s13 ^ s12 ^ s11 ^ s10 ^ s8 ^ s7 ^ s5 ^ s4 ^ s3 ^ s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s25 ^ s23;
        s18 ^= w[18] ^ s14 ^ s13 ^ s12 ^ s11 ^ s9 ^ s8 ^ s6 ^ s5 ^ s4 ^ s0 ^ s31 ^ s29 ^ s28 ^ s27 ^ s26 ^ s24;
        s19 ^= w[19] ^ s15 ^ s14 ^ s13 ^ s12 ^ s10 ^ s9 ^ s7 ^ s6 ^ s5 ^ s1 ^ s0 ^ s30 ^ s29 ^ s28 ^ s27 ^ s25;
        s20 ^= w[20] ^ s16 ^ s15 ^ s14 ^ s13 ^ s11 ^ s10 ^ s8 ^ s7 ^ s6 ^ s2 ^ s1 ^ s31 ^ s30 ^ s29 ^ s28 ^ s26;
        s21 ^= w[21] ^ s17 ^ s16 ^ s15 ^ s14 ^ s12 ^ s11 ^ s9 ^ s8 ^ s7 ^ s3 ^ s2 ^ s0 ^ s31 ^ s30 ^ s29 ^ s27;
        s22 ^= w[22] ^ s18 ^ s17 ^ s16 ^ s15 ^ s13 ^ s12 ^ s10 ^ s9 ^ s8 ^ s4 ^ s3 ^ s1 ^ s0 ^ s31 ^ s30 ^ s28;
        s23 ^= w[23] ^ s19 ^ s18 ^ s17 ^ s16 ^ s14 ^ s13 ^ s11 ^ s10 ^ s9 ^ s5 ^ s4 ^ s2 ^ s1 ^ s0 ^ s31 ^ s29;
        s24 ^= w[24] ^ s20 ^ s19 ^ s18 ^ s17 ^ s15 ^ s14 ^ s12 ^ s11 ^ s10 ^ s6 ^ s5 ^ s3 ^ s2 ^ s1 ^ s0 ^ s30;
        s25 ^= w[25] ^ s21 ^ s20 ^ s19 ^ s18 ^ s16 ^ s15 ^ s13 ^ s12 ^ s11 ^ s7 ^ s6 ^ s4 ^ s3 ^ s2 ^ s1 ^ s31;
        s26 ^= w[26] ^ s22 ^ s21 ^ s20 ^ s19 ^ s17 ^ s16 ^ s14 ^ s13 ^ s12 ^ s8 ^ s7 ^ s5 ^ s4 ^ s3 ^ s2 ^ s0;
        s27 ^= w[27] ^ s23 ^ s22 ^ s21 ^ s20 ^ s18 ^ s17 ^ s15 ^ s14 ^ s13 ^ s9 ^ s8 ^ s6 ^ s5 ^ s4 ^ s3 ^ s1;
        s28 ^= w[28] ^ s24 ^ s23 ^ s22 ^ s21 ^ s19 ^ s18 ^ s16 ^ s15 ^ s14 ^ s10 ^ s9 ^ s7 ^ s6 ^ s5 ^ s4 ^ s2;
        s29 ^= w[29] ^ s25 ^ s24 ^ s23 ^ s22 ^ s20 ^ s19 ^ s17 ^ s16 ^ s15 ^ s11 ^ s10 ^ s8 ^ s7 ^ s6 ^ s5 ^ s3;
        s30 ^= w[30] ^ s26 ^ s25 ^ s24 ^ s23 ^ s21 ^ s20 ^ s18 ^ s17 ^ s16 ^ s12 ^ s11 ^ s9 ^ s8 ^ s7 ^ s6 ^ s4;
        s31 ^= w[31] ^ s27 ^ s26 ^ s25 ^ s24 ^ s22 ^ s21 ^ s19 ^ s18 ^ s17 ^ s13 ^ s12 ^ s10 ^ s9 ^ s8 ^ s7 ^ s5;
    }
    // Once more, with zeros for words and nothing folded into what is left:
    // the remainder times y^32, which the lanes' weights take back.
    s0 ^= s28 ^ s27 ^ s26 ^ s25 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s14 ^ s13 ^ s11 ^ s10 ^ s9 ^ s8 ^ s6;
    s1 ^= s29 ^ s28 ^ s27 ^ s26 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s15 ^ s14 ^ s12 ^ s11 ^ s10 ^ s9 ^ s7;
    s2 ^= s30 ^ s29 ^ s28 ^ s27 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s16 ^ s15 ^ s13 ^ s12 ^ s11 ^ s10 ^ s8;
    s3 ^= s31 ^ s30 ^ s29 ^ s28 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s17 ^ s16 ^ s14 ^ s13 ^ s12 ^ s11 ^ s9;
    s4 ^= s31 ^ s30 ^ s29 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s18 ^ s17 ^ s15 ^ s14 ^ s13 ^ s12 ^ s10;
    s5 ^= s31 ^ s30 ^ s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s19 ^ s18 ^ s16 ^ s15 ^ s14 ^ s13 ^ s11;
    s6 ^= s31 ^ s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s20 ^ s19 ^ s17 ^ s16 ^ s15 ^ s14 ^ s12;
    s7 ^= s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s21 ^ s20 ^ s18 ^ s17 ^ s16 ^ s15 ^ s13;
    s8 ^= s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s22 ^ s21 ^ s19 ^ s18 ^ s17 ^ s16 ^ s14;
    s9 ^= s31 ^ s29 ^ s28 ^ s27 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s17 ^ s15;
    s10 ^= s30 ^ s29 ^ s28 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s18 ^ s16;
    s11 ^= s31 ^ s30 ^ s29 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s19 ^ s17;
    s12 ^= s31 ^ s30 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s20 ^ s18;
    s13 ^= s31 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s21 ^ s19;
    s14 ^= s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s22 ^ s20;
    s15 ^= s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s23 ^ s21;
    s16 ^= s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s24 ^ s22;
    s17 ^= s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s25 ^ s23;
    s18 ^= s31 ^ s29 ^ s28 ^ s27 ^ s26 ^ s24;
    s19 ^= s30 ^ s29 ^ s28 ^ s27 ^ s25;
    s20 ^= s31 ^ s30 ^ s29 ^ s28 ^ s26;
    s21 ^= s31 ^ s30 ^ s29 ^ s27;
    s22 ^= s31 ^ s30 ^ s28;
    s23 ^= s31 ^ s29;
    s24 ^= s30;
    s25 ^= s31;
    return array<vec4<u32>, DEGREE>(
        s0, s1, s2, s3, s4, s5, s6, s7,
        s8, s9, s10, s11, s12, s13, s14, s15,
        s16, s17, s18, s19, s20, s21, s22, s23,
        s24, s25, s26, s27, s28, s29, s30, s31,
    );
}

@compute @workgroup_size(INVOCATIONS)
fn tile_crc(
    @builtin(workgroup_id) id: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    // More than 65535 workgroups lie in two dimensions.
    let group = id.y * grid.x + id.x;
    let number = group * (INVOCATIONS / LANES) + invocation / LANES;
    let lane = invocation % LANES;
    var tile = CrcTile(0u, 0u, 0u, 0u);
    let exists = number < arrayLength(&tiles);
    if exists {
        tile = tiles[number];
        let end = tile.first + tile.words;
        let vectors = (end + 3u) / 4u - tile.first / 4u;
        let blocks = (vectors + DEGREE * LANES - 1u) / (DEGREE * LANES);
        var left = folded(tile.first, end, blocks, lane);
        var remainder = left[0];
        for (var i = 1u; i < DEGREE; i += 1u) {
            remainder = advanced(remainder) ^ left[i];
        }
        let part = product(remainder, weights.lanes[lane]);
        parts[invocation] = part.x ^ part.y ^ part.z ^ part.w;
    }
    workgroupBarrier();
    if exists && lane == 0u {
        var sum = 0u;
        for (var i = 0u; i < LANES; i += 1u) {
            sum ^= parts[invocation + i];
        }
        let end = tile.first + tile.words;
        let behind = (4u - end % 4u) % 4u;
        if behind > 0u {
            sum = product(vec4(sum), vec4(weights.behind[behind])).x;
        }
        let crc = sum ^ tile.start;
        crcs[number] = crc;
        if tile.check == 1u {
            channel[end / 4u][end % 4u] = crc;
        }
    }
}
