#!/usr/bin/env python3
"""A training step of Transformer base on 800 x (32 + 32) tokens, bf16: ours beside torch, interleaved, in one run.

    bench/translation_training.py build/bench/translation_training [--rounds 5] [--eager]

Both sides: 6 + 6 layers, width 512, FFN 2048, 8 heads, vocabulary 37,000 shared with the output, dropout 0.1 (of
embeddings and sublayers), label smoothing 0.1, clipping at 1, Adam. torch: autocast bf16, fused Adam,
scaled_dot_product_attention, torch.compile.
"""
import argparse
import math
import statistics
import subprocess

import torch
import torch.nn.functional as F
from torch import nn

from gpu_steps import print_table, torch_times
from peers.torch_transformer import scaled_dot_product

WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY = 512, 8, 2048, 6, 37000
SENTENCES, LENGTH = 800, 32


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.memory, self.output = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, memory, causal):
        def split(t):
            return t.view(t.shape[0], t.shape[1], HEADS, -1).transpose(1, 2)

        k, v = self.memory(memory).chunk(2, -1)
        y = scaled_dot_product(split(self.query(x)), split(k), split(v), causal=causal)
        return self.output(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, cross):
        super().__init__()
        self.attention, self.cross = Attention(), Attention() if cross else None
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3 if cross else 2))
        self.drop = nn.Dropout(0.1)

    def forward(self, x, memory=None):
        x = self.norms[0](x + self.drop(self.attention(x, x, memory is not None)))
        if self.cross is not None:
            x = self.norms[1](x + self.drop(self.cross(x, memory, False)))
        return self.norms[-1](x + self.drop(self.feed_forward(x)))


class Transformer(nn.Module):
    def __init__(self, vocabulary=VOCABULARY):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.encoder = nn.ModuleList(Layer(False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Layer(True) for _ in range(LAYERS))
        self.drop = nn.Dropout(0.1)
        angles = torch.arange(LENGTH)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).reshape(LENGTH, WIDTH))

    def embed(self, ids):
        return self.drop(self.embedding(ids) * math.sqrt(WIDTH) + self.positions)

    def forward(self, source, target, labels):
        memory = self.embed(source)
        for layer in self.encoder:
            memory = layer(memory)
        x = self.embed(target)
        for layer in self.decoder:
            x = layer(x, memory)
        logits = F.linear(x, self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.view(-1), label_smoothing=0.1)


def torch_step(compiled):
    torch.manual_seed(1)
    model = Transformer().cuda()
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    source, target, labels = (torch.randint(VOCABULARY, (SENTENCES, LENGTH), device="cuda") for _ in range(3))

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(source, target, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--eager", action="store_true", help="also time torch without torch.compile")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    columns = {"ours": None, "torch compiled": torch_step(True)}
    if options.eager:
        columns["torch eager"] = torch_step(False)
    for step in filter(None, columns.values()):
        torch_times(step, 5)
    times = {name: [] for name in columns}
    for _ in range(options.rounds):
        for name, step in columns.items():
            if step is None:
                output = subprocess.run([options.program, "--vocabulary", str(VOCABULARY)], check=True, capture_output=True, text=True).stdout
                times[name].append(statistics.median(map(float, output.split())))
            else:
                times[name].append(statistics.median(torch_times(step, 15)))
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; medians over {options.rounds} rounds")
    side = SENTENCES * LENGTH  # tokens; an encoder layer has 12 C^2 weights in products, a decoder layer 16
    print_table(times, 2 * side, 6 * side * (LAYERS * (12 + 16) * WIDTH**2 + VOCABULARY * WIDTH))


if __name__ == "__main__":
    main()
