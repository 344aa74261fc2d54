// What JavaScript calls of attend.wasm, on the module that openAttend() promises: files go in by put() and append() and come
// out by read(), open() opens the page about a model, and ask() is a request to it. Both answer { status, type, body }, as does
// train(), which returns when a model is trained.
function answerOf(status) {
  const at = Module["_attend_body"]();
  return { status, type: UTF8ToString(Module["_attend_type"]()), body: HEAPU8.slice(at, at + Module["_attend_size"]()) };
}
Module["put"] = (path, bytes) => {
  FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  FS.writeFile(path, bytes);
};
Module["append"] = (path, bytes) => {
  FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  const file = FS.open(path, "a");
  FS.write(file, bytes, 0, bytes.length);
  FS.close(file);
};
// The bytes from this one on; null where there is no such file.
Module["read"] = (path, from = 0) => {
  if (!FS.analyzePath(path).exists) return null;
  const bytes = new Uint8Array(Math.max(0, FS.stat(path).size - from)), file = FS.open(path, "r");
  FS.read(file, bytes, 0, bytes.length, from);
  FS.close(file);
  return bytes;
};
Module["train"] = task => answerOf(Module["ccall"]("attend_train", "number", ["string"], [task]));
Module["trained"] = error => Module["ccall"]("attend_trained", null, ["string"], [error]);
Module["open"] = name => answerOf(Module["ccall"]("attend_open", "number", ["string"], [name]));
Module["ask"] = (method, path, type = "", body = new Uint8Array(0)) => {
  const at = Module["_malloc"](body.length + 1);
  if (!at) throw new Error(`there is not enough memory for a request of ${body.length} bytes`);
  HEAPU8.set(body, at);
  try {
    return answerOf(Module["ccall"]("attend_ask", "number", ["string", "string", "string", "number", "number"], [method, path, type, at, body.length]));
  } finally {
    Module["_free"](at);
  }
};
