#!/usr/bin/env python3
"""BERT-base reading texts of 128 tokens: ours beside its peers, same weights, interleaved, in one run.

    ninja -C build bench_bert_encoding bench_cpu_roof
    bench/bert_encoding.py build/bench/bert_encoding --device cuda [--batches 64] [--rounds 5]
    bench/bert_encoding.py build/bench/bert_encoding --device cpu [--batches 1 8] [--threads 2] [--weights f32 bf16x3 bf16 int8]
                           [--onnxruntime PATH]

Weights are random, written once to --folder. The states of the last layer are compared with torch's in f32: the largest
difference, relative to the largest state. Rounds alternate; printed are medians of a batch's time, half the spread over the
rounds, the share of the roof (operations of the encoder over the rate of a large product, measured in the same rounds), how
many times faster ours is, and memory.

On a GPU, bf16, the peer is transformers, compiled and eager. On the CPU it is torch's own functions: f32 by the faster of its
BLAS and oneDNN with weights laid out once, measured before; bf16: the same in bfloat16; int8: torch's dynamically quantised
layers (fbgemm, or qnnpack on arm64); and ONNX Runtime (--onnxruntime: a program or a release's folder; bench/peers/onnxruntime.py says how to get
it) in f32, int8 and, on arm64, bf16.
"""
import argparse
import math
import pathlib
import subprocess
import time

import torch
import torch.nn.functional as F

from peers.onnxruntime import OnnxEncoder
from side_by_side import Apart, Cpu, Gpu, Group, Measure, ours_in, peers_in, read_safetensors, run_program
from peers.torch_transformer import Linear

LAYERS, WIDTH, HIDDEN = 12, 768, 3072


class Ours:
    name = "attend"

    def __init__(self, options, *flags):
        self.command = [options.program, "--model", options.folder, "--device", options.device, *flags]
        self.states = options.folder / "states.safetensors"

    def read(self, batch, length, reps):
        """What the program prints, the ids it made up, and their states."""
        result = run_program(*self.command, "--batch", batch, "--length", length, "--reps", reps, "--states", self.states)
        return {**result, **{name: value.clone() for name, value in read_safetensors(self.states).items()}}

    def run(self, ids, reps):
        return self.read(*ids.shape, reps)


class Bert:
    """BERT's encoder by torch's own functions."""

    def __init__(self, folder, weights, threads):
        torch.set_num_threads(threads)
        raw = {name.removeprefix("bert."): value for name, value in read_safetensors(folder / "model.safetensors").items()}
        self.dtype = torch.bfloat16 if weights == "bf16" else torch.float32
        self.raw = {name: value.to(self.dtype) for name, value in raw.items()}
        self.heads = 12
        self.linears = {}
        for i in range(LAYERS):
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
        engines = torch.backends.quantized.supported_engines
        torch.backends.quantized.engine = "fbgemm" if "fbgemm" in engines else "qnnpack"
        return torch.quantization.quantize_dynamic(torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8)

    def __call__(self, ids):
        w, (batch, length) = self.raw, ids.shape
        name = "embeddings."
        x = w[name + "word_embeddings.weight"][ids] + w[name + "position_embeddings.weight"][:length]
        x = self.norm(name + "LayerNorm", x + w[name + "token_type_embeddings.weight"][0])
        for i in range(LAYERS):
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

    def run(self, ids, reps):
        return timed(self, ids, reps)


class Transformers:
    def __init__(self, folder, device, compiled):
        from transformers import BertModel
        self.device = device
        self.model = BertModel.from_pretrained(folder, add_pooling_layer=False).bfloat16().to(device).eval()
        if compiled:
            self.model = torch.compile(self.model)

    def run(self, ids, reps):
        return timed(lambda ids: self.model(ids).last_hidden_state, ids.to(self.device), reps)


def timed(encode, ids, reps):
    seconds = []
    for rep in range(-5, reps):  # the first five are not counted
        start = time.perf_counter()
        states = encode(ids)
        if ids.is_cuda:
            torch.cuda.synchronize()
        if rep >= 0:
            seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "states": states}


def groups(options):
    """weights -> ours and its peers at that precision."""
    if options.device != "cpu":
        peers = [Apart(f"transformers {how}", Transformers, options.folder, options.device, how == "compiled")
                 for how in ("compiled", "eager")]
        return {"bf16": Group([Ours(options, "--dtype", "bf16"), *peers], Gpu())}
    found = {}
    for weights in options.weights:
        runners = [Ours(options, *ours_in(weights), "--threads", options.threads)]
        runners.append(Apart("torch", Bert, options.folder, peers_in(weights), options.threads))
        if options.onnxruntime and OnnxEncoder.has(peers_in(weights)):
            runners.append(OnnxEncoder(options, peers_in(weights)))
        found[weights] = Group(runners, Cpu(options, weights))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-bert-bench"))
    parser.add_argument("--threads", type=int, default=2, help="CPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batches", type=int, nargs="+", help="64 on a GPU, 1 and 8 on the CPU")
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16x3", "bf16", "int8"], help="CPU")
    parser.add_argument("--onnxruntime", type=pathlib.Path, help="CPU: ONNX Runtime's program or folder")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    gpu = options.device != "cpu"
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder], check=True)
    exact_model = Bert(options.folder, "f32", options.threads)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if gpu else f'{options.threads} threads'}; medians of "
          f"{options.rounds} rounds")
    compared = groups(options)
    for batch in options.batches or ([64] if gpu else [1, 8]):
        ids = next(iter(compared.values())).runners[0].read(batch, options.length, 0)["ids"]
        exact = exact_model(ids)
        operations = 2 * LAYERS * ids.numel() * (4 * WIDTH**2 + 2 * WIDTH * HIDDEN + 2 * WIDTH * options.length)

        def error(result, _):
            off = float((torch.as_tensor(result["states"]) - exact).abs().max() / exact.abs().max())
            if off > 0.1:
                raise SystemExit(f"states are off by {off:.1e}: the two sides do not compute the same")
            return f"off by {off:.1e}"
        time_ = Measure("seconds", lambda s: f"{1e3 * s:8.2f} ms", lambda machine, _: operations / machine.operations)
        for weights, group in compared.items():
            print(f"{batch} x {options.length} tokens, {weights}")
            group.compare(options.rounds, [time_], error, ids, 30 if gpu else 6)


if __name__ == "__main__":
    main()
