"""llama.cpp as a peer of gpt2_generation.py: GGUF files of a model's folder, and a program that runs them.

It is given as a program (llama_gpt2.cpp beside this, linked already) or as the source folder of llama.cpp, built in `build`:
    git clone https://github.com/ggml-org/llama.cpp && cd llama.cpp
    cmake -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF && cmake --build build --target llama
g++ 12 drops the tile configuration that its AMX kernels (q8_0) load, and they stop with an illegal instruction: an
`asm volatile("" ::: "memory")` before `_tile_loadconfig` in ggml/src/ggml-cpu/amx/mmq.cpp, or a newer compiler, helps.
"""
import json
import pathlib
import struct
import subprocess

import torch

from side_by_side import bytes_of, linked, read_safetensors, run_program

HERE = pathlib.Path(__file__).resolve().parent
F32, F16, Q8_0, BF16 = 0, 1, 8, 30  # types of ggml
KINDS = {"f32": F32, "f16": F16, "bf16": BF16, "q8_0": Q8_0}
NAMES = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
         "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}


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


def write_gguf(config, weights, path, kind):
    """weights: name -> f32 tensor, as in the files of transformers."""
    tensors = []
    for name, array in weights.items():
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


def llama_gpt2(source, program):
    """Links the program beside this file with the static libraries that were built in the source folder."""
    libraries = [source / "build" / name for name in ("src/libllama.a", "ggml/src/libggml.a", "ggml/src/libggml-cpu.a",
                                                       "ggml/src/libggml-base.a")]
    missing = [str(path) for path in libraries if not path.exists()]
    if missing:
        raise SystemExit(f"--llama {source}: no {', '.join(missing)}{__doc__.partition(':')[2]}")
    subprocess.run(["g++", "-O2", "-std=c++20", HERE / "llama_gpt2.cpp", f"-I{HERE.parents[1]}", f"-I{source}/include",
                    f"-I{source}/ggml/include", *libraries, "-fopenmp", "-lpthread", "-ldl", "-o", program], check=True)


class Llama:
    def __init__(self, options, kind):
        self.threads, self.name = options.threads, f"llama.cpp {kind}"
        self.model = options.folder / f"{kind}.gguf"
        if not self.model.exists():
            weights = read_safetensors(options.folder / "model.safetensors")
            write_gguf(json.loads((options.folder / "config.json").read_text()), weights, self.model, KINDS[kind])
        self.program = linked(options.llama, options.folder, llama_gpt2)

    def run(self, prompt, tokens):
        return run_program(self.program, self.model, self.threads, tokens, 1, ids=prompt)
