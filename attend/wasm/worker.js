// A worker that answers the page in place of a server: requests come as messages { id, method, path, type, body } and go to
// the same routes (attend/wasm/page.cpp). Models are fetched when they are first asked for and kept by the browser; their progress is told as
// { model, loaded, total } while they come. models.json beside this file lists what there is; the cache attend-own has models of
// the visitor's own (look/web/own_model.js).
importScripts("attend.js");

const here = new URL("./", self.location.href);
const first = new URL(self.location.href).searchParams.get("model");
const encoder = new TextEncoder();
// After a trap, or when the browser has no memory left, what is in memory cannot be trusted any more.
const isFatal = error => error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
const failed = message => ({ status: 500, type: "application/json", body: encoder.encode(JSON.stringify({ error: message })) });
const samples = new Map();  // the files of sample images, which a page shows as they are

// Kept by the address alone; where a browser keeps nothing (an address without https), it is fetched anew.
async function kept(address, stamp) {
  const cache = await self.caches?.open(`attend-models`).catch(() => null);
  const request = `${address}?${stamp}`;
  const found = await cache?.match(request);
  if (found) return found;
  const response = await fetch(request);
  if (!response.ok) throw new Error(`${address} cannot be fetched: ${response.status}`);
  await cache?.put(request, response.clone()).catch(() => {});
  return response;
}

async function bytesOf(response, progress) {
  const parts = [];
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    progress(value.length);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// JPEG, PNG and WebP are decoded by the browser; attend.wasm reads the pixels.
const isImage = bytes => bytes[0] === 0xff && bytes[1] === 0xd8 || bytes[0] === 0x89 && bytes[1] === 0x50 || bytes[0] === 0x52 && bytes[8] === 0x57;
async function pixelsOf(bytes) {
  const image = await createImageBitmap(new Blob([bytes]), { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const head = encoder.encode(`P6\n${image.width} ${image.height} 255\n`), ppm = new Uint8Array(head.length + data.length / 4 * 3);
  ppm.set(head);
  for (let from = 0, to = head.length; from < data.length; from += 4) ppm[to++] = data[from], ppm[to++] = data[from + 1], ppm[to++] = data[from + 2];
  return ppm;
}

async function put(attend, model, name, bytes) {
  if (name.startsWith("samples/")) {
    samples.set(`${model}/${name.replace(/\.[a-z]+$/, "")}`, bytes);
    bytes = await pixelsOf(bytes);
  }
  attend.put(`/models/${model}/${name}`, bytes);
}

const texts = ["config.json", "README.md"];
// The visitor's own models, which the page has put into a cache: their texts at once, the other files when they are asked for.
async function findOwn(attend, models) {
  const cache = await self.caches?.open("attend-own").catch(() => null);
  for (const request of await cache?.keys() || []) {
    const [, model, name] = /\/own\/([^/]+)\/(.+)$/.exec(request.url) || [], blob = await (await cache.match(request)).blob(), key = decodeURIComponent(model || "");
    if (!name || key in models && !models[key].own) continue;
    models[key] ??= { files: {}, own: {} };
    if (texts.includes(name)) attend.put(`/models/${key}/${name}`, new Uint8Array(await blob.arrayBuffer()));
    else models[key].files[name] = blob.size, models[key].own[name] = blob;
  }
}

const starting = (async () => {
  const [attend, listed] = await Promise.all([openAttend({ locateFile: name => new URL(name, here).href }), fetch(new URL("models.json", here)).then(answer => answer.json())]);
  const models = { __proto__: null, ...listed };  // a visitor's model may have any name
  for (const [model, { texts }] of Object.entries(models))
    for (const [name, text] of Object.entries(texts)) attend.put(`/models/${model}/${name}`, encoder.encode(text));
  await findOwn(attend, models);
  prepareTraining(attend);
  return { attend, models };
})();

// A training of the page: another worker (trainer.js) sends what its run's files gain, and in the end the model, which the
// browser keeps as one of the visitor's own.
let trainer = null;
function prepareTraining(attend) {
  attend.endTraining = () => { trainer?.terminate(), trainer = null; };
  attend.startTraining = (task, folder, name) => {
    const mine = trainer = new Worker(new URL(`trainer.js?task=${task}`, here));
    const ended = error => { if (trainer === mine) attend.endTraining(), attend.trained(error); };
    mine.onerror = event => ended(event.message || "the worker ended");
    mine.onmessage = async ({ data: { gained, model, error } }) => {
      if (trainer !== mine) return;
      for (const [name, bytes] of gained || []) attend.append(`${folder}/run/${name}`, bytes);
      if (error) return ended(error);
      if (!model) return;
      await keepOwn(name, model).catch(() => {});  // without a place to keep it there are still the curves
      ended("");
    };
  };
}
async function keepOwn(name, files) {
  const cache = await caches.open("attend-own");
  for (const [file, bytes] of files) await cache.put(new URL(`own/${encodeURIComponent(name)}/${file}`, here).href, new Response(bytes));
}

const fetched = new Map();
function fetchModel(attend, models, model) {
  if (!fetched.has(model)) {
    const { files, stamp, own } = models[model], total = Object.values(files).reduce((sum, size) => sum + size, 0);
    let loaded = 0;
    const progress = more => postMessage({ model, loaded: loaded += more, total });
    const all = Promise.all(Object.keys(files).map(async name =>
      put(attend, model, name, await bytesOf(own ? new Response(own[name]) : await kept(new URL(`models/${model}/${name}`, here), stamp), progress))));
    all.catch(() => fetched.delete(model));
    fetched.set(model, all);
  }
  return fetched.get(model);
}

// Where the model that was meant cannot be opened, the page is about another one and says why.
const usual = "en-fr";
let opened = null;
async function open(attend, models, name) {
  const said = await fetchModel(attend, models, name).then(() => attend.open(name)).catch(error => {
    if (isFatal(error)) throw error;
    return failed(error.message);
  });
  return said.status === 200 || name === usual ? { name, said } : open(attend, models, usual);
}

async function answer({ method = "GET", path, type = "", body }) {
  const { attend, models } = await starting;
  opened ??= open(attend, models, first in models ? first : usual);
  const { name: main, said: opening } = await opened;
  if (opening.status !== 200) return { ...opening, body: opening.body.slice() };
  const [, named] = /^\/models\/([^/]+)\//.exec(path) || [];
  if (named && named in models) await fetchModel(attend, models, named);
  const sample = samples.get((named ? path.slice(8) : main + path));
  if (sample) return { status: 200, type: "image/png", body: sample.slice() };
  let bytes = typeof body === "string" ? encoder.encode(body) : new Uint8Array(body || 0);
  if (isImage(bytes)) bytes = await pixelsOf(bytes);
  return attend.ask(method, path, type, bytes);
}

onmessage = async ({ data }) => {
  let said;
  try {
    said = await answer(data);
  } catch (error) {
    const fatal = isFatal(error);
    said = { fatal, ...failed(fatal ? `attend.wasm ran out of memory or failed (${error.message})` : String(error.message || error)) };
  }
  postMessage({ id: data.id, ...said }, [said.body.buffer]);
};
