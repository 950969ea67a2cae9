//! The core on wasm32: built by cargo, run by an interpreter, called with
//! bytes. `usize` is 32 bits there.

use std::path::{Path, PathBuf};
use std::process::Command;

use wasmi::{Engine, Linker, Memory, Module, Store, TypedFunc};

/// The package with the operations.
const PACKAGE: &str = "wimg-wasm-vectors";

/// An instance of the module, with its memory.
pub struct Wasm {
    store: Store<()>,
    memory: Memory,
    request: TypedFunc<u32, u32>,
    answer: TypedFunc<(), u64>,
}

impl Wasm {
    /// Builds the module (quick when it is built already) and starts it.
    ///
    /// # Errors
    ///
    /// A message with cargo's output when it cannot be built, or with the
    /// interpreter's when it cannot be started.
    pub fn build() -> Result<Wasm, String> {
        let path = build()?;
        let bytes = std::fs::read(&path).map_err(|why| format!("`{}`: {why}", path.display()))?;
        Wasm::start(&bytes).map_err(|why| why.to_string())
    }

    fn start(bytes: &[u8]) -> Result<Wasm, wasmi::Error> {
        let engine = Engine::default();
        let module = Module::new(&engine, bytes)?;
        let mut store = Store::new(&engine, ());
        // No imports: the module knows nothing outside its memory.
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module)?;
        let memory = instance
            .get_memory(&store, "memory")
            .ok_or_else(|| wasmi::Error::new("the module exports no memory"))?;
        let request = instance.get_typed_func(&store, "wimg_request")?;
        let answer = instance.get_typed_func(&store, "wimg_answer")?;
        Ok(Wasm { store, memory, request, answer })
    }

    /// Runs an operation of `tests/wasm/src/operation.rs` on `input`.
    ///
    /// # Errors
    ///
    /// The operation's message, or the interpreter's when it panics: the
    /// instance is then of no more use.
    pub fn call(&mut self, operation: &str, input: &[u8]) -> Result<Vec<u8>, String> {
        let answer = self.exchange(&[operation.as_bytes(), b"\n", input].concat())?;
        match answer.split_first() {
            Some((0, output)) => Ok(output.to_vec()),
            Some((_, message)) => Err(String::from_utf8_lossy(message).into_owned()),
            None => Err(format!("`{operation}` gave no answer")),
        }
    }

    fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, String> {
        let len = u32::try_from(request.len()).map_err(|why| why.to_string())?;
        let at = self.request.call(&mut self.store, len).map_err(|why| why.to_string())?;
        if at == 0 {
            return Err(format!("no room for a request of {len} bytes"));
        }
        let at = usize::try_from(at).map_err(|why| why.to_string())?;
        self.memory.write(&mut self.store, at, request).map_err(|why| why.to_string())?;
        let place = self.answer.call(&mut self.store, ()).map_err(|why| why.to_string())?;
        let len = usize::try_from(place >> 32).map_err(|why| why.to_string())?;
        let at = usize::try_from(place & u64::from(u32::MAX)).map_err(|why| why.to_string())?;
        let end = at.checked_add(len).ok_or("the answer lies past the memory")?;
        let bytes = self.memory.data(&self.store).get(at..end);
        Ok(bytes.ok_or("the answer lies past the memory")?.to_vec())
    }
}

/// Builds the module in release and finds it among what cargo says it made.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--quiet", "--release", "--target", "wasm32-unknown-unknown"];
    let output = Command::new(cargo)
        .args(words)
        .args(["--package", PACKAGE, "--message-format", "json-render-diagnostics"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .map_err(|why| format!("cannot run cargo: {why}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!(
            "cannot build {PACKAGE} for wasm32 (`cargo xtask test` sets the target up):\n{text}"
        ));
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    module_among(&messages).ok_or_else(|| format!("cargo names no module:\n{messages}"))
}

/// The `.wasm` file that one of cargo's messages, JSON by lines, says it made.
fn module_among(messages: &str) -> Option<PathBuf> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    artifacts
        .flat_map(|message: serde_json::Value| {
            let names = message["filenames"].as_array().cloned().unwrap_or_default();
            names.into_iter().filter_map(|name| name.as_str().map(PathBuf::from))
        })
        .find(|path| path.extension().is_some_and(|extension| extension == "wasm"))
}
