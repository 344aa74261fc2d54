// What JavaScript calls of attend.wasm, on the module that openAttend() promises: files go in by put(), open() opens the
// page about a model, and ask() is a request to it. Both answer { status, type, body }.
function answerOf(status) {
  const at = Module["_attend_body"]();
  return { status, type: UTF8ToString(Module["_attend_type"]()), body: HEAPU8.slice(at, at + Module["_attend_size"]()) };
}
Module["put"] = (path, bytes) => {
  FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  FS.writeFile(path, bytes);
};
Module["open"] = name => answerOf(Module["ccall"]("attend_open", "number", ["string"], [name]));
Module["ask"] = (method, path, type = "", body = new Uint8Array(0)) => {
  const at = Module["_malloc"](body.length + 1);
  HEAPU8.set(body, at);
  try {
    return answerOf(Module["ccall"]("attend_ask", "number", ["string", "string", "string", "number", "number"], [method, path, type, at, body.length]));
  } finally {
    Module["_free"](at);
  }
};
