#!/usr/bin/env python3
"""Training steps on the CPU: ours beside torch eager in f32, interleaved, in one run.

    ninja -C build bench
    bench/cpu_training.py build/bench [--threads 2] [--rounds 3] [--only gpt2 base] [--dtypes f32 bf16x3 bf16]

gpt2: GPT-2 124M, 4 x 64 tokens, AdamW; both start from the same weights, and the losses of the first step are compared. base:
Transformer base, 16 x (32 + 32) tokens, 32,000 words, dropout, label smoothing, Adam; tokens per second are the target's.
Gradients are clipped at 1. bf16x3 is f32 by three bf16 products; in bf16 the weights that are updated stay f32. Printed are
medians, half the spread over the rounds, and how many times faster ours is than torch.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn

import gpt2_training
import translation_training


def stepper(model, optimizer, *inputs):
    """A step of torch's: gives its loss."""
    def step():
        loss = model(*inputs)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss)
    return step


class Gpt2:
    title, tokens = "GPT-2 124M, 4 x 64 tokens", 4 * 64

    def __init__(self, programs, folder):
        model = gpt2_training.Model(64)
        gpt2_training.save(model, folder, 64)
        ids = gpt2_training.ids_of(4, 64)
        labels = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], 1)
        optimizer = torch.optim.AdamW(model.parameters(), 1e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
        self.step = stepper(model, optimizer, ids, labels)
        self.command = [programs / "gpt2_training", "--model", folder, "--batch", "4", "--length", "64"]

    def times_in(self, printed):
        return printed[1:]

    def check(self, printed, loss):
        if not abs(float(printed[0]) - loss) < 0.01:
            raise SystemExit(f"losses of the first step: ours {printed[0]}, torch's {loss}: the two do not compute the same")


class Base:
    title, tokens = "Transformer base, 16 x (32 + 32) tokens", 16 * 32

    def __init__(self, programs, _):
        words = 32000
        model = translation_training.Transformer(words)
        optimizer = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), eps=1e-9)
        self.step = stepper(model, optimizer, *(torch.randint(words, (16, 32)) for _ in range(3)))
        self.command = [programs / "translation_training", "--preset", "base", "--sentences", "16", "--length", "32",
                        "--vocabulary", str(words)]

    def times_in(self, printed):
        return printed

    def check(self, printed, loss):
        pass  # weights and batches are random on both sides


def compare(work, options):
    print(work.title)
    first = work.step()
    times = {name: [] for name in (*options.dtypes, "torch")}
    for _ in range(options.rounds):
        for dtype in options.dtypes:
            command = [*work.command, "--device", "cpu", "--threads", str(options.threads), "--dtype", dtype, "--reps", "3"]
            printed = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.split()
            work.check(printed, first)
            times[dtype].append(1e-3 * statistics.median(map(float, work.times_in(printed))))
        for _ in range(3):
            start = time.perf_counter()
            work.step()
            times["torch"].append(time.perf_counter() - start)
    theirs = statistics.median(times["torch"])
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        spread = 50 * (max(seconds) - min(seconds)) / middle
        ratio = "" if name == "torch" else f"  {theirs / middle:5.2f}x torch"
        print(f"  {name if name == 'torch' else 'attend ' + name:14} {1e3 * middle:8.1f} ms +-{spread:3.0f} %  "
              f"{work.tokens / middle:7.0f} tokens/s{ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path, help="the folder build/bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["gpt2", "base"], choices=["gpt2", "base"])
    parser.add_argument("--dtypes", nargs="+", default=["f32", "bf16x3", "bf16"])
    options = parser.parse_args()
    for program in ("gpt2_training", "translation_training"):
        if not (options.programs / program).exists():
            raise SystemExit(f"there is no {options.programs / program}: ninja -C build bench, then give build/bench")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {options.threads} threads; medians of {options.rounds} rounds")
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            compare({"gpt2": Gpt2, "base": Base}[name](options.programs, folder), options)


if __name__ == "__main__":
    main()
