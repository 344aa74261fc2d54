"""Small model folders with random weights, as Hugging Face lays them out: GPT-2, BERT's family and ViT for tests of the
page."""
import array
import json
import math
import pathlib
import random
import shutil
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOKENIZERS = ROOT / "tests/fixtures/data/text"


def write_safetensors(path, shapes, seed):
    """shapes: name -> (shape, centre, deviation), or (shape, the numbers themselves)."""
    source, header, data = random.Random(seed), {}, array.array("f")
    for name, (shape, centre, *deviation) in shapes.items():
        count = 1
        for side in shape:
            count *= side
        begin = 4 * len(data)
        if deviation:
            spread, draw = 2 * 3 ** 0.5 * deviation[0], source.random  # uniform: five times as fast as normal
            data.extend([centre + spread * (draw() - 0.5) for _ in range(count)])
        else:
            data.extend(centre)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, 4 * len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


def norm(name, width):
    return {f"{name}.weight": ((width,), 1, 0.1), f"{name}.bias": ((width,), 0, 0.1)}


def linear(name, outputs, inputs, swapped=False):
    shape = (inputs, outputs) if swapped else (outputs, inputs)
    return {f"{name}.weight": (shape, 0, 1.6 / inputs ** 0.5), f"{name}.bias": ((outputs,), 0, 0.1)}


def make_gpt2(folder, width=32, layers=3, heads=4):
    folder.mkdir(parents=True)
    # The tokens of the shipped translator: bytes of several languages.
    shutil.copy(ROOT / "models/en-fr/tokenizer.json", folder)
    tokens = 8000
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": tokens, "n_positions": 96,
              "n_embd": width, "n_layer": layers, "n_head": heads, "bos_token_id": 2, "eos_token_id": 2}
    shapes = {"transformer.wte.weight": ((tokens, width), 0, 0.6), "transformer.wpe.weight": ((96, width), 0, 0.3)}
    for i in range(layers):
        name = f"transformer.h.{i}"
        shapes |= norm(f"{name}.ln_1", width) | norm(f"{name}.ln_2", width)
        shapes |= linear(f"{name}.attn.c_attn", 3 * width, width, True) | linear(f"{name}.attn.c_proj", width, width, True)
        shapes |= linear(f"{name}.mlp.c_fc", 4 * width, width, True) | linear(f"{name}.mlp.c_proj", width, 4 * width, True)
    shapes |= norm("transformer.ln_f", width)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", shapes, 1)
    return folder


def make_bert(folder, kind="bert", head="MaskedLM", width=32, layers=3, heads=4):
    """kind: bert or roberta; head: MaskedLM, SequenceClassification, TokenClassification or QuestionAnswering."""
    folder.mkdir(parents=True)
    roberta = kind == "roberta"
    tokenizer = "bytelevel_bpe_roberta" if roberta else "wordpiece_cased"
    shutil.copy(TOKENIZERS / f"{tokenizer}.tokenizer.json", folder / "tokenizer.json")
    tokens, hidden = (2000 if roberta else 1804), 2 * width
    config = {"model_type": kind, "architectures": [("Roberta" if roberta else "Bert") + "For" + head],
              "vocab_size": tokens, "max_position_embeddings": 96, "hidden_size": width, "num_hidden_layers": layers,
              "num_attention_heads": heads, "intermediate_size": hidden, "type_vocab_size": 1 if roberta else 2,
              "pad_token_id": 1 if roberta else 0, "layer_norm_eps": 1e-5,
              "id2label": {"0": "sad", "1": "plain", "2": "glad"}}
    shapes = {f"{kind}.embeddings.word_embeddings.weight": ((tokens, width), 0, 0.6),
              f"{kind}.embeddings.position_embeddings.weight": ((96, width), 0, 0.3),
              f"{kind}.embeddings.token_type_embeddings.weight": ((config["type_vocab_size"], width), 0, 0.1)}
    shapes |= norm(f"{kind}.embeddings.LayerNorm", width)
    for i in range(layers):
        name = f"{kind}.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            shapes |= linear(f"{name}.attention.self.{part}", width, width)
        shapes |= linear(f"{name}.attention.output.dense", width, width) | norm(f"{name}.attention.output.LayerNorm", width)
        shapes |= linear(f"{name}.intermediate.dense", hidden, width) | linear(f"{name}.output.dense", width, hidden)
        shapes |= norm(f"{name}.output.LayerNorm", width)
    if head == "MaskedLM":
        where = "lm_head" if roberta else "cls.predictions"
        part = where if roberta else where + ".transform"
        shapes |= linear(f"{part}.dense", width, width)
        shapes |= norm(f"{part}.layer_norm" if roberta else f"{part}.LayerNorm", width)
        shapes |= {f"{where}.bias": ((tokens,), 0, 0.1)}
    else:
        if head == "SequenceClassification":
            shapes |= linear("bert.pooler.dense", width, width)
        shapes |= linear("qa_outputs", 2, width) if head == "QuestionAnswering" else linear("classifier", 3, width)
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", shapes, 2)
    return folder


def make_vit(folder, size=224, patch=16, layers=4, heads=4, width=64):
    """Not quite random, so that images of it can be read: the first 16 dimensions hold a patch's colour, the last 32 its
    place; odd heads look for a like colour, even ones for a near place; the class token asks for orange."""
    folder.mkdir(parents=True)
    side, hidden, source = size // patch, 2 * width, random.Random(5)
    labels = ["bird", "boat", "house", "shapes", "cat", "tree"]
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "image_size": size, "patch_size": patch,
              "num_channels": 3, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
              "intermediate_size": hidden, "hidden_act": "gelu", "layer_norm_eps": 1e-6, "qkv_bias": True,
              "id2label": {str(i): label for i, label in enumerate(labels)}}
    colours = [[source.gauss(0, 1) for _ in range(3)] for _ in range(16)]
    projection = [2 * colours[row][c] / patch ** 2 if row < 16 else 0.0
                  for row in range(width) for c in range(3) for _ in range(patch ** 2)]
    orange = [2 * sum(w * x for w, x in zip(colour, (0.68, 0.11, -0.45))) for colour in colours]
    table = [0.0] * width  # of the class token
    for y in range(side):
        for x in range(side):
            waves = [wave(2.2 * at / side * (1 + k)) for at in (y, x) for k in range(8) for wave in (math.sin, math.cos)]
            table += [0.0] * (width - 32) + [1.4 * one for one in waves]
    shapes = {"vit.embeddings.cls_token": ((1, 1, width), orange + [0.0] * (width - 16)),
              "vit.embeddings.position_embeddings": ((1, side * side + 1, width), table),
              "vit.embeddings.patch_embeddings.projection.weight": ((width, 3, patch, patch), projection),
              "vit.embeddings.patch_embeddings.projection.bias": ((width,), 0, 0.01)}
    for i in range(layers):
        name, each = f"vit.encoder.layer.{i}", width // heads
        shapes |= norm(f"{name}.layernorm_before", width) | norm(f"{name}.layernorm_after", width)
        asked = [0.0] * (width * width)
        for row in range(width):
            head, at = divmod(row, each)
            read = at if head % 2 == 0 else width - 32 + (at + 16 * (head // 2)) % 32
            asked[row * width + read] = 1.0 + 0.25 * i
        for part in ("query", "key"):
            shapes |= {f"{name}.attention.attention.{part}.weight": ((width, width), asked),
                       f"{name}.attention.attention.{part}.bias": ((width,), 0, 0.02)}
        shapes |= linear(f"{name}.attention.attention.value", width, width)
        for part, outputs, inputs in (("attention.output", width, width), ("output", width, hidden)):
            shapes |= {f"{name}.{part}.dense.weight": ((outputs, inputs), 0, 0.35 / inputs ** 0.5),
                       f"{name}.{part}.dense.bias": ((outputs,), 0, 0.02)}
        shapes |= linear(f"{name}.intermediate.dense", hidden, width)
    shapes |= norm("vit.layernorm", width) | linear("classifier", len(labels), width)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text(json.dumps(
        {"image_processor_type": "ViTImageProcessor", "size": {"height": size, "width": size}}))
    write_safetensors(folder / "model.safetensors", shapes, 3)
    return folder
