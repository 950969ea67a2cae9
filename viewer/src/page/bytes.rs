//! Bytes of files: opened here, or served with the page.

use js_sys::Uint8Array;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, FileReaderSync, RequestInit, Response, XmlHttpRequest, XmlHttpRequestResponseType,
};

use crate::model::quantity::whole;
use crate::page::dom::said;

/// A file whose bytes can be read.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    /// One that a person opened.
    Opened(Blob),
    /// One that is served beside the page, and its length.
    Served(String, u64),
}

impl Bytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Bytes::Opened(blob) => whole(blob.size()),
            Bytes::Served(_, len) => *len,
        }
    }

    /// Reads `len` bytes from a byte on; all of them or an error.
    pub(crate) async fn read(&self, from: u64, len: u64) -> Result<Vec<u8>, String> {
        let buffer = match self {
            Bytes::Opened(blob) => {
                let slice = blob.slice_with_f64_and_f64(from as f64, (from + len) as f64);
                let slice = slice.map_err(|error| said(&error))?;
                JsFuture::from(slice.array_buffer()).await.map_err(|error| said(&error))?
            }
            Bytes::Served(url, _) => fetch(url, Some((from, len))).await?,
        };
        exact(&buffer, len)
    }

    /// [`Bytes::read`] in a worker, which may wait.
    pub(crate) fn read_now(&self, from: u64, len: u64) -> Result<Vec<u8>, String> {
        let failed = |error: JsValue| said(&error);
        let buffer = match self {
            Bytes::Opened(blob) => {
                let slice = blob.slice_with_f64_and_f64(from as f64, (from + len) as f64);
                let reader = FileReaderSync::new().map_err(failed)?;
                let buffer = reader.read_as_array_buffer(&slice.map_err(failed)?);
                JsValue::from(buffer.map_err(failed)?)
            }
            Bytes::Served(url, _) => {
                let request = XmlHttpRequest::new().map_err(failed)?;
                request.open_with_async("GET", url, false).map_err(failed)?;
                request.set_response_type(XmlHttpRequestResponseType::Arraybuffer);
                let range = range(from, len);
                request.set_request_header("Range", &range).map_err(failed)?;
                request.send().map_err(failed)?;
                request.response().map_err(failed)?
            }
        };
        exact(&buffer, len)
    }

    /// The bytes as they are, in a worker, which may wait: a served file's are
    /// asked for, as what is said of it may be wrong. None for one that is not there.
    pub(crate) fn measured_now(self) -> Result<Option<Bytes>, String> {
        let Bytes::Served(url, _) = self else { return Ok(Some(self)) };
        let failed = |error: JsValue| said(&error);
        let request = XmlHttpRequest::new().map_err(failed)?;
        request.open_with_async("HEAD", &url, false).map_err(failed)?;
        request.send().map_err(failed)?;
        if request.status().map_err(failed)? != 200 {
            return Ok(None);
        }
        let len = request.get_response_header("Content-Length").map_err(failed)?;
        let len = len.and_then(|len| len.parse().ok());
        Ok(Some(Bytes::Served(url, len.ok_or("the server says no length")?)))
    }

    /// As a worker's message has it: the blob, or the address and the length.
    pub(crate) fn message(&self) -> JsValue {
        match self {
            Bytes::Opened(blob) => blob.clone().into(),
            Bytes::Served(url, len) => {
                let pair = js_sys::Array::new();
                pair.push(&JsValue::from_str(url));
                pair.push(&JsValue::from_f64(*len as f64));
                pair.into()
            }
        }
    }

    /// What [`Bytes::message`] made.
    pub(crate) fn from_message(message: &JsValue) -> Option<Bytes> {
        if let Some(blob) = message.dyn_ref::<Blob>() {
            return Some(Bytes::Opened(blob.clone()));
        }
        let pair = message.dyn_ref::<js_sys::Array>()?;
        Some(Bytes::Served(pair.get(0).as_string()?, whole(pair.get(1).as_f64()?)))
    }
}

fn range(from: u64, len: u64) -> String {
    format!("bytes={from}-{}", (from + len).saturating_sub(1))
}

fn exact(buffer: &JsValue, len: u64) -> Result<Vec<u8>, String> {
    let bytes = Uint8Array::new(buffer).to_vec();
    if bytes.len() as u64 == len {
        Ok(bytes)
    } else {
        Err(format!("{} bytes came of {len}: the file changed or ends early", bytes.len()))
    }
}

/// A served file's bytes, all of them or a range.
pub(crate) async fn fetch(url: &str, part: Option<(u64, u64)>) -> Result<JsValue, String> {
    let failed = |error: JsValue| format!("{url}: {}", said(&error));
    let window = web_sys::window().ok_or("there is no window")?;
    let init = RequestInit::new();
    if let Some((from, len)) = part {
        let headers = web_sys::Headers::new().map_err(failed)?;
        headers.set("Range", &range(from, len)).map_err(failed)?;
        init.set_headers(&headers);
    }
    let response = window.fetch_with_str_and_init(url, &init);
    let response: Response = JsFuture::from(response).await.map_err(failed)?.unchecked_into();
    if !response.ok() {
        return Err(format!("{url}: the server says {}", response.status()));
    }
    let buffer = response.array_buffer().map_err(failed)?;
    JsFuture::from(buffer).await.map_err(failed)
}
