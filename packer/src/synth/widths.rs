//! The widths of a qwen35 checkpoint, and how a scale narrows them.

use wimg_core::TensorTable;

/// Every row has a multiple of this many elements: whole blocks of any format.
const WHOLE_BLOCKS: u64 = 256;
/// Up to this scale the delta nets keep their width.
const DELTA_NET_SCALE: u64 = 20;
/// The vocabulary's least size: the 256 bytes, and as many tokens again.
const VOCAB_LEAST: u64 = 512;

/// The widths of one block's tensors, in elements (SPEC names in brackets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widths {
    /// The embedding \[E\].
    pub(crate) embed: u64,
    /// The vocabulary \[V\].
    pub(crate) vocab: u64,
    /// The feed-forward layer \[F\].
    pub(crate) ffn: u64,
    /// A convolution kernel's taps \[K\].
    pub(crate) taps: u64,
    /// The delta net's key heads.
    pub(crate) groups: u64,
    /// The delta net's value heads \[H\].
    pub(crate) heads: u64,
    /// A delta net head \[S\].
    pub(crate) state: u64,
    /// Attention's query heads.
    pub(crate) query_heads: u64,
    /// Attention's key and value heads.
    pub(crate) kv_heads: u64,
    /// An attention head \[N\].
    pub(crate) head: u64,
}

/// One dimension of a tensor, as a function of the widths.
type Axis = fn(&Widths) -> u64;

impl Widths {
    /// The widths of this table, or none if it is not a whole qwen35 table.
    pub(crate) fn of(table: &TensorTable) -> Option<Widths> {
        let dim = |suffix: &str, axis: usize| {
            table
                .tensors
                .iter()
                .find(|t| role(&t.name) == suffix)
                .and_then(|t| t.dims.get(axis))
                .copied()
        };
        let head = dim("attn_q_norm.weight", 0)?;
        let state = dim("ssm_norm.weight", 0)?;
        let heads = dim("ssm_a", 0)?;
        let keys = dim("attn_qkv.weight", 1)?.checked_sub(heads.checked_mul(state)?)?;
        Some(Widths {
            embed: dim("token_embd.weight", 0)?,
            vocab: dim("token_embd.weight", 1)?,
            ffn: dim("ffn_gate.weight", 1)?,
            taps: dim("ssm_conv1d.weight", 0)?,
            groups: keys.checked_div(state.checked_mul(2)?)?,
            heads,
            state,
            query_heads: dim("attn_output.weight", 0)?.checked_div(head)?,
            kv_heads: dim("attn_k.weight", 1)?.checked_div(head)?,
            head,
        })
    }

    /// These widths at a scale of `n`, of the first block or of any other.
    pub(crate) fn narrow(&self, n: u64, first: bool) -> Widths {
        let whole = |width: u64| width.div_ceil(n).next_multiple_of(WHOLE_BLOCKS);
        let query_heads = self.query_heads.div_ceil(n);
        let kv_heads = self.kv_heads.div_ceil(n);
        let mut narrow = Widths {
            embed: whole(self.embed),
            vocab: self.vocab.div_ceil(n).max(VOCAB_LEAST),
            ffn: whole(self.ffn),
            // Every key and value head serves the same number of query heads.
            query_heads: query_heads.next_multiple_of(kv_heads),
            kv_heads,
            ..*self
        };
        if n > DELTA_NET_SCALE && !first {
            narrow.groups = self.groups.div_ceil(n);
            // Rows of H·S elements are whole blocks when there are two heads of 128.
            narrow.heads = self.heads.div_ceil(n).next_multiple_of(2 * narrow.groups);
        }
        narrow
    }

    /// The delta net's value width \[H·S\].
    pub(crate) fn inner(&self) -> u64 {
        self.heads * self.state
    }

    /// The delta net's channels \[C\]: queries, keys and values.
    pub(crate) fn channels(&self) -> u64 {
        2 * self.groups * self.state + self.inner()
    }

    /// Attention's width \[Q\].
    pub(crate) fn query(&self) -> u64 {
        self.query_heads * self.head
    }

    /// The dims of the tensor with this name, or none if qwen35 has no such.
    pub(crate) fn dims(&self, name: &str) -> Option<Vec<u64>> {
        let role = role(name);
        let (_, axes) = ROLES.iter().find(|(suffix, _)| *suffix == role)?;
        Some(axes.iter().map(|axis| axis(self)).collect())
    }
}

const EMBED: Axis = |w| w.embed;
const FFN: Axis = |w| w.ffn;
const HEADS: Axis = |w| w.heads;
const HEAD: Axis = |w| w.head;
const KEY_VALUE: Axis = |w| w.kv_heads * w.head;

/// The dims of every tensor of qwen35, by the name within its block.
const ROLES: &[(&str, &[Axis])] = &[
    ("token_embd.weight", &[EMBED, |w| w.vocab]),
    ("output.weight", &[EMBED, |w| w.vocab]),
    ("output_norm.weight", &[EMBED]),
    ("attn_norm.weight", &[EMBED]),
    ("post_attention_norm.weight", &[EMBED]),
    ("ffn_gate.weight", &[EMBED, FFN]),
    ("ffn_up.weight", &[EMBED, FFN]),
    ("ffn_down.weight", &[FFN, EMBED]),
    ("attn_qkv.weight", &[EMBED, Widths::channels]),
    ("attn_gate.weight", &[EMBED, Widths::inner]),
    ("ssm_conv1d.weight", &[|w| w.taps, Widths::channels]),
    ("ssm_alpha.weight", &[EMBED, HEADS]),
    ("ssm_beta.weight", &[EMBED, HEADS]),
    ("ssm_dt.bias", &[HEADS]),
    ("ssm_a", &[HEADS]),
    ("ssm_norm.weight", &[|w| w.state]),
    ("ssm_out.weight", &[Widths::inner, EMBED]),
    ("attn_q.weight", &[EMBED, |w| 2 * w.query()]),
    ("attn_k.weight", &[EMBED, KEY_VALUE]),
    ("attn_v.weight", &[EMBED, KEY_VALUE]),
    ("attn_q_norm.weight", &[HEAD]),
    ("attn_k_norm.weight", &[HEAD]),
    ("attn_output.weight", &[Widths::query, EMBED]),
    ("nextn.eh_proj.weight", &[|w| 2 * w.embed, EMBED]),
    ("nextn.enorm.weight", &[EMBED]),
    ("nextn.hnorm.weight", &[EMBED]),
    ("nextn.shared_head_norm.weight", &[EMBED]),
];

/// A tensor's name without its block.
fn role(name: &str) -> &str {
    match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        Some((_, role)) => role,
        None => name,
    }
}

/// The block of a tensor's name.
pub(crate) fn block(name: &str) -> Option<u64> {
    name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok()
}
