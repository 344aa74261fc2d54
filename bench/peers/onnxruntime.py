"""ONNX Runtime as a peer of bert_encoding.py and gpt2_generation.py: graphs of a model's folder, and a program that runs them.

It is given as a program (onnxruntime_run.cpp beside this, linked already) or as the folder of a release, include/ and lib/:
    https://github.com/microsoft/onnxruntime/releases      onnxruntime-linux-x64-VERSION.tgz or -aarch64-
The library alone is also in the npm package onnxruntime-node, the headers in Debian's libonnxruntime-dev.

The graphs are written here, with the fused operators that its own optimiser for Transformers arrives at. int8 is what its
dynamic quantisation makes: every product by a weight rounds its input to 8 bits, weights have a scale for each column. bf16
exists on arm64 only, as a way of multiplying f32 (SBGEMM); on x86-64 its rows are f32 and int8. Products with scales for blocks
of 32 or 128 weights (MatMulNBits, 8 bits) decoded about as fast, and read prompts two to three times slower.
"""
import json
import pathlib
import platform
import struct
import subprocess

import torch

from side_by_side import bytes_of, linked, read_safetensors, run_program

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int32: 6, torch.int64: 7}  # of TensorProto
FAST_MATH = "mlas.enable_gemm_fastmath_arm64_bfloat16=1"


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data + bytes([value]))


def message(*fields):
    """A protobuf message of (number, value) pairs: int, float, str, bytes (also another message), or a list of these."""
    parts = []
    for number, value in fields:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int):
                parts.append(varint(number << 3) + varint(each & (1 << 64) - 1))
            elif isinstance(each, float):
                parts.append(varint(number << 3 | 5) + struct.pack("<f", each))
            else:
                data = each.encode() if isinstance(each, str) else each
                parts += [varint(number << 3 | 2) + varint(len(data)), data]
    return b"".join(parts)


def attribute(name, value):
    number, kind = {float: (2, 1), int: (3, 2)}[type(value)]
    return message((1, name), (number, value), (20, kind))


def value_info(name, type_, shape):
    dims = [message((1, size) if isinstance(size, int) else (2, size)) for size in shape]
    return message((1, name), (2, message((1, message((1, TYPES[type_]), (2, message((1, dims))))))))


class Graph:
    """Nodes are added in the order they run in; what they give is known by the name of its tensor."""

    def __init__(self, weights, int8):
        self.weights, self.int8 = weights, int8
        self.nodes, self.constants, self.inputs, self.outputs, self.known = [], [], [], [], set()

    def input(self, name, type_, shape):
        self.inputs.append(value_info(name, type_, shape))
        return name

    def output(self, name, shape):
        self.outputs.append(value_info(name, torch.float32, shape))

    def constant(self, name, tensor):
        if name not in self.known:
            self.constants.append(message((1, list(tensor.shape)), (2, TYPES[tensor.dtype]), (8, name), (9, bytes_of(tensor))))
            self.known.add(name)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def node(self, kind, inputs, outputs=None, domain="", **attributes):
        """The first output, a new name unless told. "" leaves an optional input or output out."""
        outputs = outputs or [f"{kind}.{len(self.nodes)}"]
        self.nodes.append(message((1, inputs), (2, outputs), (3, f"{kind}.{len(self.nodes)}"), (4, kind),
                                  (5, [attribute(*pair) for pair in attributes.items()]), (7, domain)))
        return outputs[0]

    def fused(self, kind, inputs, outputs=None, **attributes):
        return self.node(kind, inputs, outputs, "com.microsoft", **attributes)

    def rounded(self, name, weight, axis):
        """A weight in 8 bits, and its scales along the axis that is left."""
        scale = weight.abs().amax(axis, keepdim=True).clamp(min=1e-30) / 127
        return self.constant(name + ".int8", (weight / scale).round().to(torch.int8)), scale

    def product(self, x, name, weight, bias=None):
        """x · weight [K, N], and the bias where no later node adds it."""
        if self.int8:
            whole, scale = self.rounded(name, weight, 0)
            inputs = [x, whole, self.constant(name + ".scale", scale[0]), "", self.weight(bias) if bias else ""]
            return self.fused("DynamicQuantizeMatMul", inputs)
        y = self.node("MatMul", [x, self.constant(name + ".weight", weight)])
        return self.node("Add", [y, self.weight(bias)]) if bias else y

    def attention(self, x, name, weights, bias, heads):
        """Queries, keys and values of x by weights [C, C], and what everyone reads from everyone. f32 as one Attention node, or
        plain operators left to its optimiser, were as fast within the noise (2 threads), and only MatMul knows bf16."""
        if not self.int8:
            parts = [self.product(x, f"{name}.{i}", weight) for i, weight in enumerate(weights)]
            return self.fused("MultiHeadAttention", [*parts, bias], num_heads=heads)
        whole, scale = self.rounded(name, torch.cat(weights, 1), 0)
        rounded = [f"{name}.{what}" for what in ("input", "input_scale", "input_zero")]
        self.node("DynamicQuantizeLinear", [x], rounded)
        scales = [rounded[1], self.constant(name + ".scale", scale[0])]
        return self.fused("QAttention", [rounded[0], whole, bias, *scales, "", rounded[2]], num_heads=heads)

    def rows(self, name, ids):
        """Rows of a table; one in int8 has a scale for each row."""
        if not self.int8:
            return self.node("Gather", [self.weight(name), ids])
        whole, scale = self.rounded(name, self.weights[name], 1)
        read = self.node("DequantizeLinear", [self.node("Gather", [whole, ids]), self.constant("one", torch.ones(()))])
        return self.node("Mul", [read, self.node("Gather", [self.constant(name + ".scale", scale), ids])])

    def add_norm(self, x, branch, name, epsilon, bias=None):
        """norm(x + branch + bias), and the sum."""
        inputs = [x, branch, self.weight(name + ".weight"), self.weight(name + ".bias"), *([self.weight(bias)] if bias else [])]
        outputs = [f"norm.{len(self.nodes)}", "", "", f"sum.{len(self.nodes)}"]
        self.fused("SkipLayerNormalization", inputs, outputs, epsilon=float(epsilon))
        return outputs[0], outputs[3]

    def write(self, path):
        graph = message((1, self.nodes), (2, "model"), (5, self.constants), (11, self.inputs), (12, self.outputs))
        sets = [message((1, ""), (2, 17)), message((1, "com.microsoft"), (2, 1))]
        path.write_bytes(message((1, 8), (7, graph), (8, sets)))


def bert(config, weights, int8):
    """The encoder: ids [B, T] -> states [B, T, C]."""
    weights = {name.removeprefix("bert."): value for name, value in weights.items()}
    graph, epsilon = Graph(weights, int8), config["layer_norm_eps"]
    ids = graph.input("ids", torch.int64, ["B", "T"])
    table = "embeddings.{}_embeddings.weight".format
    length = graph.node("Slice", [graph.node("Shape", [ids]), graph.constant("1", torch.tensor([1])),
                                  graph.constant("2", torch.tensor([2]))])
    places = graph.constant("places", weights[table("position")] + weights[table("token_type")][0])
    places = graph.node("Slice", [places, graph.constant("0", torch.tensor([0])), length, graph.constant("0", None)])
    x, _ = graph.add_norm(graph.rows(table("word"), ids), places, "embeddings.LayerNorm", epsilon)
    for i in range(config["num_hidden_layers"]):
        base = f"encoder.layer.{i}."

        def product(x, name, bias=None):
            return graph.product(x, base + name, weights[f"{base}{name}.weight"].t(), bias)
        parts = [f"{base}attention.self.{part}." for part in ("query", "key", "value")]
        bias = graph.constant(base + "qkv.bias", torch.cat([weights[part + "bias"] for part in parts]))
        read = graph.attention(x, base + "qkv", [weights[part + "weight"].t() for part in parts], bias,
                               config["num_attention_heads"])
        x, _ = graph.add_norm(x, product(read, "attention.output.dense"), base + "attention.output.LayerNorm", epsilon,
                              base + "attention.output.dense.bias")
        up = graph.fused("BiasGelu", [product(x, "intermediate.dense"), graph.weight(base + "intermediate.dense.bias")])
        x, _ = graph.add_norm(x, product(up, "output.dense"), base + "output.LayerNorm", epsilon, base + "output.dense.bias")
    graph.node("Identity", [x], ["states"])
    graph.output("states", ["B", "T", config["hidden_size"]])
    return graph


def gpt2(config, weights, int8):
    """One step: ids [1, T] behind `last` + 1 - T others in the cache -> logits of the last [1, V]."""
    weights = {name.removeprefix("transformer."): value for name, value in weights.items()}
    graph, epsilon = Graph(weights, int8), config["layer_norm_epsilon"]
    heads, width = config["n_head"], config["n_embd"]
    ids, positions = (graph.input(name, torch.int64, [1, "T"]) for name in ("ids", "positions"))
    last, total = graph.input("last", torch.int32, [1]), graph.input("total", torch.int32, [])
    graph.output("logits", [1, config["vocab_size"]])
    words, places = graph.rows("wte.weight", ids), graph.node("Gather", [graph.weight("wpe.weight"), positions])
    normed, x = graph.add_norm(words, places, "h.0.ln_1", epsilon)
    for i in range(config["n_layer"]):
        base, next_norm = f"h.{i}.", f"h.{i + 1}.ln_1" if i + 1 < config["n_layer"] else "ln_f"

        def product(x, name, bias=None):
            return graph.product(x, base + name, weights[f"{base}{name}.weight"], bias)
        caches = [f"{name}.{i}" for name in ("past_key", "past_value")]
        now = [name.replace("past", "present") for name in caches]
        for before, after in zip(caches, now):
            graph.input(before, torch.float32, [1, heads, "S", width // heads])
            graph.output(after, [1, heads, "S", width // heads])
        qkv = product(normed, "attn.c_attn", base + "attn.c_attn.bias")
        read = graph.fused("GroupQueryAttention", [qkv, "", "", *caches, last, total], [f"{base}read", *now], num_heads=heads,
                           kv_num_heads=heads)
        normed, x = graph.add_norm(x, product(read, "attn.c_proj"), base + "ln_2", epsilon, base + "attn.c_proj.bias")
        up = graph.fused("FastGelu", [product(normed, "mlp.c_fc"), graph.weight(base + "mlp.c_fc.bias")])
        normed, x = graph.add_norm(x, product(up, "mlp.c_proj"), next_norm, epsilon, base + "mlp.c_proj.bias")
    state = graph.node("Gather", [normed, graph.constant("end", torch.tensor(-1))], axis=1)
    graph.node("Identity", [graph.product(state, "head", weights["wte.weight"].t())], ["logits"])
    return graph


def onnxruntime_run(source, program):
    """Compiles the program beside this file against a release's folder."""
    needed = source / "include/onnxruntime_cxx_api.h", source / "lib/libonnxruntime.so"
    missing = [str(path) for path in needed if not path.exists()]
    if missing:
        raise SystemExit(f"--onnxruntime {source}: no {', '.join(missing)}{__doc__.partition(':')[2]}")
    subprocess.run(["g++", "-O2", "-std=c++20", HERE / "onnxruntime_run.cpp", f"-I{HERE.parents[1]}", f"-I{source}/include",
                    f"-L{source}/lib", "-lonnxruntime", f"-Wl,-rpath,{source}/lib", "-o", program], check=True)


class OnnxRuntime:
    def __init__(self, options, weights, make_graph):
        self.name, self.options = "ONNX Runtime", options
        kind = "int8" if weights == "int8" else "f32"
        self.entries = [FAST_MATH] if weights == "bf16" else []
        self.model = options.folder / f"{kind}.onnx"
        if not self.model.exists():
            stored = read_safetensors(options.folder / "model.safetensors")
            make_graph(json.loads((options.folder / "config.json").read_text()), stored, weights == "int8").write(self.model)
        self.program = linked(options.onnxruntime, options.folder, onnxruntime_run)

    @staticmethod
    def has(weights):
        return weights != "bf16" or platform.machine() == "aarch64"

    def start(self, work, ids, *arguments):
        return run_program(self.program, work, self.model, self.options.threads, *arguments, *self.entries, ids=ids)


class OnnxEncoder(OnnxRuntime):
    def __init__(self, options, weights):
        super().__init__(options, weights, bert)

    def run(self, ids, reps):
        file = self.options.folder / "states.f32"
        result = self.start("encode", ids.flatten().tolist(), reps, ids.shape[0], file)
        return {**result, "states": torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.float32).reshape(*ids.shape, -1)}


class OnnxGenerator(OnnxRuntime):
    def __init__(self, options, weights):
        super().__init__(options, weights, gpt2)

    def run(self, prompt, tokens):
        return self.start("generate", prompt, 1, tokens, "-")
