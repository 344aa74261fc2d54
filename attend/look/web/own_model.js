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

// What attend reads of a folder: a clone of a repository also has the weights of other libraries.
function needed(files) {
  const safe = files.some(([path]) => path.endsWith(".safetensors"));
  return files.filter(([path]) => /^[^/]+\.(json|txt|safetensors|spm|model)$|^README\.md$|^samples\/[^/]+$/.test(path) || !safe && /^[^/]+\.bin$/.test(path));
}

// config.json and README.md are read whenever the page is opened, other files when the model is.
const largestText = 4 << 20;
async function keep(name, files) {
  const config = files.find(([path]) => path === "config.json")?.[1];
  if (!config) throw new Error(`${name} is no model's folder: it has no config.json`);
  if (config.size > largestText) throw new Error(`${name}: config.json has ${config.size} bytes, more than ${largestText}`);
  if (!self.caches) throw new Error("this browser keeps no files for a page without https");
  const cache = await caches.open("attend-own"), begin = new URL(`own/${encodeURIComponent(name)}/`, location.href).href;
  const forget = async () => { for (const old of await cache.keys()) if (old.url.startsWith(begin)) await cache.delete(old); };
  await forget();
  try {  // config.json last: without it a folder is no model, should the tab be closed before
    for (const [path, file] of needed(files).sort(([a], [b]) => (a === "config.json") - (b === "config.json")))
      if (path !== "README.md" || file.size <= largestText) await cache.put(begin + path, new Response(file));
  } catch (error) {
    await forget();
    throw new Error(`${name} cannot be kept by this browser: ${error.message}`);
  }
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
