// CRC-32C of every tile, and its check word.
//
// A tile's words, first to last, are a polynomial over GF(2) whose remainder
// modulo P (Castagnoli's) is sought. LANES lanes share a tile: lane t owns
// words t, t + LANES, …: a polynomial in y = x^(32 LANES). Since 32 LANES is a
// power of two, P(x) divides P(y), and a lane first reduces modulo P(y), whose
// coefficients are single bits: a word folds into the words that come
// 32 - e after it, for each of the 17 exponents e < 32 of P. That is 17 XORs
// a word, with no table and no shift. What is left, 32 words a lane, a
// short Horner scheme takes to one word; then the lanes are weighed with
// powers of x by how many words come after theirs, and added.
//
// Every word here is reflected: bit 31 is the coefficient of x^0.
//
// Zeros in front change no remainder, so a tile is filled up at its front to
// whole blocks of 32 LANES words. The register's all-ones start is a term
// of its own that depends on nothing but the tile's length.

// Invocations of a workgroup.
const INVOCATIONS: u32 = 64u;
// P without x^32.
const POLYNOMIAL: u32 = 0x82f63b78u;
// Words that are left of a lane: the degree of P.
const DEGREE: u32 = 32u;

// Lanes that share a tile: a power of two, INVOCATIONS at most.
override LANES: u32 = 8u;

struct CrcTile {
    // Word among the channel words where the tile starts.
    first: u32,
    // Words that the CRC covers: all but the check word.
    words: u32,
    // The all-ones start times x^(32 words) modulo P, final inversion included.
    start: u32,
    // 1 where the CRC is also written behind the words it covers, else 0.
    check: u32,
}

struct Weights {
    // y * x^i modulo P, for i from 0 to 31, four to an entry.
    advance: array<vec4<u32>, 8>,
    // By lane, four to an entry: x^(32 (LANES - t)) / y^32 modulo P.
    lanes: array<vec4<u32>, 16>,
}

@group(0) @binding(0) var<storage, read_write> channel: array<u32>;
@group(0) @binding(1) var<storage, read> tiles: array<CrcTile>;
// By tile: its CRC.
@group(0) @binding(2) var<storage, read_write> crcs: array<u32>;
@group(0) @binding(3) var<uniform> weights: Weights;

// By invocation: its part of its tile's remainder.
var<workgroup> parts: array<u32, INVOCATIONS>;

// `factor` where bit `i` of `bits`, counted from the top, is set.
fn times_bit(bits: u32, i: u32, factor: u32) -> u32 {
    return factor & (0u - ((bits >> (31u - i)) & 1u));
}

// `value` * y modulo P.
fn advanced(value: u32) -> u32 {
    var product = 0u;
    product ^= times_bit(value, 0u, weights.advance[0][0]);
    product ^= times_bit(value, 1u, weights.advance[0][1]);
    product ^= times_bit(value, 2u, weights.advance[0][2]);
    product ^= times_bit(value, 3u, weights.advance[0][3]);
    product ^= times_bit(value, 4u, weights.advance[1][0]);
    product ^= times_bit(value, 5u, weights.advance[1][1]);
    product ^= times_bit(value, 6u, weights.advance[1][2]);
    product ^= times_bit(value, 7u, weights.advance[1][3]);
    product ^= times_bit(value, 8u, weights.advance[2][0]);
    product ^= times_bit(value, 9u, weights.advance[2][1]);
    product ^= times_bit(value, 10u, weights.advance[2][2]);
    product ^= times_bit(value, 11u, weights.advance[2][3]);
    product ^= times_bit(value, 12u, weights.advance[3][0]);
    product ^= times_bit(value, 13u, weights.advance[3][1]);
    product ^= times_bit(value, 14u, weights.advance[3][2]);
    product ^= times_bit(value, 15u, weights.advance[3][3]);
    product ^= times_bit(value, 16u, weights.advance[4][0]);
    product ^= times_bit(value, 17u, weights.advance[4][1]);
    product ^= times_bit(value, 18u, weights.advance[4][2]);
    product ^= times_bit(value, 19u, weights.advance[4][3]);
    product ^= times_bit(value, 20u, weights.advance[5][0]);
    product ^= times_bit(value, 21u, weights.advance[5][1]);
    product ^= times_bit(value, 22u, weights.advance[5][2]);
    product ^= times_bit(value, 23u, weights.advance[5][3]);
    product ^= times_bit(value, 24u, weights.advance[6][0]);
    product ^= times_bit(value, 25u, weights.advance[6][1]);
    product ^= times_bit(value, 26u, weights.advance[6][2]);
    product ^= times_bit(value, 27u, weights.advance[6][3]);
    product ^= times_bit(value, 28u, weights.advance[7][0]);
    product ^= times_bit(value, 29u, weights.advance[7][1]);
    product ^= times_bit(value, 30u, weights.advance[7][2]);
    product ^= times_bit(value, 31u, weights.advance[7][3]);
    return product;
}

// `a` * `b` modulo P.
fn product(a: u32, b: u32) -> u32 {
    var sum = 0u;
    var shifted = b;
    for (var i = 0u; i < 32u; i += 1u) {
        sum ^= times_bit(a, i, shifted);
        shifted = (shifted >> 1u) ^ (POLYNOMIAL & (0u - (shifted & 1u)));
    }
    return sum;
}

// Word `at` of a tile filled up with `fill` zero words at its front.
fn word_of(first: u32, fill: u32, at: u32) -> u32 {
    return select(0u, channel[first + max(at, fill) - fill], at >= fill);
}

// What is left of a lane: the coefficients of y^31 down to y^0.
fn folded(first: u32, fill: u32, blocks: u32, lane: u32) -> array<u32, DEGREE> {
    var s0 = 0u;
    var s1 = 0u;
    var s2 = 0u;
    var s3 = 0u;
    var s4 = 0u;
    var s5 = 0u;
    var s6 = 0u;
    var s7 = 0u;
    var s8 = 0u;
    var s9 = 0u;
    var s10 = 0u;
    var s11 = 0u;
    var s12 = 0u;
    var s13 = 0u;
    var s14 = 0u;
    var s15 = 0u;
    var s16 = 0u;
    var s17 = 0u;
    var s18 = 0u;
    var s19 = 0u;
    var s20 = 0u;
    var s21 = 0u;
    var s22 = 0u;
    var s23 = 0u;
    var s24 = 0u;
    var s25 = 0u;
    var s26 = 0u;
    var s27 = 0u;
    var s28 = 0u;
    var s29 = 0u;
    var s30 = 0u;
    var s31 = 0u;
    for (var block = 0u; block < blocks; block += 1u) {
        let at = block * DEGREE * LANES + lane;
        s0 ^= word_of(first, fill, at + 0u * LANES) ^ s28 ^ s27 ^ s26 ^ s25 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s14 ^ s13 ^ s11 ^ s10 ^ s9 ^ s8 ^ s6;
        s1 ^= word_of(first, fill, at + 1u * LANES) ^ s29 ^ s28 ^ s27 ^ s26 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s15 ^ s14 ^ s12 ^ s11 ^ s10 ^ s9 ^ s7;
        s2 ^= word_of(first, fill, at + 2u * LANES) ^ s30 ^ s29 ^ s28 ^ s27 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s16 ^ s15 ^ s13 ^ s12 ^ s11 ^ s10 ^ s8;
        s3 ^= word_of(first, fill, at + 3u * LANES) ^ s31 ^ s30 ^ s29 ^ s28 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s17 ^ s16 ^ s14 ^ s13 ^ s12 ^ s11 ^ s9;
        s4 ^= word_of(first, fill, at + 4u * LANES) ^ s0 ^ s31 ^ s30 ^ s29 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s18 ^ s17 ^ s15 ^ s14 ^ s13 ^ s12 ^ s10;
        s5 ^= word_of(first, fill, at + 5u * LANES) ^ s1 ^ s0 ^ s31 ^ s30 ^ s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s19 ^ s18 ^ s16 ^ s15 ^ s14 ^ s13 ^ s11;
        s6 ^= word_of(first, fill, at + 6u * LANES) ^ s2 ^ s1 ^ s0 ^ s31 ^ s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s20 ^ s19 ^ s17 ^ s16 ^ s15 ^ s14 ^ s12;
        s7 ^= word_of(first, fill, at + 7u * LANES) ^ s3 ^ s2 ^ s1 ^ s0 ^ s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s21 ^ s20 ^ s18 ^ s17 ^ s16 ^ s15 ^ s13;
        s8 ^= word_of(first, fill, at + 8u * LANES) ^ s4 ^ s3 ^ s2 ^ s1 ^ s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s22 ^ s21 ^ s19 ^ s18 ^ s17 ^ s16 ^ s14;
        s9 ^= word_of(first, fill, at + 9u * LANES) ^ s5 ^ s4 ^ s3 ^ s2 ^ s0 ^ s31 ^ s29 ^ s28 ^ s27 ^ s23 ^ s22 ^ s20 ^ s19 ^ s18 ^ s17 ^ s15;
        s10 ^= word_of(first, fill, at + 10u * LANES) ^ s6 ^ s5 ^ s4 ^ s3 ^ s1 ^ s0 ^ s30 ^ s29 ^ s28 ^ s24 ^ s23 ^ s21 ^ s20 ^ s19 ^ s18 ^ s16;
        s11 ^= word_of(first, fill, at + 11u * LANES) ^ s7 ^ s6 ^ s5 ^ s4 ^ s2 ^ s1 ^ s31 ^ s30 ^ s29 ^ s25 ^ s24 ^ s22 ^ s21 ^ s20 ^ s19 ^ s17;
        s12 ^= word_of(first, fill, at + 12u * LANES) ^ s8 ^ s7 ^ s6 ^ s5 ^ s3 ^ s2 ^ s0 ^ s31 ^ s30 ^ s26 ^ s25 ^ s23 ^ s22 ^ s21 ^ s20 ^ s18;
        s13 ^= word_of(first, fill, at + 13u * LANES) ^ s9 ^ s8 ^ s7 ^ s6 ^ s4 ^ s3 ^ s1 ^ s0 ^ s31 ^ s27 ^ s26 ^ s24 ^ s23 ^ s22 ^ s21 ^ s19;
        s14 ^= word_of(first, fill, at + 14u * LANES) ^ s10 ^ s9 ^ s8 ^ s7 ^ s5 ^ s4 ^ s2 ^ s1 ^ s0 ^ s28 ^ s27 ^ s25 ^ s24 ^ s23 ^ s22 ^ s20;
        s15 ^= word_of(first, fill, at + 15u * LANES) ^ s11 ^ s10 ^ s9 ^ s8 ^ s6 ^ s5 ^ s3 ^ s2 ^ s1 ^ s29 ^ s28 ^ s26 ^ s25 ^ s24 ^ s23 ^ s21;
        s16 ^= word_of(first, fill, at + 16u * LANES) ^ s12 ^ s11 ^ s10 ^ s9 ^ s7 ^ s6 ^ s4 ^ s3 ^ s2 ^ s30 ^ s29 ^ s27 ^ s26 ^ s25 ^ s24 ^ s22;
        s17 ^= word_of(first, fill, at + 17u * LANES) ^ s13 ^ s12 ^ s11 ^ s10 ^ s8 ^ s7 ^ s5 ^ s4 ^ s3 ^ s31 ^ s30 ^ s28 ^ s27 ^ s26 ^ s25 ^ s23;
        s18 ^= word_of(first, fill, at + 18u * LANES) ^ s14 ^ s13 ^ s12 ^ s11 ^ s9 ^ s8 ^ s6 ^ s5 ^ s4 ^ s0 ^ s31 ^ s29 ^ s28 ^ s27 ^ s26 ^ s24;
        s19 ^= word_of(first, fill, at + 19u * LANES) ^ s15 ^ s14 ^ s13 ^ s12 ^ s10 ^ s9 ^ s7 ^ s6 ^ s5 ^ s1 ^ s0 ^ s30 ^ s29 ^ s28 ^ s27 ^ s25;
        s20 ^= word_of(first, fill, at + 20u * LANES) ^ s16 ^ s15 ^ s14 ^ s13 ^ s11 ^ s10 ^ s8 ^ s7 ^ s6 ^ s2 ^ s1 ^ s31 ^ s30 ^ s29 ^ s28 ^ s26;
        s21 ^= word_of(first, fill, at + 21u * LANES) ^ s17 ^ s16 ^ s15 ^ s14 ^ s12 ^ s11 ^ s9 ^ s8 ^ s7 ^ s3 ^ s2 ^ s0 ^ s31 ^ s30 ^ s29 ^ s27;
        s22 ^= word_of(first, fill, at + 22u * LANES) ^ s18 ^ s17 ^ s16 ^ s15 ^ s13 ^ s12 ^ s10 ^ s9 ^ s8 ^ s4 ^ s3 ^ s1 ^ s0 ^ s31 ^ s30 ^ s28;
        s23 ^= word_of(first, fill, at + 23u * LANES) ^ s19 ^ s18 ^ s17 ^ s16 ^ s14 ^ s13 ^ s11 ^ s10 ^ s9 ^ s5 ^ s4 ^ s2 ^ s1 ^ s0 ^ s31 ^ s29;
        s24 ^= word_of(first, fill, at + 24u * LANES) ^ s20 ^ s19 ^ s18 ^ s17 ^ s15 ^ s14 ^ s12 ^ s11 ^ s10 ^ s6 ^ s5 ^ s3 ^ s2 ^ s1 ^ s0 ^ s30;
        s25 ^= word_of(first, fill, at + 25u * LANES) ^ s21 ^ s20 ^ s19 ^ s18 ^ s16 ^ s15 ^ s13 ^ s12 ^ s11 ^ s7 ^ s6 ^ s4 ^ s3 ^ s2 ^ s1 ^ s31;
        s26 ^= word_of(first, fill, at + 26u * LANES) ^ s22 ^ s21 ^ s20 ^ s19 ^ s17 ^ s16 ^ s14 ^ s13 ^ s12 ^ s8 ^ s7 ^ s5 ^ s4 ^ s3 ^ s2 ^ s0;
        s27 ^= word_of(first, fill, at + 27u * LANES) ^ s23 ^ s22 ^ s21 ^ s20 ^ s18 ^ s17 ^ s15 ^ s14 ^ s13 ^ s9 ^ s8 ^ s6 ^ s5 ^ s4 ^ s3 ^ s1;
        s28 ^= word_of(first, fill, at + 28u * LANES) ^ s24 ^ s23 ^ s22 ^ s21 ^ s19 ^ s18 ^ s16 ^ s15 ^ s14 ^ s10 ^ s9 ^ s7 ^ s6 ^ s5 ^ s4 ^ s2;
        s29 ^= word_of(first, fill, at + 29u * LANES) ^ s25 ^ s24 ^ s23 ^ s22 ^ s20 ^ s19 ^ s17 ^ s16 ^ s15 ^ s11 ^ s10 ^ s8 ^ s7 ^ s6 ^ s5 ^ s3;
        s30 ^= word_of(first, fill, at + 30u * LANES) ^ s26 ^ s25 ^ s24 ^ s23 ^ s21 ^ s20 ^ s18 ^ s17 ^ s16 ^ s12 ^ s11 ^ s9 ^ s8 ^ s7 ^ s6 ^ s4;
        s31 ^= word_of(first, fill, at + 31u * LANES) ^ s27 ^ s26 ^ s25 ^ s24 ^ s22 ^ s21 ^ s19 ^ s18 ^ s17 ^ s13 ^ s12 ^ s10 ^ s9 ^ s8 ^ s7 ^ s5;
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
    return array<u32, DEGREE>(
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
        let blocks = (tile.words + DEGREE * LANES - 1u) / (DEGREE * LANES);
        let fill = blocks * DEGREE * LANES - tile.words;
        var left = folded(tile.first, fill, blocks, lane);
        var remainder = left[0];
        for (var i = 1u; i < DEGREE; i += 1u) {
            remainder = advanced(remainder) ^ left[i];
        }
        parts[invocation] = product(remainder, weights.lanes[lane / 4u][lane % 4u]);
    }
    workgroupBarrier();
    if exists && lane == 0u {
        var crc = tile.start;
        for (var i = 0u; i < LANES; i += 1u) {
            crc ^= parts[invocation + i];
        }
        crcs[number] = crc;
        if tile.check == 1u {
            channel[tile.first + tile.words] = crc;
        }
    }
}
