//! What the tests share.

pub mod cases;
pub mod oracle;
pub mod twin;
pub mod vectors;
