//! Elements by their ids, and new ones. Text is set as text, never as markup.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element};

/// An element of the page as what it is there.
pub(crate) fn by_id<T: JsCast>(document: &Document, id: &str) -> Option<T> {
    document.get_element_by_id(id)?.dyn_into().ok()
}

/// A new element with a class (none where that is empty) and text.
pub(crate) fn element(
    document: &Document,
    tag: &str,
    class: &str,
    text: &str,
) -> Result<Element, JsValue> {
    let element = document.create_element(tag)?;
    if !class.is_empty() {
        element.set_class_name(class);
    }
    if !text.is_empty() {
        element.set_text_content(Some(text));
    }
    Ok(element)
}

/// Puts an element of that tag, class and text at the end of another.
pub(crate) fn add(
    parent: &Element,
    tag: &str,
    class: &str,
    text: &str,
) -> Result<Element, JsValue> {
    let document = parent.owner_document().ok_or("an element without a document")?;
    let child = element(&document, tag, class, text)?;
    parent.append_child(&child)?;
    Ok(child)
}

/// A button that does something.
pub(crate) fn add_button(parent: &Element, verb: &str, text: &str) -> Result<Element, JsValue> {
    let button = add(parent, "button", "", text)?;
    button.set_attribute("type", "button")?;
    button.set_attribute("data-do", verb)?;
    Ok(button)
}

/// Sets an element's text.
pub(crate) fn set_text(document: &Document, id: &str, text: &str) {
    if let Some(element) = document.get_element_by_id(id)
        && element.text_content().as_deref() != Some(text)
    {
        element.set_text_content(Some(text));
    }
}

/// Shows or hides an element.
pub(crate) fn show(document: &Document, id: &str, shown: bool) -> Result<(), JsValue> {
    match document.get_element_by_id(id) {
        Some(element) if shown => element.remove_attribute("hidden"),
        Some(element) => element.set_attribute("hidden", ""),
        None => Ok(()),
    }
}

/// Empties an element and gives it.
pub(crate) fn emptied(document: &Document, id: &str) -> Result<Element, JsValue> {
    let element = document.get_element_by_id(id).ok_or_else(|| format!("no element `{id}`"))?;
    element.set_text_content(None);
    Ok(element)
}

/// Sets a field's text, unless a person is typing in it.
pub(crate) fn set_field(document: &Document, id: &str, text: &str) {
    let active = document.active_element().is_some_and(|element| element.id() == id);
    if active {
        return;
    }
    if let Some(input) = by_id::<web_sys::HtmlInputElement>(document, id) {
        input.set_value(text);
    } else if let Some(select) = by_id::<web_sys::HtmlSelectElement>(document, id) {
        select.set_value(text);
    }
}

/// What is wrong, in words.
pub(crate) fn said(error: &JsValue) -> String {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    message.or_else(|| error.as_string()).unwrap_or_else(|| format!("{error:?}"))
}
