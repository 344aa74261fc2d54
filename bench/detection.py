#!/usr/bin/env python3
"""DETR-R50 on images of 800 x 1066 in bf16: ours beside transformers, random weights, interleaved, medians of one run.

    bench/detection.py build/bench/detection [--rounds 3] [--reps 10]

Forward passes of 1 and 8 images beside the faster one of transformers eager and compiled; a training step of 8 images with
matcher and losses beside transformers eager, whose matcher does not compile. Both under autocast.
"""
import argparse
import statistics
import subprocess
import time

import torch
from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

HEIGHT, WIDTH = 800, 1066


def make():
    backbone = ResNetConfig(out_features=["stage4"])
    return DetrForObjectDetection(DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                             backbone_config=backbone, num_labels=91)).cuda()


def timed(step, reps):
    for _ in range(4):
        step()
    times = []
    for _ in range(reps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def forward_steps(batch):
    model = make().eval()
    x = torch.randn(batch, 3, HEIGHT, WIDTH, device="cuda")
    mask = torch.ones(batch, HEIGHT, WIDTH, device="cuda", dtype=torch.long)

    def step(run):
        def forward():
            with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
                run(pixel_values=x, pixel_mask=mask)
        return forward
    return [step(model), step(torch.compile(model))]


def training_steps(batch):
    model = make().train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(batch, 3, HEIGHT, WIDTH, device="cuda")
    mask = torch.ones(batch, HEIGHT, WIDTH, device="cuda", dtype=torch.long)
    labels = [{"class_labels": torch.randint(0, 91, (7,), device="cuda"), "boxes": torch.rand(7, 4, device="cuda") * .4 + .2}
              for _ in range(batch)]

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(pixel_values=x, pixel_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), .1)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return [step]


def ours(program, *words):
    out = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.split("\n")
    return [float(line) for line in out if line and line[0].isdigit()]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--reps", type=int, default=10)
options = parser.parse_args()
torch.set_float32_matmul_precision("high")
print(f"{'work':34}{'ours ms':>10}{'torch ms':>10}{'ratio':>8}")
for batch, training in ((1, False), (8, False), (8, True)):
    steps = training_steps(batch) if training else forward_steps(batch)
    mine, theirs = [], [[] for _ in steps]
    for _ in range(options.rounds):
        mine += ours(options.program, "--batch", str(batch), "--reps", str(options.reps), *(["--train"] if training else []))
        for times, step in zip(theirs, steps):
            times += timed(step, options.reps)
    a, b = statistics.median(mine), min(statistics.median(times) for times in theirs)
    what = f"detr-r50 {'training step' if training else 'forward'}, batch {batch}"
    print(f"{what:34}{a:10.3f}{b:10.3f}{b / a:8.2f}", flush=True)
