#!/usr/bin/env python3
"""GPT-2 124M writing greedily on a GPU, bf16: ours beside Hugging Face's generate, interleaved, in one run.

    bench/gpt2_generation.py build/bench/gpt2_generation [--batches 1 64] [--tokens 128] [--rounds 3]

Both sides have the same weights (random, spread so that the choices are clear) and prompts, and write the same number of
tokens; the first ids of the first text are compared.
"""
import argparse
import statistics
import subprocess
import tempfile
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

PROMPT = 16


def prompts(batch, vocabulary):
    """The formula of gpt2_generation.cpp."""
    i = torch.arange(1, batch * PROMPT + 1, dtype=torch.int64)
    return (i * i % 1_000_003 * 31 % vocabulary).view(batch, PROMPT).cuda()


def torch_rate(model, ids, tokens):
    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.no_grad():
        written = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    return ids.shape[0] * tokens / (time.perf_counter() - start), written[0, PROMPT:].tolist()


def ours(program, folder, batch, tokens, reps):
    command = [program, "--model", folder, "--batch", str(batch), "--prompt", str(PROMPT), "--tokens", str(tokens), "--reps", str(reps)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return statistics.median(map(float, lines[:-1])), list(map(int, lines[-1].split()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(initializer_range=0.1)).cuda().eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model = model.bfloat16()
        print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {options.tokens} tokens after {PROMPT}; medians over {options.rounds} rounds")
        for batch in options.batches:
            ids = prompts(batch, model.config.vocab_size)
            torch_rate(model, ids, 16)
            mine, theirs = [], []
            for _ in range(options.rounds):
                rate, written = ours(options.program, folder, batch, options.tokens, 5)
                mine.append(rate)
                rate, expected = torch_rate(model, ids, options.tokens)
                theirs.append(rate)
            same = next((i for i, (a, b) in enumerate(zip(written, expected)) if a != b), options.tokens)
            a, b = statistics.median(mine), statistics.median(theirs)
            print(f"batch {batch:3}: ours {a:9.0f} tokens/s, transformers {b:7.0f}: {a / b:6.1f}x  (ours {min(mine):.0f} to {max(mine):.0f}; the first {same} tokens are the same)")


if __name__ == "__main__":
    main()
