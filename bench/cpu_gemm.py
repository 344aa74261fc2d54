#!/usr/bin/env python3
"""The CPU matrix product beside PyTorch's, x·Wᵀ in f32 and bf16, interleaved, in one run.

    bench/cpu_gemm.py build/bench/cpu_gemm [--threads 16] [--rounds 5]

Prints GFLOP/s (medians over the rounds) and the ratio ours / torch. f32 "exact" is plain f32 arithmetic, as torch's;
"split" does an f32 product as three bf16 products, which is our default where there are matrix units.
"""
import argparse
import statistics
import subprocess
import time

import torch

SHAPES = [(8, 3072, 768), (64, 3072, 768), (512, 768, 768), (512, 3072, 768), (4096, 768, 3072), (512, 50257, 768)]


def ours(program, shape, threads):
    """exact, split and bf16 rates, packing in every call."""
    name = "x".join(map(str, shape))
    command = [program, "--threads", str(threads), "--rounds", "15", "--only", name, "--no-packed"]
    row = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    return [float(word) for word in row.split("|")[0].split()[6:9]]


def torch_rate(shape, dtype):
    m, n, k = shape
    x, w = torch.randn(m, k).to(dtype), torch.randn(n, k).to(dtype)
    repeats = max(3, int(2e9 / (2 * m * n * k)))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.nn.functional.linear(x, w)
        times.append(time.perf_counter() - start)
    return 2e-9 * m * n * k / statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads, GFLOP/s")
    print(f"{'m x n x k':>18} {'exact':>8} {'split':>8} {'torch':>8} {'ratios':>13} | {'bf16':>8} {'torch':>8} {'ratio':>6}")
    for shape in SHAPES:
        rounds = [[*ours(options.program, shape, options.threads), torch_rate(shape, torch.float32), torch_rate(shape, torch.bfloat16)]
                  for _ in range(options.rounds)]
        exact, split, bf16, f32_peer, bf16_peer = (statistics.median(column) for column in zip(*rounds))
        print(f"{'x'.join(map(str, shape)):>18} {exact:8.0f} {split:8.0f} {f32_peer:8.0f} {exact / f32_peer:6.2f} {split / f32_peer:6.2f} |"
              f" {bf16:8.0f} {bf16_peer:8.0f} {bf16 / bf16_peer:6.2f}", flush=True)


if __name__ == "__main__":
    main()
