"""Small model folders with random weights, as Hugging Face lays them out: GPT-2 and BERT's family for tests of the page."""
import array
import json
import pathlib
import random
import shutil
import struct

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOKENIZERS = ROOT / "tests/fixtures/data/text"


def write_safetensors(path, shapes, seed):
    """shapes: name -> (shape, centre, deviation)."""
    source, header, data = random.Random(seed), {}, array.array("f")
    for name, (shape, centre, deviation) in shapes.items():
        count = 1
        for side in shape:
            count *= side
        begin = 4 * len(data)
        spread, draw = 2 * 3 ** 0.5 * deviation, source.random  # uniform: five times as fast as normal
        data.extend([centre + spread * (draw() - 0.5) for _ in range(count)])
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
