#!/usr/bin/env python3
"""BERT-base reading 64 texts of 128 tokens, bf16: ours beside transformers with torch.compile, interleaved, in one run.

    bench/bert_encoding.py build/bench/bert_encoding [--batch 64] [--length 128] [--rounds 5]

Both sides have the same weights and ids; the states of the first text are compared by the sum of their sizes.
"""
import argparse
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import BertConfig, BertModel


def torch_times(run, reps):
    times = []
    for _ in range(reps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.no_grad():
            states = run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times, states


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(1)
    model = BertModel(BertConfig(), add_pooling_layer=False).eval()
    i = torch.arange(options.batch * options.length, dtype=torch.int64)
    ids = (i * i % 1_000_003 * 31 % model.config.vocab_size).view(options.batch, options.length).cuda()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model = model.cuda().bfloat16()
        compiled = torch.compile(model)
        runs = {"transformers compiled": lambda: compiled(ids).last_hidden_state, "transformers eager": lambda: model(ids).last_hidden_state}
        for run in runs.values():
            torch_times(run, 5)
        times = {"ours": [], **{name: [] for name in runs}}
        for _ in range(options.rounds):
            command = [options.program, "--model", folder, "--batch", str(options.batch), "--length", str(options.length)]
            lines = list(map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()))
            times["ours"].append(statistics.median(lines[1:]))
            for name, run in runs.items():
                measured, states = torch_times(run, 30)
                times[name].append(statistics.median(measured))
    size = float(states[0].float().abs().sum())
    middle = statistics.median(times["ours"])
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {options.batch} x {options.length}; sizes of the states: ours {lines[0]:.1f}, torch {size:.1f}")
    for name, values in times.items():
        value = statistics.median(values)
        print(f"{name:>22}: {value:6.3f} ms  spread {min(values):.3f} to {max(values):.3f}  ours is {value / middle:.2f}x")
    if abs(size - lines[0]) > 0.02 * size:
        raise SystemExit("the two sides do not compute the same")


if __name__ == "__main__":
    main()
