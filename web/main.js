// The page and, without a document, its worker. Everything else is in wimg.wasm.
// A report has the module in its own text, as base64 in #wimg-wasm.
(() => {
  "use strict";
  if (typeof document === "undefined") {
    // The first message is the compiled module; the others are work.
    self.onmessage = ({ data }) => {
      wasm_bindgen.initSync({ module: data });
      self.onmessage = ({ data }) => wasm_bindgen.work(data);
    };
    return;
  }

  const own = document.currentScript;
  const embedded = document.getElementById("wimg-wasm");
  const compiled = embedded
    ? WebAssembly.compile(Uint8Array.from(atob(embedded.textContent), (c) => c.charCodeAt(0)))
    : WebAssembly.compileStreaming(fetch("wimg.wasm"));

  // Called from the module.
  globalThis.wimg_worker = async () => {
    const text = () => URL.createObjectURL(new Blob([own.textContent], { type: "text/javascript" }));
    const worker = new Worker(own.src || text());
    worker.postMessage(await compiled);
    return worker;
  };

  // What was dropped: files with their paths, folders walked.
  const walk = async (entry, path, files) => {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => entry.file(done, failed));
      files.push([path + entry.name, file]);
    } else if (entry.isDirectory) {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (some.length === 0) break;
        for (const one of some) await walk(one, path + entry.name + "/", files);
      }
    }
  };
  globalThis.wimg_dropped = async (event) => {
    // All at once: after the event nothing of it can be read. What some programs
    // drop is a file, but none of a file system.
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const dropped = items.map((item) => [item.webkitGetAsEntry(), item.getAsFile()]);
    const files = [];
    for (const [entry, file] of dropped) {
      if (entry) await walk(entry, "", files);
      else if (file) files.push([file.name, file]);
    }
    return files;
  };

  compiled.then((module) => {
    wasm_bindgen.initSync({ module });
    wasm_bindgen.start();
  }).catch((why) => {
    document.getElementById("starting").textContent = `The page could not start: ${why}`;
  });
})();
