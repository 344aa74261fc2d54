#!/usr/bin/env python3
"""Writes tests/fixtures/data/longformer_masked_lm, longformer_classify, longformer_qa and longformer_marked: small random
Longformers of transformers, with what they answer and the gradient of every parameter.

    tools/make_longformer_cases.py [FOLDER]

Needs torch and transformers. Each folder has config.json and model.safetensors as save_pretrained writes them,
expected.safetensors (input_ids, attention_mask, labels, logits, loss, last_hidden_state where no text is padded, and
grad.PARAMETER; longformer_qa has start_positions, end_positions, start_logits and end_logits, longformer_marked
global_attention_mask) and case.json. Windows differ by layer; texts are no multiple of any of them.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers import (LongformerConfig, LongformerForMaskedLM, LongformerForQuestionAnswering,
                          LongformerForSequenceClassification)

SMALL = dict(vocab_size=113, hidden_size=24, num_hidden_layers=3, num_attention_heads=3, intermediate_size=56,
             max_position_embeddings=64, type_vocab_size=1, attention_window=[4, 8, 16], pad_token_id=1, bos_token_id=0,
             eos_token_id=2, sep_token_id=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
             layer_norm_eps=1e-5)


def drawn(model):
    """Large weights, so that a small mistake shows."""
    torch.manual_seed(7)
    with torch.no_grad():
        for name, value in model.named_parameters():
            value.copy_(torch.randn_like(value) * (0.3 if value.dim() > 1 else 0.2) + ("LayerNorm.weight" in name))
    return model.eval()


def save(folder, model, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, safe_serialization=True)
    for extra in ("generation_config.json",):
        (folder / extra).unlink(missing_ok=True)
    grads = {"grad." + name: torch.zeros_like(value) if value.grad is None else value.grad
             for name, value in model.named_parameters()}
    tensors = {name: value.detach().contiguous().clone() for name, value in {**tensors, **grads}.items()}
    save_file(tensors, folder / "expected.safetensors")
    case = {"kind": type(model).__name__, "transformers": transformers.__version__,
            "tensors": {name: list(value.shape) for name, value in tensors.items() if not name.startswith("grad.")}}
    (folder / "case.json").write_text(json.dumps(case, indent=1))


def masked_lm(folder):
    """Two global tokens, which config.json's global_tokens (a key of ours) tells attend."""
    model = drawn(LongformerForMaskedLM(LongformerConfig(**SMALL, global_tokens=2)))
    torch.manual_seed(8)
    ids = torch.randint(3, 113, (2, 29))
    ids[:, 0] = 0
    labels = torch.where(torch.rand(ids.shape) < 0.4, torch.randint(3, 113, ids.shape), -100)
    globals_ = torch.zeros_like(ids)
    globals_[:, :2] = 1
    out = model(input_ids=ids, attention_mask=torch.ones_like(ids), global_attention_mask=globals_, labels=labels,
                output_hidden_states=True)
    out.loss.backward()
    save(folder, model, dict(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels, logits=out.logits,
                             loss=out.loss.reshape(1), last_hidden_state=out.hidden_states[-1]))


def classify(folder):
    """The first token is global without being told, and two texts are padded."""
    model = drawn(LongformerForSequenceClassification(LongformerConfig(**SMALL, num_labels=3)))
    torch.manual_seed(9)
    ids = torch.randint(3, 113, (3, 31))
    ids[:, 0] = 0
    mask = torch.ones_like(ids)
    for row, length in ((1, 17), (2, 5)):
        ids[row, length:], mask[row, length:] = 1, 0
    labels = torch.tensor([2, 0, 1])
    out = model(input_ids=ids, attention_mask=mask, labels=labels)
    out.loss.backward()
    save(folder, model, dict(input_ids=ids, attention_mask=mask, labels=labels, logits=out.logits,
                             loss=out.loss.reshape(1)))


def answers(folder):
    """The tokens of each question are global without being told; questions differ in length. Nothing is padded: what
    transformers' Longformer says of padding is zeros, which nobody reads but the loss."""
    model = drawn(LongformerForQuestionAnswering(LongformerConfig(**SMALL)))
    torch.manual_seed(10)
    ids = torch.randint(3, 113, (3, 37))
    mask = torch.ones_like(ids)
    # <s> question </s></s> context </s>: transformers wants exactly three separators.
    for row, question in enumerate((4, 11, 1)):
        ids[row, 0], ids[row, question + 1], ids[row, question + 2], ids[row, -1] = 0, 2, 2, 2
    starts, ends = torch.tensor([20, 15, 5]), torch.tensor([23, 15, 7])
    out = model(input_ids=ids, attention_mask=mask, start_positions=starts, end_positions=ends)
    out.loss.backward()
    save(folder, model, dict(input_ids=ids, attention_mask=mask, start_positions=starts, end_positions=ends,
                             start_logits=out.start_logits, end_logits=out.end_logits, loss=out.loss.reshape(1)))


def marked(folder):
    """Global tokens anywhere, other ones in each text."""
    model = drawn(LongformerForMaskedLM(LongformerConfig(**SMALL)))
    torch.manual_seed(11)
    ids = torch.randint(3, 113, (3, 33))
    ids[:, 0] = 0
    mask, globals_ = torch.ones_like(ids), torch.zeros_like(ids)
    for row, places in enumerate(((5, 17, 18, 32), (0, 9), (20,))):
        globals_[row, list(places)] = 1
    labels = torch.where(torch.rand(ids.shape) < 0.4, torch.randint(3, 113, ids.shape), -100)
    out = model(input_ids=ids, attention_mask=mask, global_attention_mask=globals_, labels=labels)
    out.loss.backward()
    save(folder, model, dict(input_ids=ids, attention_mask=mask, global_attention_mask=globals_, labels=labels,
                             logits=out.logits, loss=out.loss.reshape(1)))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/data")
    masked_lm(folder / "longformer_masked_lm")
    classify(folder / "longformer_classify")
    answers(folder / "longformer_qa")
    marked(folder / "longformer_marked")


main()
