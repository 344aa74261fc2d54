#!/usr/bin/env python3
"""A training step of GPT-2 124M, 64 x 1,024 tokens, bf16: ours beside torch compiled and llm.c, interleaved, in one run.

    bench/gpt2_training.py build/bench/gpt2_training [--batch 64] [--length 1024] [--rounds 5] [--eager] [--dtypes bf16 fp8]
                           [--llmc PATH]

All sides start from the same weights (vocabulary padded to 50,304) on the same ids; the losses of the first step are
compared. torch: autocast bf16, scaled_dot_product_attention, fused AdamW, clipping at 1, no dropout, torch.compile of
the model with its loss. llm.c: --llmc is its program or its folder; bench/peers/llmc.py says how to get it. Memory:
torch's peak of allocated bytes, and what nvidia-smi sees of the programs.
"""
import argparse
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from gpu_steps import WatchedMemory, print_table, torch_times
from peers.llmc import LLMC
from peers.torch_transformer import scaled_dot_product
from side_by_side import write_safetensors

VOCABULARY, WIDTH, HEADS, LAYERS = 50304, 768, 12, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.expand, self.contract = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.view(*t.shape[:2], HEADS, -1).transpose(1, 2) for t in self.qkv(self.ln_1(x)).chunk(3, -1))
        y = scaled_dot_product(q, k, v, causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(x.shape))
        return x + self.contract(F.gelu(self.expand(self.ln_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(length, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if "proj" in name or "contract" in name else 0.02)

    def forward(self, ids, labels):
        x = self.wte(ids) + self.wpe.weight[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1), ignore_index=-100)


def save(model, folder, length):
    """As a Hugging Face folder, whose GPT-2 has its matrices the other way around."""
    names = {"qkv": "attn.c_attn", "proj": "attn.c_proj", "expand": "mlp.c_fc", "contract": "mlp.c_proj", "ln_1": "ln_1", "ln_2": "ln_2"}
    tensors = {}
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        if parts[0] == "blocks":
            name = f"h.{parts[1]}.{names[parts[2]]}.{parts[3]}"
            if parts[2] in ("qkv", "proj", "expand", "contract") and parts[3] == "weight":
                parameter = parameter.t()
        tensors["transformer." + name.replace("norm.", "ln_f.")] = parameter.detach().contiguous().cpu()
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": VOCABULARY, "n_positions": length}, file)


def ids_of(batch, length):
    """The formula of gpt2_training.cpp."""
    i = torch.arange(batch * length, dtype=torch.int64)
    return (i * i % 1_000_003 * 31 % VOCABULARY).view(batch, length)


def torch_step(folder, options, compiled):
    torch.manual_seed(1)
    model = Model(options.length)
    save(model, folder, options.length)
    model = model.cuda()
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=True)
    ids = ids_of(options.batch, options.length).cuda()
    labels = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], 1)

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(ids, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


class Ours:
    def __init__(self, options, dtype, folder):
        self.name = "ours" if dtype == options.dtypes[0] else f"ours {dtype}"
        self.command = [options.program, "--model", folder, "--batch", str(options.batch), "--length", str(options.length),
                        "--dtype", dtype, "--recompute", options.recompute]

    def run(self, steps):
        """Loss of the first step, and the milliseconds of `steps` later ones."""
        command = [*self.command, "--reps", str(steps)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return float(lines[0]), list(map(float, lines[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtypes", nargs="+", default=["bf16"], help="of ours: bf16, fp8 (torch stays in bf16)")
    parser.add_argument("--recompute", default="none", help="of ours: none, feed-forward, layer")
    parser.add_argument("--eager", action="store_true", help="also time torch without torch.compile")
    parser.add_argument("--llmc", type=pathlib.Path, help="llm.c's program train_gpt2cu, or the folder it was built in")
    parser.add_argument("--llmc-flags", type=shlex.split, default=["-r", "0"],
                        help='more flags for it; "-r 0" (unless told): keep what GELU gives, as ours does')
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    with tempfile.TemporaryDirectory() as folder:
        steps = {"torch compiled": torch_step(folder, options, True)}
        if options.eager:
            steps["torch eager"] = torch_step(folder, options, False)
        losses = {name: float(step()) for name, step in steps.items()}
        torch.cuda.reset_peak_memory_stats()
        for step in steps.values():
            torch_times(step, 4)
        programs = [Ours(options, dtype, folder) for dtype in options.dtypes]
        if options.llmc:
            programs.append(LLMC(options, folder, ids_of(options.batch, options.length)))
        times, memory = {name: [] for name in (*(program.name for program in programs), *steps)}, {}
        for _ in range(options.rounds):
            for program in programs:
                with WatchedMemory() as watched:
                    losses[program.name], measured = program.run(10)
                memory[program.name] = watched.peak_bytes / 2**30
                times[program.name].append(statistics.median(measured))
            for name, step in steps.items():
                times[name].append(statistics.median(torch_times(step, 10)))
    tokens = options.batch * options.length
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; medians over {options.rounds} rounds of 10 steps")
    print("losses of the first step: " + ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items()))
    print("memory: " + ", ".join(f"{name} {used:.1f} GiB in all" for name, used in memory.items()) +
          f", torch {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB allocated")
    products = 12 * LAYERS * WIDTH**2 + VOCABULARY * WIDTH  # weights that every token meets
    print_table(times, tokens, 6 * tokens * (products + LAYERS * WIDTH * options.length))
    worst = max(abs(loss - losses["ours"]) for loss in losses.values())
    if not worst < 0.02 * math.log(VOCABULARY):
        raise SystemExit(f"the losses differ by {worst:.4f}: the sides do not compute the same")


if __name__ == "__main__":
    main()
