#!/usr/bin/env python3
"""GPT-2 124M on the CPU, prompt and tokens after it: ours beside llama.cpp and torch, same weights, in one run.

    ninja -C build bench_cpu_gpt2
    bench/cpu_gpt2.py build/bench/cpu_gpt2 [--threads 2] [--rounds 5] [--llama DIR] [--torch]

Weights are random (written once to --folder) and go to the peers as they are: to llama.cpp as GGUF files in f32, f16, bf16
and q8_0 that this script writes. First what each makes of the same prompt is compared with ours in f32: the largest
difference of a logit, relative to the largest logit. Then rounds of ours and theirs alternate; printed are medians, the
spread over the rounds (largest - smallest, of the median) and our rate over theirs. The read bandwidth that decoding
needs is the megabytes of weights times the tokens a second.

--llama: the source folder of llama.cpp, built in its folder `build`:
    git clone https://github.com/ggml-org/llama.cpp && cd llama.cpp
    cmake -B build -DCMAKE_BUILD_TYPE=Release -DLLAMA_CURL=OFF && cmake --build build --target llama
"""
import argparse
import ctypes
import json
import math
import pathlib
import statistics
import struct
import subprocess
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent
F32, F16, Q8_0, BF16 = 0, 1, 8, 30  # types of ggml
NAMES = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
         "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: torch.frombuffer(bytearray(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]),
                                   dtype=torch.float32).reshape(entry["shape"]) for name, entry in header.items()}


def bytes_of(tensor):
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def encoded(array, kind):
    """The bytes of an array in a type of ggml."""
    if kind == F16:
        return bytes_of(array.half())
    if kind == BF16:
        return bytes_of(array.bfloat16())
    if kind == Q8_0:  # blocks of 32 with an f16 scale
        blocks = array.reshape(-1, 32)
        scale = blocks.abs().amax(1, keepdim=True) / 127
        whole = (blocks / scale.clamp(min=1e-30)).round().to(torch.int8)
        return bytes_of(torch.cat([scale.half().view(torch.int8), whole], 1))
    return bytes_of(array)


def write_gguf(folder, path, kind):
    config = json.loads((folder / "config.json").read_text())
    tensors = []
    for name, array in read_safetensors(folder / "model.safetensors").items():
        name = name.removeprefix("transformer.")
        if name.startswith("h."):
            _, layer, rest = name.split(".", 2)
            module, what = rest.rsplit(".", 1)
            name = f"blk.{layer}.{NAMES[module]}.{what}"
            array = array.t() if array.ndim == 2 else array
        else:
            name = name.replace("wte", "token_embd").replace("wpe", "position_embd").replace("ln_f", "output_norm")
        plain = array.ndim == 1 or name.startswith("position")
        tensors.append((name, array.shape, F32 if plain else kind, encoded(array.contiguous(), F32 if plain else kind)))

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    pairs = {"general.architecture": "gpt2", "tokenizer.ggml.model": "no_vocab", "gpt2.vocab_size": config["vocab_size"],
             "gpt2.context_length": config["n_positions"], "gpt2.embedding_length": config["n_embd"],
             "gpt2.block_count": config["n_layer"], "gpt2.feed_forward_length": 4 * config["n_embd"],
             "gpt2.attention.head_count": config["n_head"],
             "gpt2.attention.layer_norm_epsilon": float(config["layer_norm_epsilon"])}
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)))
        for key, value in pairs.items():
            kinds = {str: lambda v: struct.pack("<I", 8) + text(v), int: lambda v: struct.pack("<II", 4, v),
                     float: lambda v: struct.pack("<If", 6, v)}
            file.write(text(key) + kinds[type(value)](value))
        offset = 0
        for name, shape, type_, data in tensors:
            file.write(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape)) +
                       struct.pack("<IQ", type_, offset))
            offset += (len(data) + 31) // 32 * 32
        file.write(b"\0" * (-file.tell() % 32))
        for _, _, _, data in tensors:
            file.write(data + b"\0" * (-len(data) % 32))


class Ours:
    def __init__(self, options, weights):
        self.options, self.name = options, f"attend {weights}"
        self.logits_file = options.folder / "logits.safetensors"
        self.command = [options.program, "--model", options.folder, "--weights", weights, "--threads", options.threads,
                        "--logits", self.logits_file]

    def run(self, prompt, tokens):
        command = [*self.command, "--prompt", len(prompt), "--tokens", tokens, "--reps", 1]
        result = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
        result["logits"] = read_safetensors(self.logits_file)["logits"]
        return result


class Llama:
    def __init__(self, options, name, kind):
        self.options, self.name = options, f"llama.cpp {name}"
        self.model = options.folder / f"{name}.gguf"
        if not self.model.exists():
            write_gguf(options.folder, self.model, kind)
        self.program = options.folder / "llama_gpt2"
        if not self.program.exists():
            library = options.llama / "build" / "bin"
            subprocess.run(["g++", "-O2", "-std=c++20", HERE / "peers" / "llama_gpt2.cpp", f"-I{options.llama}/include",
                            f"-I{options.llama}/ggml/include", f"-L{library}", "-lllama", "-lggml", "-lggml-base",
                            f"-Wl,-rpath,{library}", "-o", self.program], check=True)

    def run(self, prompt, tokens):
        command = [self.program, self.model, str(self.options.threads), str(tokens), "1"]
        output = subprocess.run(command, check=True, capture_output=True, text=True, input=" ".join(map(str, prompt))).stdout
        return json.loads(output)


class Torch:
    """GPT-2 by torch's own functions, keys and values cached, f32."""
    name = "torch f32"

    def __init__(self, options):
        torch.set_num_threads(options.threads)
        torch.set_grad_enabled(False)
        raw = read_safetensors(options.folder / "model.safetensors")
        self.weights = {name.removeprefix("transformer."): array for name, array in raw.items()}
        self.layers = 1 + max(int(name.split(".")[1]) for name in self.weights if name.startswith("h."))
        self.heads = json.loads((options.folder / "config.json").read_text())["n_head"]

    def forward(self, ids, cache):
        F, w = torch.nn.functional, self.weights
        past = cache[0][0].shape[1] if cache else 0
        x = w["wte.weight"][ids] + w["wpe.weight"][past:past + len(ids)]
        width = x.shape[-1]
        for i in range(self.layers):
            def norm(name, x):
                return F.layer_norm(x, (width,), w[name + ".weight"], w[name + ".bias"])

            def linear(name, x):
                return torch.addmm(w[f"h.{i}.{name}.bias"], x, w[f"h.{i}.{name}.weight"])
            q, k, v = (part.reshape(len(ids), self.heads, -1).transpose(0, 1)
                       for part in linear("attn.c_attn", norm(f"h.{i}.ln_1", x)).split(width, 1))
            if past:
                k, v = torch.cat([cache[i][0], k], 1), torch.cat([cache[i][1], v], 1)
                cache[i] = k, v
            else:
                cache.append((k, v))
            scores = q @ k.transpose(1, 2) / math.sqrt(width // self.heads)
            if len(ids) > 1:
                scores = scores + torch.full((len(ids), len(ids)), -math.inf).triu(1)
            x = x + linear("attn.c_proj", (scores.softmax(-1) @ v).transpose(0, 1).reshape(len(ids), width))
            x = x + linear("mlp.c_proj", F.gelu(linear("mlp.c_fc", norm(f"h.{i}.ln_2", x)), approximate="tanh"))
        return F.linear(norm("ln_f", x[-1:]), w["wte.weight"])[0]

    def run(self, prompt, tokens):
        cache = []
        start = time.perf_counter()
        logits = self.forward(torch.tensor(prompt), cache)
        result = {"prefill": [time.perf_counter() - start], "logits": logits}
        start = time.perf_counter()
        for _ in range(tokens):
            logits = self.forward(logits.argmax().reshape(1), cache)
        result["decode"] = [time.perf_counter() - start]
        return result


def measure(options, prompt, tokens, runners):
    """runner name -> what each round gave, rounds interleaved; the first round only warms up."""
    results = {runner.name: [] for runner in runners}
    for round_ in range(options.rounds + 1):
        for runner in runners:
            result = runner.run(prompt, tokens)
            if round_ > 0:
                results[runner.name].append(result)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-gpt2-bench"))
    parser.add_argument("--llama", type=pathlib.Path)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--weights", nargs="+", default=["f32", "bf16", "int8"])
    options = parser.parse_args()
    if not (options.folder / "model.safetensors").exists():
        subprocess.run([options.program, "--write", options.folder], check=True)
    pairs = []  # ours, theirs at the same precision
    for weights in options.weights:
        theirs = {"f32": [("f32", F32)], "bf16": [("bf16", BF16), ("f16", F16)], "int8": [("q8_0", Q8_0)]}[weights]
        peers = [Llama(options, *each) for each in theirs] if options.llama else []
        if options.torch and weights == "f32":
            peers.append(Torch(options))
        pairs.append((Ours(options, weights), peers))
    runners = [each for ours, peers in pairs for each in (ours, *peers)]
    exact = None
    for length in options.prompts:
        first = json.loads(subprocess.run([str(options.program), "--model", str(options.folder), "--prompt", str(length),
                                           "--tokens", "0", "--reps", "1"], check=True, capture_output=True, text=True).stdout)
        results = measure(options, first["prompt"], options.tokens, runners)
        exact = torch.as_tensor(results[runners[0].name][0]["logits"])
        print(f"prompt {length}, {options.tokens} tokens after it, {options.threads} threads, {options.rounds} rounds")

        def rates(name, part, count):
            return [count / result[part][0] for result in results[name]]
        for ours, peers in pairs:
            for runner in (ours, *peers):
                logits = torch.as_tensor(results[runner.name][0]["logits"])
                error = float((logits - exact).abs().max() / exact.abs().max())
                line = f"  {runner.name:16} error {error:7.1e}"
                for part, count in (("prefill", length), ("decode", options.tokens)):
                    rate = rates(runner.name, part, count)
                    median = statistics.median(rate)
                    line += f"   {part} {median:8.1f} tok/s +-{100 * (max(rate) - min(rate)) / median / 2:3.0f} %"
                    if runner is not ours:
                        line += f" ours x{statistics.median(rates(ours.name, part, count)) / median:5.2f}"
                if runner is ours:
                    one = results[ours.name][0]
                    speed = one["weights_mb"] * statistics.median(rates(ours.name, "decode", options.tokens)) / 1e3
                    line += f"   {one['weights_mb']:.0f} MB of weights, {speed:.1f} GB/s, peak {one['peak_mb']:.0f} MB"
                print(line, flush=True)


if __name__ == "__main__":
    main()
