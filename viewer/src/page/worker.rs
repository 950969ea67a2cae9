//! The worker: verifies an image's files, which it may wait for.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::DedicatedWorkerGlobalScope;

use crate::model::folder::{Folder, Progress};
use crate::page::bytes::Bytes;

/// A message that lists files.
pub(crate) fn message(files: &[(String, Bytes)]) -> JsValue {
    let list = Array::new();
    for (name, bytes) in files {
        let pair = Array::new();
        pair.push(&JsValue::from_str(name));
        pair.push(&bytes.message());
        list.push(&pair);
    }
    list.into()
}

/// Verifies the image of the listed files. Progress is told as
/// [`Progress::message`]; what keeps it from going on as other text.
pub(crate) fn work(message: &JsValue) -> Result<(), JsValue> {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let mut files: Vec<(String, Bytes)> = Vec::new();
    for pair in Array::from(message).iter() {
        let pair: Array = pair.dyn_into()?;
        let name = pair.get(0).as_string().ok_or("a file without a name")?;
        let bytes = Bytes::from_message(&pair.get(1)).ok_or("a file without bytes")?;
        if let Some(bytes) = bytes.measured_now()? {
            files.push((name, bytes));
        }
    }
    let mut tell = |progress: &Progress| {
        // A page that is gone has no use for it.
        let _ = scope.post_message(&JsValue::from_str(&progress.message()));
    };
    let lengths = files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect();
    let mut read = |name: &str, from: u64, len: u64| {
        let bytes = files.iter().find(|(file, _)| file == name);
        let (_, bytes) = bytes.ok_or_else(|| format!("{name} is missing"))?;
        bytes.read_now(from, len).map_err(|why| format!("{name}: {why}"))
    };
    let mut folder = Folder { files: lengths, read: &mut read };
    match folder.verify(&mut tell) {
        Ok(last) => tell(&last),
        Err(why) => scope.post_message(&JsValue::from_str(&why))?,
    }
    Ok(())
}
