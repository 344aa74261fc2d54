// A worker that trains one model (attend/look/api/minute_tasks.h) and tells the page's worker what its run's files gain:
// { gained: [[name, bytes]] }, at the end { model: [[name, bytes]] }, or { error }.
importScripts("attend.js");

const told = { "recipe.json": 0, "log.jsonl": 0, "look.jsonl": 0, "test.json": 0 };
function report(attend) {
  const gained = [];
  for (const name of Object.keys(told)) {
    const bytes = attend.read(`/training/run/${name}`, told[name]);
    if (bytes?.length) told[name] += bytes.length, gained.push([name, bytes]);
  }
  if (gained.length) postMessage({ gained });
}

openAttend({ locateFile: name => new URL(name, self.location.href).href }).then(attend => {
  attend.reportTraining = () => report(attend);
  const { status, body } = attend.train(new URL(self.location.href).searchParams.get("task"));
  if (status !== 200) throw new Error(JSON.parse(new TextDecoder().decode(body)).error);
  report(attend);
  // config.json last: without it a folder is no model.
  postMessage({ model: ["model.safetensors", "tokenizer.json", "config.json"].map(name => [name, attend.read(`/training/run/${name}`)]) });
}).catch(error => {
  const memory = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  postMessage({ error: memory ? `the training ran out of memory or failed (${error.message})` : String(error.message || error) });
});
