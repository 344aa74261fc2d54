#!/usr/bin/env python3
"""GPT-2 124M, a prompt and the tokens after it, greedily: ours beside its peers, same weights, interleaved, in one run.

    ninja -C build bench_gpt2_generation bench_cpu_roof
    bench/gpt2_generation.py build/bench/gpt2_generation --device cuda [--batches 1 64] [--tokens 128] [--rounds 3]
                             [--peers transformers eager reduce-overhead max-autotune] [--patience 600]
    bench/gpt2_generation.py build/bench/gpt2_generation --device cpu [--threads 2] [--llama PATH] [--onnxruntime PATH]
                             [--no-torch] [--compile]

On a GPU, bf16: a whole greedy search after 16 tokens beside transformers' generate and beside torch with a static cache, its
step a CUDA graph made in three ways (peers/torch_static.py); weights are spread so that choices are clear. A peer that fails, or
is not done compiling after --patience seconds, is named, and the others are still compared.

On the CPU prompt and tokens are timed apart, with weights in f32, bf16 and int8, beside torch (f32, bf16; also with a static
cache and a compiled step, --compile), llama.cpp (--llama;
f32, bf16 and f16, q8_0) and ONNX Runtime (--onnxruntime; f32, int8 and, on arm64, bf16): each a program or a folder, and
bench/peers says how to get it. What each makes of the prompt is compared with ours in f32: the largest difference of a logit,
relative to the largest logit.

Rounds alternate; printed are medians, half the spread over the rounds, the share of the roof, how many times faster ours is,
memory, and how many of the tokens after the first prompt are ours before one is not. The roof of a prompt: its operations
(the output layer sees only the last token) over the rate of a large product; that of a token: megabytes of our weights over
the rate at which they can be read. Both are measured in the same rounds.

Weights are random, written once to --folder, and go to the peers as they are.
"""
import argparse
import json
import math
import pathlib
import subprocess
import time

import torch

from peers.llama import Llama
from peers.onnxruntime import OnnxGenerator
from side_by_side import Apart, Cpu, Gpu, Group, Measure, ours_in, peers_in, read_safetensors, run_program
from peers.torch_static import StaticSearch, StaticTorch
from peers.torch_transformer import Linear

PROMPT = 16  # on a GPU
LAYERS, WIDTH, VOCABULARY = 12, 768, 50257


class Ours:
    name = "attend"

    def __init__(self, options, *flags):
        self.command = [options.program, "--model", options.folder, "--device", options.device, *flags]
        self.logits = options.folder / "logits.safetensors"

    def prompt(self, batch, length):
        return run_program(*self.command, "--batch", batch, "--prompt", length, "--tokens", 1, "--reps", 0)["prompt"]

    def run(self, prompt, tokens):
        """Prompt and tokens apart."""
        result = run_program(*self.command, "--prompt", len(prompt), "--tokens", tokens, "--reps", 1, "--logits", self.logits)
        return {**result, "logits": read_safetensors(self.logits)["logits"].clone()}


class OurSearch(Ours):
    def run(self, prompts, tokens):
        batch, length = prompts.shape
        return run_program(*self.command, "--batch", batch, "--prompt", length, "--tokens", tokens, "--reps", 5)


class Torch:
    """GPT-2 by torch's own functions, keys and values cached."""

    def __init__(self, options, kind):
        torch.set_num_threads(options.threads)
        self.dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
        raw = read_safetensors(options.folder / "model.safetensors")
        self.weights = {name.removeprefix("transformer."): array.to(self.dtype) for name, array in raw.items()}
        self.layers = 1 + max(int(name.split(".")[1]) for name in self.weights if name.startswith("h."))
        self.heads = json.loads((options.folder / "config.json").read_text())["n_head"]
        self.linears = {name.removesuffix(".weight"): self.linear(name.removesuffix(".weight"))
                        for name, array in self.weights.items() if name.startswith("h.") and array.ndim == 2}
        self.output = self.product(self.weights["wte.weight"], None)

    def linear(self, name):
        return self.product(self.weights[name + ".weight"].t().contiguous(), self.weights[name + ".bias"])

    def product(self, weight, bias):
        if self.dtype == torch.float32:
            return Linear(weight, bias)
        return lambda x: torch.nn.functional.linear(x, weight, bias)

    def forward(self, ids, cache):
        F, w = torch.nn.functional, self.weights
        past = cache[0][0].shape[1] if cache else 0
        x = w["wte.weight"][ids] + w["wpe.weight"][past:past + len(ids)]
        width = x.shape[-1]

        def norm(name, x):
            return F.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"])
        for i in range(self.layers):
            q, k, v = (part.reshape(len(ids), self.heads, -1).transpose(0, 1)
                       for part in self.linears[f"h.{i}.attn.c_attn"](norm(f"h.{i}.ln_1", x)).split(width, 1))
            if past:
                k, v = torch.cat([cache[i][0], k], 1), torch.cat([cache[i][1], v], 1)
                cache[i] = k, v
            else:
                cache.append((k, v))
            scores = q @ k.transpose(1, 2) / math.sqrt(width // self.heads)
            if len(ids) > 1:
                scores = scores + torch.full((len(ids), len(ids)), -math.inf, dtype=self.dtype).triu(1)
            x = x + self.linears[f"h.{i}.attn.c_proj"]((scores.softmax(-1) @ v).transpose(0, 1).reshape(len(ids), width))
            hidden = self.linears[f"h.{i}.mlp.c_fc"](norm(f"h.{i}.ln_2", x))
            x = x + self.linears[f"h.{i}.mlp.c_proj"](F.gelu(hidden, approximate="tanh"))
        return self.output(norm("ln_f", x[-1:]))[0]

    def run(self, prompt, tokens):
        cache = []
        start = time.perf_counter()
        logits = self.forward(torch.tensor(prompt), cache)
        result = {"prefill": [time.perf_counter() - start], "logits": logits.float()}
        start, written = time.perf_counter(), []
        for _ in range(tokens):
            written.append(int(logits.argmax()))
            logits = self.forward(torch.tensor(written[-1:]), cache)
        return {**result, "decode": [time.perf_counter() - start], "tokens": written}


class Transformers:
    def __init__(self, options):
        from transformers import GPT2LMHeadModel
        self.model = GPT2LMHeadModel.from_pretrained(options.folder).bfloat16().to(options.device).eval()

    def run(self, prompts, tokens):
        prompts, written = prompts.to(self.model.device), None
        for length in (16, tokens):  # the first is not counted
            torch.cuda.synchronize()
            start = time.perf_counter()
            written = self.model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=length,
                                          min_new_tokens=length, do_sample=False, pad_token_id=0)
            torch.cuda.synchronize()
        return {"search": [time.perf_counter() - start], "tokens": written[0, prompts.shape[1]:].tolist()}


def same_tokens(result, ours):
    pairs = list(zip(ours["tokens"], result["tokens"]))
    return f"{next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs)):3} of {len(pairs)} tokens"


def rate(count):
    return lambda seconds: f"{count / seconds:8.1f} tok/s"


def cpu_group(options, weights):
    runners = [Ours(options, *ours_in(weights), "--threads", options.threads)]
    theirs = peers_in(weights)
    if options.llama:
        runners += [Llama(options, kind) for kind in {"f32": ["f32"], "bf16": ["bf16", "f16"], "int8": ["q8_0"]}[theirs]]
    if options.onnxruntime and OnnxGenerator.has(theirs):
        runners.append(OnnxGenerator(options, theirs))
    if options.torch and theirs != "int8":
        runners.append(Apart("torch", Torch, options, theirs))
        if options.compile:
            runners.append(Apart("torch, compiled", StaticTorch, options, theirs))
    return Group(runners, Cpu(options, weights))


def on_cpu(options):
    groups = {weights: cpu_group(options, weights) for weights in options.weights}
    first = Ours(options, "--weights", "f32", "--threads", options.threads)
    for length in options.prompts:
        prompt = first.prompt(1, length)
        exact = first.run(prompt, 0)["logits"]
        operations = 2 * LAYERS * length * (12 * WIDTH**2 + WIDTH * length) + 2 * VOCABULARY * WIDTH

        def remark(result, ours):
            off = float((torch.as_tensor(result["logits"]) - exact).abs().max() / exact.abs().max())
            return f"off by {off:.1e}, {same_tokens(result, ours)}"
        measures = [Measure("prefill", rate(length), lambda machine, _: operations / machine.operations),
                    Measure("decode", rate(options.tokens), lambda machine, mb: options.tokens * 1e6 * mb / machine.bytes)]
        print(f"torch {torch.__version__}; prompt {length}, {options.tokens} tokens after it, {options.threads} threads, "
              f"{options.rounds} rounds")
        for weights, group in groups.items():
            print(f" {weights}")
            group.compare(options.rounds, measures, remark, prompt, options.tokens)


def on_gpu(options):
    peers = [Apart(name, Transformers, options) if name == "transformers" else Apart(f"torch, {name}", StaticSearch, options, name)
             for name in options.peers]
    group = Group([OurSearch(options, "--dtype", "bf16", "--search"), *peers], Gpu())
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {options.tokens} tokens after {PROMPT}; medians over "
          f"{options.rounds} rounds", flush=True)
    for batch in options.batches:
        prompts = torch.tensor(group.runners[0].prompt(batch, PROMPT)).view(batch, PROMPT)
        search = Measure("search", rate(batch * options.tokens), lambda machine, mb: options.tokens * 1e6 * mb / machine.bytes)
        print(f"batch {batch}", flush=True)
        group.compare(options.rounds, [search], same_tokens, prompts, options.tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, help="of the weights; /tmp/attend-gpt2-DEVICE unless told")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="GPU: prompts at once")
    parser.add_argument("--peers", nargs="*", default=["transformers", "eager", "reduce-overhead", "max-autotune"], help="GPU")
    parser.add_argument("--patience", type=int, default=600, help="seconds until a peer is given up")
    parser.add_argument("--threads", type=int, default=2, help="CPU")
    parser.add_argument("--prompts", type=int, nargs="+", default=[128, 512], help="CPU: tokens of the prompt")
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16x3", "bf16", "int8"], help="CPU")
    parser.add_argument("--llama", type=pathlib.Path, help="CPU: llama.cpp's program or source folder")
    parser.add_argument("--onnxruntime", type=pathlib.Path, help="CPU: ONNX Runtime's program or folder")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="CPU: without torch")
    parser.add_argument("--compile", action="store_true", help="CPU: also torch with a static cache and a compiled step")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    Apart.patience = options.patience
    gpu = options.device != "cpu"
    options.folder = options.folder or pathlib.Path(f"/tmp/attend-gpt2-{'gpu' if gpu else 'cpu'}")
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder, "--deviation", "0.1" if gpu else "0.02"], check=True)
    on_gpu(options) if gpu else on_cpu(options)


if __name__ == "__main__":
    main()
