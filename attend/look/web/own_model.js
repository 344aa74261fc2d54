// A model of the visitor's own on a page without a server: its folder, or its files (config.json, tokenizer.json,
// model.safetensors), dropped onto the page. The browser keeps them, and nothing is uploaded.
import { serverless } from "look/server";

async function inside(entry, path = "") {
  if (entry.isFile) return [[path + entry.name, await new Promise((done, fail) => entry.file(done, fail))]];
  const found = [];
  for (const reader = entry.createReader(); ;) {  // at most a hundred at a time
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const one of some) found.push(...await inside(one, one.isFile ? path : `${path}${one.name}/`));
  }
}

async function keep(name, files) {
  if (!files.some(([path]) => path === "config.json")) throw new Error(`${name} is no model's folder: it has no config.json`);
  if (!self.caches) throw new Error("this browser keeps no files for a page without https");
  const cache = await caches.open("attend-own"), begin = new URL(`own/${encodeURIComponent(name)}/`, location.href).href;
  for (const old of await cache.keys()) if (old.url.startsWith(begin)) await cache.delete(old);
  for (const [path, file] of files) await cache.put(begin + path, new Response(file));
  location.hash = `#model=${encodeURIComponent(name)}`;
  location.reload();
}

// fail(error) tells a person.
export function takeOwnModels(fail) {
  if (!serverless) return;
  addEventListener("dragover", event => event.preventDefault());
  addEventListener("drop", event => {
    const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry?.()), folder = entries.find(entry => entry?.isDirectory);
    const files = [...event.dataTransfer.files];
    if (!folder && !files.some(file => file.name === "config.json")) return;  // an image, for others
    event.preventDefault(), event.stopImmediatePropagation();
    (folder ? inside(folder) : Promise.resolve(files.map(file => [file.name, file]))).then(found => keep(folder?.name || "own", found)).catch(fail);
  }, true);
}
