// Answers requests with attend.wasm, without a browser: node ask.js BUILD-WASM MODELS FIRST reads lines of JSON
// { method, path, type, body (base64) } and writes { status, body, milliseconds } for each.
const fs = require("fs"), path = require("path"), readline = require("readline");
const [folder, models, first] = process.argv.slice(2);
const openAttend = require(path.resolve(folder, "attend.js"));

(async () => {
  const attend = await openAttend({ wasmBinary: fs.readFileSync(path.join(folder, "attend.wasm")) });
  for (const model of fs.readdirSync(models))
    for (const entry of fs.readdirSync(path.join(models, model), { withFileTypes: true }))
      if (entry.isFile()) attend.put(`/models/${model}/${entry.name}`, fs.readFileSync(path.join(models, model, entry.name)));
  const said = answer => ({ status: answer.status, body: Buffer.from(answer.body).toString() });
  const opened = attend.open(first);
  if (opened.status !== 200) throw new Error(said(opened).body);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { method, path: where, type = "application/json", body = "" } = JSON.parse(line), start = process.hrtime.bigint();
    const answer = attend.ask(method, where, type, Buffer.from(body, "base64"));
    const milliseconds = Number(process.hrtime.bigint() - start) / 1e6;
    process.stdout.write(JSON.stringify({ ...said(answer), milliseconds }) + "\n");
  }
})().catch(error => { console.error(error); process.exit(1); });
