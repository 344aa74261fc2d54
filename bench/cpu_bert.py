#!/usr/bin/env python3
"""BERT-base on the CPU, 1 x 128 and 8 x 128 tokens: ours beside torch, same weights, in one run.

    ninja -C build bench_cpu_bert
    bench/cpu_bert.py build/bench/cpu_bert [--threads 2] [--rounds 5]

Weights are random, written once to --folder. First our states of the last layer are compared with torch's in f32: the
largest difference, relative to the largest state. Then rounds of ours and theirs alternate; printed are medians, the spread
over the rounds and torch's time over ours. torch does its products by the faster of its BLAS and oneDNN with weights laid
out once, measured before; bf16: the same in bfloat16; int8: torch's dynamically quantised layers (fbgemm).
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import time

import torch
import torch.nn.functional as F

from translation_decoding import Linear, read_safetensors


class Bert:
    """BERT's encoder by torch's own functions."""

    def __init__(self, folder, weights):
        raw = {name.removeprefix("bert."): value for name, value in read_safetensors(folder / "model.safetensors").items()}
        self.dtype = torch.bfloat16 if weights == "bf16" else torch.float32
        self.name = f"torch {weights}"
        self.raw = {name: value.to(self.dtype) for name, value in raw.items()}
        self.layers, self.heads = 12, 12
        self.linears = {}
        for i in range(self.layers):
            base = f"encoder.layer.{i}."
            both = [torch.cat([self.raw[f"{base}attention.self.{part}.{kind}"] for part in ("query", "key", "value")])
                    for kind in ("weight", "bias")]
            self.linears[i, "qkv"] = self.linear(weights, *both)
            for name, path in (("out", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
                self.linears[i, name] = self.linear(weights, self.raw[f"{base}{path}.weight"], self.raw[f"{base}{path}.bias"])

    @staticmethod
    def linear(weights, weight, bias):
        if weights == "f32":
            return Linear(weight, bias)
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
        layer.weight.data, layer.bias.data = weight, bias
        if weights == "bf16":
            return layer
        return torch.quantization.quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8)

    def __call__(self, ids):
        w, (batch, length) = self.raw, ids.shape
        name = "embeddings."
        x = w[name + "word_embeddings.weight"][ids] + w[name + "position_embeddings.weight"][:length]
        x = self.norm(name + "LayerNorm", x + w[name + "token_type_embeddings.weight"][0])
        for i in range(self.layers):
            base = f"encoder.layer.{i}."
            q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2)
                       for part in self.linears[i, "qkv"](x).split(x.shape[-1], -1))
            scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).softmax(-1)
            read = self.linears[i, "out"]((scores @ v).transpose(1, 2).reshape(x.shape))
            x = self.norm(base + "attention.output.LayerNorm", x + read)
            x = self.norm(base + "output.LayerNorm", x + self.linears[i, "down"](F.gelu(self.linears[i, "up"](x))))
        return x

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.raw[name + ".weight"], self.raw[name + ".bias"], 1e-12)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-bert-bench"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16", "int8"])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder], check=True)
    states = options.folder / "states.safetensors"

    def ours(weights, batch, reps):
        command = [options.program, "--model", options.folder, "--weights", weights, "--threads", options.threads, "--batch",
                   batch, "--reps", reps, "--states", states]
        return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
    models = {weights: Bert(options.folder, weights) for weights in ["f32", *options.weights]}
    for batch in options.batches:
        print(f"{batch} x 128 tokens, {options.threads} threads, {options.rounds} rounds")
        for weights in options.weights:
            ours(weights, batch, 1)
            data = states.read_bytes()
            size = int.from_bytes(data[:8], "little")
            header, data = json.loads(data[8:8 + size]), data[8 + size:]
            kinds = {"F32": torch.float32, "I64": torch.int64}
            saved = {name: torch.frombuffer(bytearray(data[slice(*entry["data_offsets"])]), dtype=kinds[entry["dtype"]])
                     .reshape(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
            exact = models["f32"](saved["ids"])
            error = float((saved["states"] - exact).abs().max() / exact.abs().max())
            theirs_error = float((models[weights](saved["ids"]).float() - exact).abs().max() / exact.abs().max())
            mine, theirs = [], []
            for _ in range(options.rounds):
                mine.append(statistics.median(ours(weights, batch, 6)["seconds"]))
                times = []
                for _ in range(5):
                    start = time.perf_counter()
                    models[weights](saved["ids"])
                    times.append(time.perf_counter() - start)
                theirs.append(statistics.median(times))
            a, b = statistics.median(mine), statistics.median(theirs)
            print(f"  {weights:5} attend {1e3 * a:7.1f} ms +-{50 * (max(mine) - min(mine)) / a:3.0f} % (error {error:.1e})   "
                  f"torch {1e3 * b:7.1f} ms +-{50 * (max(theirs) - min(theirs)) / b:3.0f} % (error {theirs_error:.1e})   "
                  f"x{b / a:5.2f}", flush=True)


if __name__ == "__main__":
    main()
