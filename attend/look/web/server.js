// Who answers the page: the program that serves it, or, on a site without one, a worker with attend.wasm beside the page. Both
// take an address of the page and give a Response.
const inBrowser = document.getElementById("worker");
export const serverless = Boolean(inBrowser);

const waiting = new Map();
let worker = null, count = 0;
function start() {
  const model = new URLSearchParams(location.hash.slice(1)).get("model");
  worker = new Worker(inBrowser.textContent.trim() + (model ? `?model=${encodeURIComponent(model)}` : ""));
  worker.onmessage = ({ data }) => {
    if (data.total) return progress(data);
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
    if (data.fatal) worker.terminate(), worker = null;  // the next request starts another one
  };
  worker.onerror = event => {
    for (const answer of waiting.values()) answer({ status: 500, type: "application/json", body: JSON.stringify({ error: `attend.wasm cannot run here: ${event.message || "the worker ended"}` }) });
    waiting.clear();
  };
}

// Also where no view is there yet to tell it.
function tell(content) {
  const place = document.getElementById("error");
  place.textContent = JSON.parse(typeof content === "string" ? content : new TextDecoder().decode(content)).error, place.hidden = false;
}

// How much of a model has come.
const bars = new Map();
function progress({ model, loaded, total }) {
  if (!bars.has(model)) {
    const bar = Object.assign(document.createElement("progress"), { max: total }), label = document.createElement("label");
    label.className = "loading", label.append(`loading ${model} `, bar);
    document.body.append(label), bars.set(model, bar);
  }
  bars.get(model).value = loaded;
  if (loaded >= total) bars.get(model).parentNode.remove();
}

async function asked(address, { method = "GET", headers = {}, body } = {}) {
  if (!worker) start();
  const id = ++count, bytes = body instanceof Blob ? await body.arrayBuffer() : body;
  const answer = new Promise(resolve => waiting.set(id, resolve));
  worker.postMessage({ id, method, path: address.replace(/^\./, ""), type: headers["Content-Type"] || "", body: bytes });
  const { status, type, body: content } = await answer;
  if (status >= 500) tell(content);
  return new Response(content, { status, headers: { "Content-Type": type } });
}
export const request = serverless ? asked : (address, options) => fetch(address, options);

// Shows the image of an address.
export async function showImage(image, address) {
  image.src = serverless ? URL.createObjectURL(await (await request(address)).blob()) : address;
}
