#!/usr/bin/env python3
"""ViT-B/16, Swin-T and ResNet-50 on 224 x 224 images: ours beside transformers with torch.compile, and beside ONNX Runtime
on a CPU; random weights, interleaved, medians of one run.

    bench/vision.py build/bench/vision [--models vit-b16 swin-t resnet-50] [--work training] [--rounds 3] [--reps 20]      # one GPU, bf16
    bench/vision.py build/bench/vision --cpu --threads 2 [--forms f32 bf16 int8]                         # batch 1
    bench/vision.py build-gpu/bench/vision --all                                                         # both tables

torch's forward is the faster one of bf16 weights and of autocast, its training step autocast with fused AdamW. ONNX Runtime
gets the same model exported by torch, as f32, and as int8 by dynamic and by static quantisation, of which the faster counts; it
has no bf16 for CPUs, so our bf16 stands beside its f32. Without its Python package: --onnxruntime FOLDER of the npm package (peers/onnxruntime_sessions.py), and
Debian's python3-torch, python3-torchvision and python3-onnx.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

from peers import onnxruntime_sessions, onnxruntime_static

MODELS = ("vit-b16", "swin-t", "resnet-50")
WORK = {"forward": (1, False), "forward-256": (256, False), "training": (256, True)}  # on a GPU: batch, and whether it learns


def make(name):
    """Of transformers, or of torchvision where that is not installed."""
    try:
        import transformers  # noqa: F401
    except ImportError:
        import torchvision.models as models
        return {"vit-b16": models.vit_b_16, "swin-t": models.swin_t, "resnet-50": models.resnet50}[name]()
    from transformers import (ResNetConfig, ResNetForImageClassification, SwinConfig, SwinForImageClassification, ViTConfig,
                              ViTForImageClassification)
    return {"vit-b16": lambda: ViTForImageClassification(ViTConfig(num_labels=1000)),
            "swin-t": lambda: SwinForImageClassification(SwinConfig(num_labels=1000)),
            "resnet-50": lambda: ResNetForImageClassification(ResNetConfig(num_labels=1000))}[name]()


def ours(program, *words):
    """Milliseconds of every repetition."""
    out = subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.split("\n")
    return [float(line) for line in out if line and line[0].isdigit()]


def timed(step, reps):
    for _ in range(5):
        step()
    times = []
    for _ in range(reps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times


class Torch:
    """One model and batch, compiled once, timed in every round."""

    def __init__(self, name, batch, training):
        channels_last = torch.channels_last if name == "resnet-50" else torch.contiguous_format
        x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=channels_last)
        model = make(name).cuda().to(memory_format=channels_last)
        self.steps = []
        if training:
            model.train()
            optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
            ready, labels = torch.compile(model), torch.randint(0, 1000, (batch,), device="cuda")

            def step():
                with torch.autocast("cuda", torch.bfloat16):
                    logits = ready(pixel_values=x).logits
                F.cross_entropy(logits.float(), labels).backward()
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            self.steps.append(step)
            return
        mixed = torch.compile(model.eval())
        half, x_half = torch.compile(make(name).cuda().bfloat16().to(memory_format=channels_last).eval()), x.bfloat16()

        def autocast():
            with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
                mixed(pixel_values=x)

        def pure():
            with torch.no_grad():
                half(pixel_values=x_half)
        self.steps += [autocast, pure]

    def run(self, reps):
        return min((timed(step, reps) for step in self.steps), key=statistics.median)


def gpu(options):
    torch.set_float32_matmul_precision("high")
    print(f"{'work':34}{'ours ms':>10}{'torch ms':>10}{'ratio':>8}{'ours/s':>10}{'torch/s':>10}")
    for name in options.models:
        for batch, training in (WORK[work] for work in options.work):
            torch.cuda.reset_peak_memory_stats()
            torch._dynamo.reset()  # it compiles one function eight times at most, and all models share one
            peer = None if options.no_torch else Torch(name, batch, training)
            mine, theirs = [], []
            for _ in range(options.rounds):
                mine += ours(options.program, "--model", name, "--batch", str(batch), "--reps", str(options.reps),
                             *(["--train"] if training else []))
                theirs += peer.run(options.reps) if peer else [float("nan")]
            a, b = statistics.median(mine), statistics.median(theirs)
            what = f"{name} {'training step' if training else 'forward'}, batch {batch}"
            print(f"{what:34}{a:10.3f}{b:10.3f}{b / a:8.2f}{1e3 * batch / a:10.0f}{1e3 * batch / b:10.0f}"
                  f"   torch's peak {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)
            del peer


def onnx_sessions(name, options, folder):
    class Logits(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x):
            y = self.model(x)
            return getattr(y, "logits", y)
    path, small = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + "-int8.onnx")
    old = {} if torch.__version__.startswith("1.") else {"dynamo": False}
    torch.onnx.export(Logits(make(name).eval()), (torch.randn(1, 3, 224, 224),), path, input_names=["x"],
                      opset_version=18 if old else 16, **old)
    onnxruntime_sessions.quantise(path, small)
    fixed = os.path.join(folder, name + "-static.onnx")
    op_types = onnxruntime_static.CONVOLUTIONS if name == "resnet-50" else onnxruntime_static.PRODUCTS
    onnxruntime_static.quantise_static(path, fixed, (1, 3, 224, 224), options, folder, op_types)
    return {form: onnxruntime_sessions.Session(file, (1, 3, 224, 224), options)
            for form, file in (("f32", path), ("int8 dynamic", small), ("int8 static", fixed))}


def cpu(options):
    print(f"{'work':34}{'ours ms':>10}{'ORT ms':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            sessions = onnx_sessions(name, options, folder)
            beside = {form: [peer for peer in sessions if peer.startswith("int8" if form == "int8" else "f32")]
                      for form in options.forms}
            mine = {form: [] for form in options.forms}
            theirs = {(form, peer): [] for form in options.forms for peer in beside[form]}
            for _ in range(options.rounds):
                for form in options.forms:
                    mine[form] += ours(options.program, "--model", name, "--device", "cpu", "--dtype", "f32", "--weights", form,
                                       "--threads", str(options.threads), "--reps", str(options.reps))
                    for peer in beside[form]:
                        theirs[form, peer] += sessions[peer].milliseconds(options.reps)
            for form in options.forms:
                a = statistics.median(mine[form])
                peers = {peer: statistics.median(theirs[form, peer]) for peer in beside[form]}
                b = min(peers.values())
                each = ", ".join(f"{peer} {ms:.2f}" for peer, ms in peers.items()) if len(peers) > 1 else ""
                print(f"{name + ' batch 1, ' + form:34}{a:10.2f}{b:10.2f}{b / a:8.2f}   {each}", flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
parser.add_argument("--work", nargs="+", default=list(WORK), choices=WORK, help="GPU: what is timed")
parser.add_argument("--cpu", action="store_true", help="a CPU beside ONNX Runtime, not a GPU beside torch")
parser.add_argument("--all", action="store_true", help="the GPU, then the CPU")
parser.add_argument("--forms", nargs="+", default=["f32", "bf16", "int8"], choices=["f32", "bf16", "int8"])
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--reps", type=int, default=20)
parser.add_argument("--no-torch", action="store_true", help="ours alone")
onnxruntime_sessions.add_option(parser)
arguments = parser.parse_args()
for table in (gpu, cpu) if arguments.all else (cpu,) if arguments.cpu else (gpu,):
    table(arguments)
