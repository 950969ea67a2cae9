//! Values of JSON that the browser has parsed. What is missing, or is something
//! else, has a value that says nothing.

use js_sys::{Array, JSON, Reflect};
use wasm_bindgen::JsValue;

use crate::page::dom::said;

/// A text as a value.
pub(crate) fn parse(text: &str) -> Result<JsValue, String> {
    JSON::parse(text).map_err(|error| said(&error))
}

/// A value of an object; undefined where there is none.
pub(crate) fn value(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(key)).unwrap_or_default()
}

/// A list; empty where there is none.
pub(crate) fn list(object: &JsValue, key: &str) -> Array {
    let value = value(object, key);
    if Array::is_array(&value) { Array::from(&value) } else { Array::new() }
}

/// A text; empty where there is none.
pub(crate) fn string(object: &JsValue, key: &str) -> String {
    value(object, key).as_string().unwrap_or_default()
}

/// A number; 0 where there is none.
pub(crate) fn number(object: &JsValue, key: &str) -> f64 {
    value(object, key).as_f64().unwrap_or_default()
}
