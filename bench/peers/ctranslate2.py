"""CTranslate2 as a peer of translation_decoding.py: a model's folder in its format, and a program that runs it on the CPU.

It is given as a program (ctranslate2_run.cpp beside this, linked already) or as its source folder, built in `build`:
    git clone --recursive https://github.com/OpenNMT/CTranslate2 && cd CTranslate2
    cmake -B build -DWITH_MKL=OFF -DWITH_DNNL=ON -DOPENMP_RUNTIME=COMP -DBUILD_CLI=OFF && cmake --build build
That takes its products from oneDNN. With oneDNN 2 (Debian 12: libdnnl-dev) src/ops/conv1d_cpu.cc does not compile: an
`#undef CT2_WITH_DNNL` at its top leaves it out of the convolutions, which no translation has. The released packages for
x86-64 have MKL instead: -DWITH_MKL=ON where that is installed. On arm64 oneDNN 2 is of no use: -DWITH_DNNL=OFF
-DWITH_OPENBLAS=ON -DWITH_RUY=ON.

Greedily it computes what ours does. With beams it ends when as many hypotheses have ended as there are beams, and divides
sums by length^0.6; ours goes on while an open one can still win, and divides by ((5 + length) / 6)^0.6.
"""
import json
import math
import pathlib
import struct
import subprocess

import torch

from side_by_side import bytes_of, linked, run_program

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {torch.float32: 0, torch.int8: 1, torch.int16: 2}
KINDS = {"f32": "float32", "int8": "int8"}
NAMES = {"self_attn.in_proj": "self_attention/linear_0", "self_attn.out_proj": "self_attention/linear_1",
         "query": "attention/linear_0", "memory": "attention/linear_1", "multihead_attn.out_proj": "attention/linear_2",
         "linear1": "ffn/linear_0", "linear2": "ffn/linear_1"}
NORMS = {"encoder": ("self_attention", "ffn"), "decoder": ("self_attention", "attention", "ffn")}


def variables(model):
    """name -> tensor; model: a Model of translation_decoding.py."""
    result = {"decoder/embeddings/weight": model.embedding}
    for stack in ("encoder", "decoder"):
        result[f"{stack}/num_heads"] = torch.tensor(model.heads, dtype=torch.int16)
        result[f"{stack}/pre_norm"] = torch.tensor(model.pre_norm, dtype=torch.int8)
        result[f"{stack}/activation"] = torch.tensor(0, dtype=torch.int8)  # ReLU
        result[f"{stack}/scale_embeddings"] = torch.tensor(math.sqrt(model.width))
        result[f"{stack}/position_encodings/encodings"] = model.positions
        norms = {stack: [model.weights[f"{stack}.norm.{part}"] for part in ("weight", "bias")]} if model.final_norm else {}
        for i, layer in enumerate(getattr(model, stack)):
            for name, place in NAMES.items():
                if name in layer:
                    result[f"{stack}/layer_{i}/{place}/weight"] = layer[name].weight
                    result[f"{stack}/layer_{i}/{place}/bias"] = layer[name].bias
            norms.update((f"{stack}/layer_{i}/{place}", layer[f"norm{j}"]) for j, place in enumerate(NORMS[stack], 1))
        for place, (gamma, beta) in norms.items():
            result[f"{place}/layer_norm/gamma"], result[f"{place}/layer_norm/beta"] = gamma, beta
    result["encoder/embeddings_merge"] = torch.tensor(0, dtype=torch.int8)
    return result


def quantised(tensors):
    """Weights in int8, a scale for each row."""
    result = {}
    for name, tensor in tensors.items():
        if name.endswith("weight"):
            result[name + "_scale"] = scale = 127 / tensor.abs().amax(1).clamp(min=1e-30)
            tensor = (tensor * scale[:, None]).round().to(torch.int8)
        result[name] = tensor
    return result


def write_model(tensors, words, special, folder):
    def text(value):
        return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "model.bin", "wb") as file:
        file.write(struct.pack("<I", 6) + text("TransformerSpec") + struct.pack("<II", 7, len(tensors)))
        for name, tensor in tensors.items():
            data = bytes_of(tensor)
            file.write(text(name) + struct.pack(f"<B{tensor.ndim}I", tensor.ndim, *tensor.shape) +
                       struct.pack("<BI", TYPES[tensor.dtype], len(data)) + data)
        aliases = ("decoder/projection/weight", "encoder/embeddings_0/weight")
        file.write(struct.pack("<I", len(aliases)) + b"".join(text(name) + text("decoder/embeddings/weight") for name in aliases))
    (folder / "shared_vocabulary.json").write_text(json.dumps([str(i) for i in range(words)]))
    (folder / "config.json").write_text(json.dumps({
        "bos_token": str(special["start"]), "eos_token": str(special["end"]), "unk_token": str(special["pad"]),
        "decoder_start_token": str(special["start"]), "add_source_bos": False, "add_source_eos": False,
        "layer_norm_epsilon": 1e-5}))


def ctranslate2_run(source, program):
    """Links the program beside this file with the library that was built in the source folder."""
    if not (source / "build/libctranslate2.so").exists():
        raise SystemExit(f"--ctranslate2 {source}: no build/libctranslate2.so{__doc__.partition(':')[2]}")
    subprocess.run(["g++", "-O2", "-std=c++20", HERE / "ctranslate2_run.cpp", f"-I{HERE.parent.parent}", f"-I{source}/include",
                    f"-L{source}/build", "-lctranslate2", f"-Wl,-rpath,{source}/build", "-o", program], check=True)


class CTranslate2:
    name = "CTranslate2"

    def __init__(self, options, weights, model, special, sources):
        self.threads, self.limit, self.end, self.sources = options.threads, model.max_length, special["end"], sources
        self.kind = KINDS[weights]
        self.folder = options.folder / f"ctranslate2-{weights}"
        tensors = variables(model)
        write_model(quantised(tensors) if weights == "int8" else tensors, len(model.embedding), special, self.folder)
        self.program = linked(options.ctranslate2, options.folder, ctranslate2_run)

    @staticmethod
    def has(weights):
        return weights in KINDS

    def run(self, beams, batch):
        result = run_program(self.program, self.folder, self.kind, self.threads, beams, batch, self.limit, self.end,
                             ids=(id for source in self.sources for id in source))
        return {**result, "seconds": [result["seconds"] / sum(map(len, result["ids"]))]}
