#!/usr/bin/env python3
"""BERT-base reading texts of 128 tokens: ours beside torch, same weights, interleaved, in one run.

    ninja -C build bench_bert_encoding
    bench/bert_encoding.py build/bench/bert_encoding --device cuda [--batches 64] [--rounds 5]
    bench/bert_encoding.py build/bench/bert_encoding --device cpu [--batches 1 8] [--threads 2] [--weights f32 bf16 int8]

Weights are random, written once to --folder. First the states of the last layer are compared with torch's in f32: the
largest difference, relative to the largest state. Then rounds of ours and theirs alternate; printed are medians, the spread
over the rounds and torch's time over ours.

On a GPU, bf16, the peer is transformers, compiled and eager. On the CPU it is torch's own functions: f32 by the faster of its
BLAS and oneDNN with weights laid out once, measured before; bf16: the same in bfloat16; int8: torch's dynamically quantised
layers (fbgemm).
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


DTYPES = {"F32": torch.float32, "I64": torch.int64}


def read_states(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, data = json.loads(data[8:8 + size]), data[8 + size:]
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[slice(*entry["data_offsets"])]), dtype=DTYPES[entry["dtype"]])
            .reshape(entry["shape"]) for name, entry in header.items()}


def peers(options, weights):
    """name -> a function of ids that gives the last layer's states."""
    if options.device == "cpu":
        return {f"torch {weights}": Bert(options.folder, weights)}
    from transformers import BertModel
    model = BertModel.from_pretrained(options.folder, add_pooling_layer=False).bfloat16().to(options.device).eval()
    compiled = torch.compile(model)
    return {"transformers compiled": lambda ids: compiled(ids).last_hidden_state,
            "transformers eager": lambda ids: model(ids).last_hidden_state}


def seconds(options, run, ids, reps):
    def wait():
        if options.device != "cpu":
            torch.cuda.synchronize()
    times = []
    for _ in range(reps):
        wait()
        start = time.perf_counter()
        run(ids)
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-bert-bench"))
    parser.add_argument("--threads", type=int, default=2, help="CPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batches", type=int, nargs="+", help="64 on a GPU, 1 and 8 on the CPU")
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16", "int8"], help="CPU")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    gpu = options.device != "cpu"
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder], check=True)
    states = options.folder / "states.safetensors"
    reps = 30 if gpu else 6

    def ours(weights, batch, *flags):
        how = ["--dtype", "bf16"] if gpu else ["--weights", weights, "--threads", options.threads]
        command = [options.program, "--model", options.folder, "--device", options.device, *how, "--batch", batch, "--length",
                   options.length, *flags]
        return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
    exact_model = Bert(options.folder, "f32")
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if gpu else f'{options.threads} threads'}; medians of "
          f"{options.rounds} rounds")
    all_peers = {weights: peers(options, weights) for weights in (["bf16"] if gpu else options.weights)}
    for batch in options.batches or ([64] if gpu else [1, 8]):
        for weights, theirs in all_peers.items():
            one = ours(weights, batch, "--reps", 1, "--states", states)
            saved = read_states(states)
            exact, ids = exact_model(saved["ids"]), saved["ids"].to(options.device)

            def error(given):
                return float((given.float().cpu() - exact).abs().max() / exact.abs().max())
            errors = {"attend": error(saved["states"]), **{name: error(run(ids)) for name, run in theirs.items()}}
            times = {name: [] for name in errors}
            for name, run in theirs.items():
                seconds(options, run, ids, 5)
            for _ in range(options.rounds):
                times["attend"].append(statistics.median(ours(weights, batch, "--reps", reps)["seconds"]))
                for name, run in theirs.items():
                    times[name].append(seconds(options, run, ids, reps))
            middle = statistics.median(times["attend"])
            print(f"{batch} x {options.length} tokens, {weights}: {one['weights_mb']:.0f} MB of weights, our process "
                  f"{one['peak_mb']:.0f} MB at most")
            for name, values in times.items():
                value = statistics.median(values)
                print(f"  {name:>21}: {1e3 * value:8.2f} ms +-{50 * (max(values) - min(values)) / value:3.0f} %  error "
                      f"{errors[name]:.1e}  ours is {value / middle:.2f}x", flush=True)
            if errors["attend"] > 0.1:
                raise SystemExit("the two sides do not compute the same")


if __name__ == "__main__":
    main()
