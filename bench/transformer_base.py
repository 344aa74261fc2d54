"""A folder with a Transformer base (Vaswani et al. 2017) of random weights, for translation_decoding.py."""
import json
import math
import shutil
import struct

import torch

from side_by_side import bytes_of

WIDTH, HIDDEN, LAYERS, VOCABULARY = 512, 2048, 6, 32000
LENGTH = 48  # of every translation


def stack(name, attentions):
    """Weights of an encoder or a decoder."""
    tensors = {}

    def linear(name, inputs, outputs, joint="."):
        tensors[f"{name}{joint}weight"] = torch.randn(outputs, inputs) / math.sqrt(inputs)
        tensors[f"{name}{joint}bias"] = torch.zeros(outputs)

    def norm(name):
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = torch.ones(WIDTH), torch.zeros(WIDTH)
    for i in range(LAYERS):
        layer = f"{name}.layers.{i}"
        for attention in attentions:
            linear(f"{layer}.{attention}.in_proj", WIDTH, 3 * WIDTH, "_")
            linear(f"{layer}.{attention}.out_proj", WIDTH, WIDTH)
        linear(f"{layer}.linear1", WIDTH, HIDDEN)
        linear(f"{layer}.linear2", HIDDEN, WIDTH)
        for j in range(len(attentions) + 1):
            norm(f"{layer}.norm{j + 1}")
    norm(f"{name}.norm")
    return tensors


def write_base(like, folder, never):
    """like: a model's folder, whose tokenizer and kind of Transformer it has. never: ids that no translation may contain, the
    end among them. Their rows of the embedding are 0, and so are their logits, never the largest: every translation goes on
    to the maximum length, below the limit that a short sentence sets (2 n + 50)."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(like / "tokenizer.json", folder)
    config = {**json.loads((like / "config.json").read_text()), "vocabulary": VOCABULARY, "width": WIDTH, "heads": 8,
              "hidden": HIDDEN, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "max_length": LENGTH}
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(1)
    embedding = torch.randn(VOCABULARY, WIDTH) / math.sqrt(WIDTH)
    embedding[never] = 0
    tensors = {"embedding.weight": embedding, **stack("encoder", ["self_attn"]),
               **stack("decoder", ["self_attn", "multihead_attn"])}
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(bytes_of(tensor))
