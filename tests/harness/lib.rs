//! What the tests share.

pub mod oracle;
pub mod vectors;
