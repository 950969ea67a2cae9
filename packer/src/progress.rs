//! How far long work has come.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A checkpoint is packed.
    Pack,
    /// An image is verified.
    Verify,
    /// A checkpoint is given back.
    Unpack,
    /// A synthetic checkpoint is written.
    Synth,
}

/// How far it has come, in bytes of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// Who is told.
pub type Tell<'a> = &'a (dyn Fn(Progress) + Sync);
