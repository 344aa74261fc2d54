#!/usr/bin/env python3
"""One Transformer encoder layer, forward and backward: ours beside PyTorch's, interleaved, in one run.

    bench/layer.py build/bench/layer [--threads 2] [--rounds 7]

First both compute the same numbers from the same weights: the largest error of our output and gradients, relative to
each tensor's largest value, against torch in float64 (in float32 torch's own relu gradients flip where a sum is near 0).
Then rounds of ours / theirs alternate, and the medians and their ratio are printed. "fast": f32 products as three bf16
products on the matrix units.
"""
import argparse
import statistics
import subprocess
import tempfile
import time

import torch

from side_by_side import read_safetensors


def ours(program, arguments):
    output = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    return [float(line) for line in output.split()]


def torch_layer():
    return torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, activation="relu", batch_first=True)


def largest_error(program, shape):
    """Our output and gradients against torch's, from our weights."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        ours(program, [*shape, "--reps", "1", "--dump", file.name])
        saved = read_safetensors(file.name)
    layer = torch_layer().double()
    names = dict(layer.named_parameters())
    with torch.no_grad():
        for name, parameter in names.items():
            parameter.copy_(saved[name])
    x = saved["x"].double().requires_grad_()
    y = layer(x)
    y.backward(saved["dy"].double())
    pairs = [(saved["y"], y.detach()), (saved["dx"], x.grad)] + [(saved["grad." + n], p.grad) for n, p in names.items()]
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


def torch_times(batch, length, reps):
    layer = torch_layer()
    x, dy = torch.randn(batch, length, 512, requires_grad=True), torch.randn(batch, length, 512)
    times = []
    for rep in range(-2, reps):
        for tensor in [x, *layer.parameters()]:
            tensor.grad = None
        start = time.perf_counter()
        layer(x).backward(dy)
        if rep >= 0:
            times.append(1e3 * (time.perf_counter() - start))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {options.threads} threads; milliseconds, medians over {options.rounds} rounds")
    print(f"{'batch x length':>14} {'ours':>9} {'fast':>9} {'bf16':>9} {'torch':>9} {'ratio':>7} {'fast':>7} {'error':>9}")
    for batch, length in [(8, 128), (32, 32), (1, 1024)]:
        shape = ["--batch", str(batch), "--length", str(length), "--threads", str(options.threads)]
        error = largest_error(options.program, shape)
        columns = {"ours": [], "fast": [], "bf16": [], "torch": []}
        for _ in range(options.rounds):
            columns["ours"].append(statistics.median(ours(options.program, [*shape, "--reps", "5"])))
            columns["fast"].append(statistics.median(ours(options.program, [*shape, "--reps", "5", "--fast"])))
            columns["bf16"].append(statistics.median(ours(options.program, [*shape, "--reps", "5", "--dtype", "bf16"])))
            columns["torch"].append(statistics.median(torch_times(batch, length, 5)))
        plain, fast, bf16, theirs = (statistics.median(columns[name]) for name in columns)
        print(f"{batch:>6} x {length:<5} {plain:9.2f} {fast:9.2f} {bf16:9.2f} {theirs:9.2f} {theirs / plain:6.2f}x {theirs / fast:6.2f}x {error:9.1e}")


if __name__ == "__main__":
    main()
