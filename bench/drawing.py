#!/usr/bin/env python3
"""Training a SAGAN of recipes/sagan-cifar10.json's sizes: ours beside the same two networks in torch with torch.compile, one
GPU, random weights and images, interleaved, medians of one run.

    bench/drawing.py build/bench/drawing [--batch 128] [--turns 2] [--rounds 3] [--reps 30] [--no-torch]

A step is so many turns of the discriminator and one of the generator, with spectral norm (torch.nn.utils.parametrizations), Adam
(fused) and the average of the generator's weights (a foreach lerp). torch gets bf16 by autocast and channels last; --modes are
torch.compile's.
"""
import argparse
import statistics
import subprocess
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm

GENERATOR, DISCRIMINATOR, HALVINGS, NOISE, CLASSES = (192, 192, 128, 128), (128, 128, 128, 128), 2, 128, 10


def conv(inside, outside, kernel, bias=True):
    return spectral_norm(nn.Conv2d(inside, outside, kernel, padding=kernel // 2, bias=bias))


class SelfAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.f, self.g = conv(width, width // 8, 1, False), conv(width, width // 8, 1, False)
        self.h, self.o = conv(width, width // 2, 1, False), conv(width // 2, width, 1, False)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        batch, _, height, width = x.shape
        query = self.f(x).flatten(2).transpose(1, 2)
        key, value = F.max_pool2d(self.g(x), 2).flatten(2), F.max_pool2d(self.h(x), 2).flatten(2)
        weights = torch.softmax(query @ key, -1)
        found = (value @ weights.transpose(1, 2)).view(batch, -1, height, width)
        return x + self.gamma * self.o(found)


class ConditionalNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bn = nn.BatchNorm2d(width, affine=False)
        self.gain, self.shift = nn.Embedding(CLASSES, width), nn.Embedding(CLASSES, width)
        nn.init.ones_(self.gain.weight), nn.init.zeros_(self.shift.weight)

    def forward(self, x, classes):
        return self.bn(x) * self.gain(classes)[:, :, None, None] + self.shift(classes)[:, :, None, None]


class Up(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.n1, self.n2 = ConditionalNorm(inside), ConditionalNorm(outside)
        self.c1, self.c2 = conv(inside, outside, 3, False), conv(outside, outside, 3, False)
        self.skip = conv(inside, outside, 1, False)

    def forward(self, x, classes):
        y = self.c1(F.interpolate(F.relu(self.n1(x, classes)), scale_factor=2))
        return self.c2(F.relu(self.n2(y, classes))) + F.interpolate(self.skip(x), scale_factor=2)


class Generator(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.start, self.stage = spectral_norm(nn.Linear(NOISE, 16 * GENERATOR[0])), attention
        self.ups = nn.ModuleList(Up(a, b) for a, b in zip(GENERATOR, GENERATOR[1:]))
        self.attention = SelfAttention(GENERATOR[attention]) if attention else None
        self.norm, self.rgb = nn.BatchNorm2d(GENERATOR[-1]), conv(GENERATOR[-1], 3, 3)

    def forward(self, noise, classes):
        x = self.start(noise).view(-1, GENERATOR[0], 4, 4).contiguous(memory_format=torch.channels_last)
        for i, up in enumerate(self.ups):
            x = up(x, classes)
            if i + 1 == self.stage:
                x = self.attention(x)
        return torch.tanh(self.rgb(F.relu(self.norm(x))))


class Down(nn.Module):
    def __init__(self, inside, outside, first, halves):
        super().__init__()
        self.first, self.halves = first, halves
        self.c1, self.c2 = conv(inside, outside, 3), conv(outside, outside, 3)
        self.skip = conv(inside, outside, 1) if inside != outside or halves else None

    def forward(self, x):
        y = self.c2(F.relu(self.c1(x if self.first else F.relu(x)))) + (self.skip(x) if self.skip else x)
        return F.avg_pool2d(y, 2) if self.halves else y


class Discriminator(nn.Module):
    def __init__(self, attention):
        super().__init__()
        widths = (3, *DISCRIMINATOR)
        self.downs = nn.ModuleList(Down(widths[i], widths[i + 1], i == 0, i < HALVINGS) for i in range(len(DISCRIMINATOR)))
        self.stage = len(GENERATOR) - 1 - attention if attention else 0
        self.attention = SelfAttention(DISCRIMINATOR[self.stage - 1]) if attention else None
        self.out, self.embed = spectral_norm(nn.Linear(DISCRIMINATOR[-1], 1)), spectral_norm(nn.Embedding(CLASSES, DISCRIMINATOR[-1]))

    def forward(self, x, classes):
        for i, down in enumerate(self.downs):
            x = down(x)
            if i + 1 == self.stage:
                x = self.attention(x)
        seen = F.relu(x).sum((2, 3))
        return (self.out(seen)[:, 0] + (seen * self.embed(classes)).sum(1)).float()


class Torch:
    """Both networks, compiled once, timed in every round."""

    def __init__(self, options, mode):
        self.turns = options.turns
        self.generator = Generator(options.attention).cuda().to(memory_format=torch.channels_last)
        self.discriminator = Discriminator(options.attention).cuda().to(memory_format=torch.channels_last)
        settings = dict(betas=(0.0, 0.9), fused=True)
        self.drawing = torch.optim.Adam(self.generator.parameters(), lr=2e-4, **settings)
        self.judging = torch.optim.Adam(self.discriminator.parameters(), lr=4e-4, **settings)
        self.weights = [p.detach() for p in self.generator.parameters()]
        self.average = [p.clone() for p in self.weights]
        self.real = torch.randn(options.batch, 3, 32, 32, device="cuda").to(memory_format=torch.channels_last)
        self.noise = torch.randn(options.batch, NOISE, device="cuda")
        self.classes = torch.arange(options.batch, device="cuda") % CLASSES
        self.draw = torch.compile(self.generator, mode=mode)
        self.judge = torch.compile(self.discriminator, mode=mode)

    def step(self):
        for _ in range(self.turns):
            with torch.autocast("cuda", torch.bfloat16):
                with torch.no_grad():
                    drawn = self.draw(self.noise, self.classes)
                scores = self.judge(torch.cat([self.real, drawn.float()]), torch.cat([self.classes, self.classes]))
            real, fake = scores.chunk(2)
            (F.relu(1 - real).mean() + F.relu(1 + fake).mean()).backward()
            self.judging.step()
            self.judging.zero_grad(set_to_none=True)
        for p in self.discriminator.parameters():
            p.requires_grad_(False)
        with torch.autocast("cuda", torch.bfloat16):
            loss = -self.judge(self.draw(self.noise, self.classes), self.classes).mean()
        loss.backward()
        for p in self.discriminator.parameters():
            p.requires_grad_(True)
        self.drawing.step()
        self.drawing.zero_grad(set_to_none=True)
        torch._foreach_lerp_(self.average, self.weights, 0.001)

    def run(self, reps):
        for _ in range(5):
            self.step()
        times = []
        for _ in range(reps):
            torch.cuda.synchronize()
            start = time.perf_counter()
            self.step()
            torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - start))
        return times


def ours(options):
    """Milliseconds of every repetition."""
    words = ("--batch", options.batch, "--turns", options.turns, "--attention", options.attention, "--reps", options.reps)
    out = subprocess.run([options.program, *map(str, words)], check=True, capture_output=True, text=True).stdout.split("\n")
    return [float(line) for line in out if line and line[0].isdigit()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--attention", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", type=int, default=30)
    parser.add_argument("--modes", nargs="+", default=["default"])
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    peers = [] if options.no_torch else [Torch(options, mode) for mode in options.modes]
    mine, theirs = [], {mode: [] for mode in options.modes}
    for _ in range(options.rounds):
        mine += ours(options)
        for mode, peer in zip(options.modes, peers):
            theirs[mode] += peer.run(options.reps)
    a, seen = statistics.median(mine), options.batch * options.turns
    print(f"batch {options.batch}, {options.turns} turns: ours {a:.3f} ms a step, {1e3 * seen / a:.0f} real images a second")
    for mode, times in theirs.items():
        if times:
            b = statistics.median(times)
            print(f"  torch {mode:28} {b:.3f} ms a step, {1e3 * seen / b:.0f} a second, ours is {b / a:.2f}x")


main()
