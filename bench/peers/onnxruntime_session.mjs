// ONNX Runtime from the npm package onnxruntime-node, for a machine without its Python package: times one model.
//   node onnxruntime_session.mjs PACKAGE_FOLDER MODEL.onnx THREADS REPS DIMENSIONS..
// Prints the milliseconds of each repetition after two that are not timed. The input is f32 noise.
import { createRequire } from "node:module";
import path from "node:path";

const [folder, model, threads, reps, ...dimensions] = process.argv.slice(2);
const { InferenceSession, Tensor } = createRequire(path.resolve(folder) + "/")("onnxruntime-node");
const shape = dimensions.map(Number);
const noise = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => 2 * Math.random() - 1);
const session = await InferenceSession.create(model, { intraOpNumThreads: Number(threads) });
const inputs = { [session.inputNames[0]]: new Tensor("float32", noise, shape) };
for (let rep = -2; rep < Number(reps); ++rep) {
  const start = process.hrtime.bigint();
  await session.run(inputs);
  if (rep >= 0) console.log(Number(process.hrtime.bigint() - start) / 1e6);
}
