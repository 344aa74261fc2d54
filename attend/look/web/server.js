// Who answers the page: the program that serves it, or, on a site without one, a worker with attend.wasm beside the page. Both
// take an address of the page and give a Response.
const inBrowser = document.getElementById("worker");
export const serverless = Boolean(inBrowser);

const waiting = new Map();  // requests without an answer
let worker = null, count = 0;
// A worker that cannot go on leaves its requests to the next one if it has not even opened its model: that one opens the
// usual model. Otherwise they are answered with the error, and the next request starts another worker.
function start(model) {
  const mine = worker = new Worker(inBrowser.textContent.trim() + (model ? `?model=${encodeURIComponent(model)}` : ""));
  let opened = false;
  const died = body => {
    mine.terminate(), worker = null;
    for (const name of bars.keys()) endProgress(name);
    if (model && !opened) {
      start("");
      for (const { message } of waiting.values()) worker.postMessage(message);
      return;
    }
    for (const { answer } of waiting.values()) answer({ status: 500, type: "application/json", body });
    waiting.clear();
  };
  mine.onmessage = ({ data }) => {
    if (data.total) return progress(data);
    if (data.fatal) return died(data.body);
    opened = true;
    waiting.get(data.id)?.answer(data);
    waiting.delete(data.id);
  };
  mine.onerror = event => died(JSON.stringify({ error: `attend.wasm cannot run here: ${event.message || "the worker ended"}` }));
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
  if (loaded >= total) endProgress(model);
}
function endProgress(model) {
  bars.get(model)?.parentNode.remove();
  bars.delete(model);
}

async function asked(address, { method = "GET", headers = {}, body } = {}) {
  const bytes = body instanceof Blob ? await body.arrayBuffer() : body;
  const message = { id: ++count, method, path: address.replace(/^\./, ""), type: headers["Content-Type"] || "", body: bytes };
  const answered = new Promise(answer => waiting.set(message.id, { message, answer }));
  if (!worker) start(new URLSearchParams(location.hash.slice(1)).get("model"));
  worker.postMessage(message);
  const { status, type, body: content } = await answered;
  if (status >= 500) tell(content);
  return new Response(content, { status, headers: { "Content-Type": type } });
}
export const request = serverless ? asked : (address, options) => fetch(address, options);

// Shows the image of an address.
export async function showImage(image, address) {
  image.src = serverless ? URL.createObjectURL(await (await request(address)).blob()) : address;
}
