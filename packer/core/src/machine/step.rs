//! The step of an architecture, as data: which tensors one decode of one token
//! reads, in which order, in which shape. Adding an architecture is adding a
//! table here.

/// What a job does with its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads one row: a token's embedding.
    Gather,
    /// Root mean square norm's weights.
    Norm,
    /// A matrix times a vector through the card's array: a streamed tensor.
    Matvec,
    /// A causal convolution over the last tokens: a kernel.
    Convolution,
    /// A bias, added.
    Add,
    /// A factor, multiplied.
    Multiply,
}

/// A size that tensors of a step share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// Hidden, over the whole model.
    E,
    /// Vocabulary, over the whole model.
    V,
    /// Taps, over the whole model: from the metadata where it says.
    K,
    /// Feed-forward; this and the rest may differ between blocks.
    F,
    /// Channels of the convolution.
    C,
    /// Heads of the delta net.
    H,
    /// State of a head of the delta net.
    S,
    /// All query heads together.
    Q,
    /// All key heads together.
    Kv,
    /// One attention head.
    N,
}

impl Size {
    /// How many sizes there are.
    pub(crate) const COUNT: usize = 10;

    /// Whether the size is the whole model's and not a block's.
    pub(crate) fn is_global(self) -> bool {
        matches!(self, E | V | K)
    }
}

/// One dim: a factor times the product of sizes.
#[derive(Debug)]
pub(crate) struct Dim(pub(crate) u64, pub(crate) &'static [Size]);

/// A tensor that the step reads.
#[derive(Debug)]
pub(crate) struct StepTensor {
    /// The name, after `blk.N.` within a block.
    pub(crate) name: &'static str,
    /// The job that reads it.
    pub(crate) op: Op,
    /// Its dims, innermost first.
    pub(crate) dims: &'static [Dim],
}

/// The step of an architecture.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) architecture: &'static str,
    /// Before the blocks. The first tensor may be tied to the last job.
    pub(crate) first: &'static [StepTensor],
    /// Every block's, before its mixer.
    pub(crate) head: &'static [StepTensor],
    /// A recurrent block's mixer.
    pub(crate) recurrent: &'static [StepTensor],
    /// An attention block's mixer.
    pub(crate) attention: &'static [StepTensor],
    /// Every block's, after its mixer.
    pub(crate) tail: &'static [StepTensor],
    /// After the blocks.
    pub(crate) last: &'static [StepTensor],
    /// The last job's tensor; where it is absent the job streams `first`'s.
    pub(crate) output: StepTensor,
    /// In a block, the first size divides the second.
    pub(crate) divides: &'static [(Size, Size)],
    /// Every such block is attention, unless the metadata says otherwise.
    pub(crate) full_attention_interval: u64,
}

/// Architectures that have a step.
pub(crate) const KNOWN: &str = "qwen35";

/// The step of an architecture.
pub(crate) fn step(architecture: &str) -> Option<&'static Step> {
    [&QWEN35].into_iter().find(|step| step.architecture == architecture)
}

const fn t(name: &'static str, op: Op, dims: &'static [Dim]) -> StepTensor {
    StepTensor { name, op, dims }
}

use Op::{Add, Convolution, Gather, Matvec, Multiply, Norm};
use Size::{C, E, F, H, K, Kv, N, Q, S, V};

/// qwen35: one sequence, one position. The order is the one in which
/// llama.cpp's decode graph first reads the tensors.
static QWEN35: Step = Step {
    architecture: "qwen35",
    first: &[t("token_embd.weight", Gather, &[Dim(1, &[E]), Dim(1, &[V])])],
    head: &[t("attn_norm.weight", Norm, &[Dim(1, &[E])])],
    recurrent: &[
        t("attn_qkv.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[C])]),
        t("ssm_conv1d.weight", Convolution, &[Dim(1, &[K]), Dim(1, &[C])]),
        t("ssm_alpha.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[H])]),
        t("ssm_dt.bias", Add, &[Dim(1, &[H])]),
        t("ssm_a", Multiply, &[Dim(1, &[H])]),
        t("ssm_beta.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[H])]),
        t("ssm_norm.weight", Norm, &[Dim(1, &[S])]),
        t("attn_gate.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[H, S])]),
        t("ssm_out.weight", Matvec, &[Dim(1, &[H, S]), Dim(1, &[E])]),
    ],
    attention: &[
        t("attn_q.weight", Matvec, &[Dim(1, &[E]), Dim(2, &[Q])]),
        t("attn_q_norm.weight", Norm, &[Dim(1, &[N])]),
        t("attn_v.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[Kv])]),
        t("attn_k.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[Kv])]),
        t("attn_k_norm.weight", Norm, &[Dim(1, &[N])]),
        t("attn_output.weight", Matvec, &[Dim(1, &[Q]), Dim(1, &[E])]),
    ],
    tail: &[
        t("post_attention_norm.weight", Norm, &[Dim(1, &[E])]),
        t("ffn_gate.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[F])]),
        t("ffn_up.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[F])]),
        t("ffn_down.weight", Matvec, &[Dim(1, &[F]), Dim(1, &[E])]),
    ],
    last: &[t("output_norm.weight", Norm, &[Dim(1, &[E])])],
    output: t("output.weight", Matvec, &[Dim(1, &[E]), Dim(1, &[V])]),
    divides: &[(N, Q), (N, Kv)],
    full_attention_interval: 4,
};
