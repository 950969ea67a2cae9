//! What can be seen: pure data and functions, tested without a browser.
//!
//! No placement arithmetic is done here: every address comes from the core.

pub mod compare;
pub mod details;
pub mod folder;
pub mod hex;
pub mod kind;
pub mod knobs;
pub mod library;
pub mod night;
pub mod quantity;
pub mod search;
pub mod skew;
pub mod state;
pub mod subject;
pub mod table;
pub mod upload;
