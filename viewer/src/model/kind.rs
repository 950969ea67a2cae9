//! What the map's colours can mean: a tensor's role, format, block or itself.

use wimg_core::TensorEntry;

/// What the colours of the map mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourBy {
    /// What a tensor is for.
    #[default]
    Role,
    /// Its ggml format.
    Format,
    /// The block it belongs to.
    Block,
    /// Which tensor it is.
    Tensor,
}

impl ColourBy {
    /// All of them.
    pub const ALL: [ColourBy; 4] =
        [ColourBy::Role, ColourBy::Format, ColourBy::Block, ColourBy::Tensor];

    /// The word in a link, which is the one on the page too.
    pub fn word(self) -> &'static str {
        match self {
            ColourBy::Role => "role",
            ColourBy::Format => "format",
            ColourBy::Block => "block",
            ColourBy::Tensor => "tensor",
        }
    }

    /// What a word means.
    pub fn from_word(word: &str) -> Option<ColourBy> {
        ColourBy::ALL.into_iter().find(|colour| colour.word() == word)
    }
}

/// What a tensor is for, by its name as llama.cpp gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A feed-forward matrix.
    FeedForward,
    /// A matrix of a gated delta net.
    DeltaNet,
    /// A matrix of full attention.
    Attention,
    /// The token embedding.
    Embedding,
    /// The output matrix.
    Output,
    /// A norm, a bias, a kernel: small, and read whole at once.
    Small,
    /// Anything else.
    Other,
}

impl Role {
    /// All roles, in the legend's order.
    pub const ALL: [Role; 7] = [
        Role::FeedForward,
        Role::DeltaNet,
        Role::Attention,
        Role::Embedding,
        Role::Output,
        Role::Small,
        Role::Other,
    ];

    /// A tensor's role.
    pub fn of(tensor: &TensorEntry) -> Role {
        let name = tensor.name.as_str();
        let part = match block(name) {
            Some(_) => name.splitn(3, '.').nth(2).unwrap_or_default(),
            None => name,
        };
        let stem = part.split('.').next().unwrap_or_default();
        let matrix = tensor.dims.iter().skip(1).any(|&dim| dim > 1) && !tensor.kernel;
        match stem {
            "token_embd" => Role::Embedding,
            "output" => Role::Output,
            _ if !matrix || stem.ends_with("_norm") || stem == "ssm_conv1d" => Role::Small,
            _ if stem.starts_with("ffn_") => Role::FeedForward,
            "attn_qkv" | "attn_gate" => Role::DeltaNet,
            _ if stem.starts_with("ssm_") => Role::DeltaNet,
            _ if stem.starts_with("attn_") => Role::Attention,
            _ => Role::Other,
        }
    }

    /// The word of the legend.
    pub fn word(self) -> &'static str {
        match self {
            Role::FeedForward => "feed forward",
            Role::DeltaNet => "gated delta net",
            Role::Attention => "attention",
            Role::Embedding => "embedding",
            Role::Output => "output",
            Role::Small => "norms, biases, kernels",
            Role::Other => "other",
        }
    }
}

/// The number of the block that a tensor's name says: `blk.N.…`.
pub fn block(name: &str) -> Option<u64> {
    name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok()
}

/// By tensor of an image: the class that its colour shows, and the legend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// By tensor: its class. On a ramp these are 0 to [`Kinds::ramp`].
    pub class: Vec<usize>,
    /// The classes that are there and their words. Empty for a ramp.
    pub legend: Vec<(usize, String)>,
    /// The last class of a ramp, where classes are in an order.
    pub ramp: Option<usize>,
    /// Whether classes only tell neighbours apart.
    pub cycle: bool,
}

impl Kinds {
    /// Sorts tensors into classes.
    pub fn new(tensors: &[TensorEntry], by: ColourBy) -> Kinds {
        match by {
            // A role has its colour, whatever other roles there are.
            ColourBy::Role => {
                let mut kinds = listed(tensors, |tensor| {
                    let role = Role::of(tensor);
                    (role as u32, role.word().to_owned())
                });
                kinds.class = tensors.iter().map(|tensor| Role::of(tensor) as usize).collect();
                let class = |word: &str| Role::ALL.iter().position(|role| role.word() == word);
                for (place, word) in &mut kinds.legend {
                    *place = class(word).unwrap_or(*place);
                }
                kinds
            }
            ColourBy::Format => listed(tensors, |t| (t.format.id(), t.format.to_string())),
            ColourBy::Block => {
                let number = |tensor: &TensorEntry| block(&tensor.name);
                let last = tensors.iter().filter_map(number).max().unwrap_or(0);
                // What is in no block lies before the first or after the last.
                let mut seen = None;
                let class = tensors.iter().map(|tensor| {
                    seen = number(tensor).or(seen.map(|_| last));
                    usize::try_from(seen.unwrap_or(0)).unwrap_or(usize::MAX)
                });
                let ramp = Some(usize::try_from(last).unwrap_or(usize::MAX));
                Kinds { class: class.collect(), ramp, ..Kinds::default() }
            }
            ColourBy::Tensor => {
                Kinds { class: (0..tensors.len()).collect(), cycle: true, ..Kinds::default() }
            }
        }
    }
}

/// Classes in the order of their keys, as far as they are there.
fn listed(tensors: &[TensorEntry], key: fn(&TensorEntry) -> (u32, String)) -> Kinds {
    let mut words: Vec<(u32, String)> = Vec::new();
    for tensor in tensors {
        let (key, word) = key(tensor);
        if let Err(place) = words.binary_search_by_key(&key, |(key, _)| *key) {
            words.insert(place, (key, word));
        }
    }
    let place = |tensor| words.binary_search_by_key(&key(tensor).0, |(key, _)| *key);
    let class = tensors.iter().map(|tensor| place(tensor).unwrap_or(0)).collect();
    let legend = words.into_iter().enumerate().map(|(place, (_, word))| (place, word)).collect();
    Kinds { class, legend, ..Kinds::default() }
}

#[cfg(test)]
mod tests {
    use wimg_core::{HEADERS, Selection};

    use super::*;

    #[test]
    fn every_tensor_of_the_headers_has_a_role() {
        let tensors = Selection::Machine.of(&HEADERS[0].table()).unwrap().tensors;
        let kinds = Kinds::new(&tensors, ColourBy::Role);
        let words = |kinds: &Kinds| kinds.legend.iter().map(|(_, w)| w.clone()).collect::<Vec<_>>();
        assert_eq!(
            words(&kinds),
            [
                "feed forward",
                "gated delta net",
                "attention",
                "embedding",
                "output",
                "norms, biases, kernels"
            ]
        );
        let named = |name: &str| {
            let at = tensors.iter().position(|tensor| tensor.name == name).unwrap();
            Role::ALL[kinds.class[at]].word()
        };
        assert_eq!(named("token_embd.weight"), "embedding");
        assert_eq!(named("blk.0.ssm_conv1d.weight"), "norms, biases, kernels");
        assert_eq!(named("blk.0.attn_gate.weight"), "gated delta net");
        assert_eq!(named("blk.3.attn_q.weight"), "attention");
        assert_eq!(named("output.weight"), "output");
        // Without some roles the others keep their classes.
        let norms: Vec<TensorEntry> =
            tensors.iter().filter(|tensor| tensor.dims.len() == 1).cloned().collect();
        let few = Kinds::new(&norms, ColourBy::Role);
        assert_eq!(few.legend, [(Role::Small as usize, Role::Small.word().to_owned())]);
        assert!(few.class.iter().all(|&class| class == Role::Small as usize));
    }

    #[test]
    fn classes_follow_formats_blocks_and_tensors() {
        let tensors = Selection::Machine.of(&HEADERS[1].table()).unwrap().tensors;
        let formats = Kinds::new(&tensors, ColourBy::Format);
        let words: Vec<&str> = formats.legend.iter().map(|(_, word)| word.as_str()).collect();
        assert_eq!(words, ["F32", "Q8_0", "Q4_K", "Q6_K"]);
        let blocks = Kinds::new(&tensors, ColourBy::Block);
        assert_eq!(
            (blocks.ramp, blocks.class.first(), blocks.class.last()),
            (Some(63), Some(&0), Some(&63))
        );
        assert!(blocks.class.is_sorted());
        let each = Kinds::new(&tensors, ColourBy::Tensor);
        assert_eq!(each.class.len(), tensors.len());
        assert!(each.cycle);
        assert_eq!(block("blk.64.nextn.eh_proj.weight"), Some(64));
        assert_eq!(block("blk.x.y"), None);
    }
}
