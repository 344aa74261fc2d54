#!/usr/bin/env python3
"""GPT-2 124M, a prompt and the tokens after it, greedily: ours beside its peers, same weights, interleaved, in one run.

    ninja -C build bench_gpt2_generation
    bench/gpt2_generation.py build/bench/gpt2_generation --device cuda [--batches 1 64] [--tokens 128] [--rounds 3]
    bench/gpt2_generation.py build/bench/gpt2_generation --device cpu [--threads 2] [--llama PATH] [--no-torch]

On a GPU, bf16: a whole greedy search after 16 tokens beside transformers' generate; weights are spread so that choices are
clear, and the first ids of the first text are compared.

On the CPU prompt and tokens are timed apart, with weights in f32, bf16 and int8, beside torch and llama.cpp (--llama: a
program or its source folder; bench/peers/llama.py says how to get it) in f32, bf16 and f16, and q8_0. First what each
makes of the prompt is compared with ours in f32: the largest difference of a logit, relative to the largest logit. Then
rounds alternate; printed are medians, the spread over the rounds (half of largest - smallest, of the median) and our rate
over theirs. Decoding reads every weight once a token: megabytes times tokens a second is the bandwidth it takes.

Weights are random, written once to --folder, and go to the peers as they are.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import time

import torch

from peers.llama import Llama
from translation_decoding import Linear, read_safetensors

PROMPT = 16  # on a GPU


def ours(options, *flags):
    command = [options.program, "--model", options.folder, *flags]
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


class Ours:
    def __init__(self, options, weights):
        self.options, self.name, self.weights = options, f"attend {weights}", weights
        self.logits_file = options.folder / "logits.safetensors"

    def run(self, prompt, tokens):
        result = ours(self.options, "--weights", self.weights, "--threads", self.options.threads, "--logits", self.logits_file,
                      "--prompt", len(prompt), "--tokens", tokens, "--reps", 1)
        result["logits"] = read_safetensors(self.logits_file)["logits"]
        return result


class Torch:
    """GPT-2 by torch's own functions, keys and values cached."""

    def __init__(self, options, kind):
        torch.set_num_threads(options.threads)
        self.dtype, self.name = {"f32": torch.float32, "bf16": torch.bfloat16}[kind], f"torch {kind}"
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
        start = time.perf_counter()
        for _ in range(tokens):
            logits = self.forward(logits.argmax().reshape(1), cache)
        result["decode"] = [time.perf_counter() - start]
        return result


def measure(options, prompt, runners):
    """runner name -> what each round gave, rounds interleaved; the first round only warms up."""
    results = {runner.name: [] for runner in runners}
    for round_ in range(options.rounds + 1):
        for runner in runners:
            result = runner.run(prompt, options.tokens)
            if round_ > 0:
                results[runner.name].append(result)
    return results


def report(options, length, pairs, results):
    exact = torch.as_tensor(results[pairs[0][0].name][0]["logits"])

    def rates(name, part, count):
        return [count / result[part][0] for result in results[name]]
    for mine, peers in pairs:
        for runner in (mine, *peers):
            logits = torch.as_tensor(results[runner.name][0]["logits"])
            error = float((logits - exact).abs().max() / exact.abs().max())
            line = f"  {runner.name:15} error {error:7.1e}"
            for part, count in (("prompt", length), ("tokens", options.tokens)):
                rate = rates(runner.name, {"prompt": "prefill", "tokens": "decode"}[part], count)
                median = statistics.median(rate)
                line += f"   {part} {median:8.1f} tok/s +-{50 * (max(rate) - min(rate)) / median:3.0f} %"
                if runner is not mine:
                    own = rates(mine.name, {"prompt": "prefill", "tokens": "decode"}[part], count)
                    line += f" ours x{statistics.median(own) / median:5.2f}"
            if runner is mine:
                one = results[mine.name][0]
                speed = one["weights_mb"] * statistics.median(rates(mine.name, "decode", options.tokens)) / 1e3
                line += f"   {one['weights_mb']:.0f} MB of weights, {speed:.1f} GB/s, process {one['peak_mb']:.0f} MB at most"
            print(line, flush=True)


def on_cpu(options):
    def weights():
        return read_safetensors(options.folder / "model.safetensors")
    pairs = []  # ours, theirs at the same precision
    for kind in options.weights:
        theirs = {"f32": ["f32"], "bf16": ["bf16", "f16"], "int8": ["q8_0"]}[kind]
        peers = [Llama(options, each, weights) for each in theirs] if options.llama else []
        if options.torch and kind != "int8":
            peers.append(Torch(options, kind))
        pairs.append((Ours(options, kind), peers))
    for length in options.prompts:
        prompt = ours(options, "--prompt", length, "--tokens", 0, "--reps", 0)["prompt"]
        results = measure(options, prompt, [each for mine, peers in pairs for each in (mine, *peers)])
        print(f"torch {torch.__version__}; prompt {length}, {options.tokens} tokens after it, {options.threads} threads, "
              f"{options.rounds} rounds")
        report(options, length, pairs, results)


def generate(model, ids, tokens):
    torch.cuda.synchronize()
    start = time.perf_counter()
    written = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, min_new_tokens=tokens,
                             do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    return ids.shape[0] * tokens / (time.perf_counter() - start), written[0, ids.shape[1]:].tolist()


def on_gpu(options):
    from transformers import GPT2LMHeadModel
    model = GPT2LMHeadModel.from_pretrained(options.folder).bfloat16().to(options.device).eval()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; {options.tokens} tokens after {PROMPT}; medians over "
          f"{options.rounds} rounds")
    for batch in options.batches:
        mine, theirs = [], []
        for _ in range(options.rounds):
            one = ours(options, "--device", options.device, "--dtype", "bf16", "--batch", batch, "--prompt", PROMPT, "--tokens",
                       options.tokens, "--reps", 5, "--search")
            mine.append(batch * options.tokens / statistics.median(one["search"]))
            ids = torch.tensor(one["prompt"], device=options.device).view(batch, PROMPT)
            if not theirs:
                generate(model, ids, 16)
            rate, expected = generate(model, ids, options.tokens)
            theirs.append(rate)
        same = next((i for i, (a, b) in enumerate(zip(one["tokens"], expected)) if a != b), options.tokens)
        a, b = statistics.median(mine), statistics.median(theirs)
        print(f"batch {batch:3}: ours {a:9.0f} tokens/s, transformers {b:7.0f}: {a / b:6.1f}x  "
              f"(ours {min(mine):.0f} to {max(mine):.0f}; the first {same} tokens are the same)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, help="of the weights; /tmp/attend-gpt2-DEVICE unless told")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="GPU: prompts at once")
    parser.add_argument("--threads", type=int, default=2, help="CPU")
    parser.add_argument("--prompts", type=int, nargs="+", default=[128, 512], help="CPU: tokens of the prompt")
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16", "int8"], help="CPU")
    parser.add_argument("--llama", type=pathlib.Path, help="CPU: llama.cpp's program or source folder")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="CPU: without torch")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    gpu = options.device != "cpu"
    options.folder = options.folder or pathlib.Path(f"/tmp/attend-gpt2-{'gpu' if gpu else 'cpu'}")
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder, "--deviation", "0.1" if gpu else "0.02"], check=True)
    on_gpu(options) if gpu else on_cpu(options)


if __name__ == "__main__":
    main()
