//! A report: the page and what it shows in one HTML file that opens from disk.
//!
//! A page from `file://` may fetch nothing, so everything is inline. Before
//! the page's scripts, each of which is a classic script with its file's name
//! as its `id` (so that a worker can be made of a blob of
//! `document.getElementById("viewer.js").textContent` and that of `worker.js`,
//! which is inert: `type="text/plain"`), the report sets
//!
//! ```js
//! globalThis.WIMG_EMBEDDED = {
//!   wasm: "base64 of viewer_bg.wasm",
//!   ledgers: [{ path: "a.jsonl", text: "JSON Lines, as `wimg ledger --format json` has them" }],
//!   images: [{ path: "dir", manifest: "the text of dir/image.json" }],
//!   // Each shard's file name, length in bytes, and a header with the same
//!   // tensors at the same offsets (long metadata is left out): to be read as
//!   // the first bytes of a file of that length, of which there is no more.
//!   checkpoints: [{ path: "a.gguf", shards: [{ name: "a.gguf", length: 123, header: "base64" }] }],
//! };
//! ```
