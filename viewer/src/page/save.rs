//! What leaves the page by a person's wish: the clipboard and downloads.

use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{
    Blob, BlobPropertyBag, Document, HtmlAnchorElement, HtmlTextAreaElement, Url, Window,
};

/// Copies text.
pub(crate) fn copy(window: &Window, document: &Document, text: &str) -> Result<(), JsValue> {
    if window.is_secure_context() {
        let _ = window.navigator().clipboard().write_text(text);
        return Ok(());
    }
    // Without a secure origin there is only the old way.
    let area: HtmlTextAreaElement = document.create_element("textarea")?.unchecked_into();
    area.set_value(text);
    area.set_class_name("hidden");
    if let Some(body) = document.body() {
        body.append_child(&area)?;
        area.select();
        let old: &web_sys::HtmlDocument = document.unchecked_ref();
        old.exec_command("copy")?;
        area.remove();
    }
    Ok(())
}

/// Offers text as a file.
pub(crate) fn text(document: &Document, name: &str, kind: &str, text: &str) -> Result<(), JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let parts = Array::of1(&JsValue::from_str(text));
    blob(document, name, &Blob::new_with_str_sequence_and_options(&parts, &options)?)
}

/// Offers bytes as a file.
pub(crate) fn blob(document: &Document, name: &str, blob: &Blob) -> Result<(), JsValue> {
    let url = Url::create_object_url_with_blob(blob)?;
    let link: HtmlAnchorElement = document.create_element("a")?.unchecked_into();
    link.set_href(&url);
    link.set_download(name);
    link.click();
    Ok(())
}
