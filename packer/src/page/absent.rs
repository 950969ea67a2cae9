//! No page: the program was built without it.

use super::PageFile;

/// None.
pub(super) const FILES: Option<&[PageFile]> = None;
