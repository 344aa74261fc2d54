// ONNX Runtime from the npm package onnxruntime-node, for a machine without its Python package: times one model.
//   node onnxruntime_session.mjs PACKAGE_FOLDER MODEL.onnx THREADS REPS DIMENSIONS..
//   node onnxruntime_session.mjs PACKAGE_FOLDER MODEL.onnx THREADS values DIMENSIONS..
// Prints the milliseconds of each repetition after two that are not timed; or the numbers that the model computes, each output
// one number, as JSON. The input is noise, in f32 or 8 bits as the model takes it.
import { createRequire } from "node:module";
import path from "node:path";

const [folder, model, threads, reps, ...dimensions] = process.argv.slice(2);
const { InferenceSession, Tensor } = createRequire(path.resolve(folder) + "/")("onnxruntime-node");
const shape = dimensions.map(Number);
const length = shape.reduce((a, b) => a * b);
const session = await InferenceSession.create(model, { intraOpNumThreads: Number(threads) });
const whole = session.inputMetadata[0].type === "uint8";
const noise = whole ? Uint8Array.from({ length }, () => 256 * Math.random())
                    : Float32Array.from({ length }, () => 2 * Math.random() - 1);
const inputs = { [session.inputNames[0]]: new Tensor(whole ? "uint8" : "float32", noise, shape) };
if (reps === "values") {
  const outputs = Object.entries(await session.run(inputs));
  console.log(JSON.stringify(Object.fromEntries(outputs.map(([name, value]) => [name, Number(value.data[0])]))));
  process.exit(0);
}
for (let rep = -2; rep < Number(reps); ++rep) {
  const start = process.hrtime.bigint();
  await session.run(inputs);
  if (rep >= 0) console.log(Number(process.hrtime.bigint() - start) / 1e6);
}
