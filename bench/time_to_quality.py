#!/usr/bin/env python3
"""How long until a small Transformer translates: `attend train` beside plain torch, same data, same size, one run.

    bench/time_to_quality.py build/attend --data .data/tatoeba-en-fr --recipe recipes/tatoeba-en-fr.json [--loss 0.95]

torch: eager, bf16 autocast, every batch resident on the GPU, the model and schedule of the recipe (pre-norm, 3 + 3
layers, width 256, FFN 1024, 4 heads, dropout, tied embeddings, AdamW, label smoothing 0.1), with the tokenizer that `attend train` learned. Both clocks start when training starts, and both validate on the same pairs
(nats per token, no smoothing) at the same steps.
"""
import argparse
import json
import math
import os
import random
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn

PAD, START, END = 0, 1, 2


def encode(tokenizer, path):
    with open(path, encoding="utf-8") as file:
        return [e.ids for e in tokenizer.encode_batch([line.rstrip("\n") for line in file], add_special_tokens=False)]


def batches(source, target, tokens, longest=127):
    """Pairs of similar length, so that the padded tokens of both sides stay below the budget."""
    pairs = sorted((p for p in zip(source, target) if max(map(len, p)) <= longest and min(map(len, p)) > 0), key=lambda p: (len(p[1]), len(p[0])))
    made, start = [], 0
    while start < len(pairs):
        end = start + 1
        while end < len(pairs):
            rows = pairs[start:end + 1]
            if (max(len(s) for s, _ in (rows[0], rows[-1])) + len(rows[-1][1]) + 2) * len(rows) > tokens:
                break
            end += 1
        made.append(to_device(pairs[start:end]))
        start = end
    return made


def to_device(pairs):
    s_len, t_len = max(len(s) for s, _ in pairs) + 1, max(len(t) for _, t in pairs) + 1
    source = [s + [END] + [PAD] * (s_len - len(s) - 1) for s, _ in pairs]
    target = [[START] + t + [PAD] * (t_len - len(t) - 1) for _, t in pairs]
    labels = [t + [END] + [-100] * (t_len - len(t) - 1) for _, t in pairs]
    return tuple(torch.tensor(x, device="cuda") for x in (source, target, labels))


class Model(nn.Module):
    def __init__(self, vocabulary, recipe):
        super().__init__()
        self.width = recipe["width"]
        self.embedding = nn.Embedding(vocabulary, self.width)
        nn.init.normal_(self.embedding.weight, std=self.width ** -0.5)
        self.drop = nn.Dropout(recipe["dropout"])
        self.body = nn.Transformer(self.width, recipe["heads"], recipe["encoder_layers"], recipe["decoder_layers"], recipe["hidden"],
                                   recipe["dropout"], batch_first=True, norm_first=recipe["pre_norm"])
        angles = torch.arange(256)[:, None] / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).reshape(256, self.width))

    def embed(self, ids):
        return self.drop(self.embedding(ids) * math.sqrt(self.width) + self.positions[:ids.shape[1]])

    def forward(self, source, target, labels, smoothing):
        padding = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        x = self.body(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True, src_key_padding_mask=padding,
                      memory_key_padding_mask=padding)
        logits = F.linear(x, self.embedding.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1), label_smoothing=smoothing)


def validate(model, sets):
    model.eval()
    total = count = 0
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for batch in sets:
            labels = int((batch[2] != -100).sum())
            total += float(model(*batch, 0.0)) * labels
            count += labels
    model.train()
    return total / count


def train_torch(options, recipe, folder):
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    read = {f"{part}.{side}": encode(tokenizer, os.path.join(options.data, f"{part}.{side}")) for part in ("train", "valid") for side in ("en", "fr")}
    training = batches(read["train.en"], read["train.fr"], 2 * recipe["tokens"])
    validation = batches(read["valid.en"], read["valid.fr"], 2 * recipe["tokens"])
    torch.manual_seed(1)
    model = Model((tokenizer.get_vocab_size() + 7) // 8 * 8, recipe).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True)
    warmup, peak = recipe["warmup"], recipe["learning_rate"]

    def rate(step):
        if recipe["schedule"] == "cosine" and step > warmup:
            return peak * 0.5 * (1 + math.cos(math.pi * min(1, (step - warmup) / max(recipe["steps"] - warmup, 1))))
        return peak * min(step / warmup, math.sqrt(warmup / step))

    step, start = 0, time.perf_counter()
    while True:
        random.shuffle(training)
        for batch in training:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(*batch, recipe["label_smoothing"])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if step % recipe["validate_every"] == 0:
                torch.cuda.synchronize()
                validation_loss, seconds = validate(model, validation), time.perf_counter() - start
                print(f"torch  step {step:6}  {seconds:7.1f} s  validation loss {validation_loss:.4f}", flush=True)
                if validation_loss <= options.loss or seconds > options.limit or step >= recipe["steps"]:
                    return seconds, step, validation_loss


def train_ours(options, folder):
    with open(os.path.join(folder, "log.txt"), "w") as log:
        subprocess.run([options.program, "train", options.recipe, "--device", "cuda", "--out", folder, *options.extra], check=True, stderr=log)
    with open(os.path.join(folder, "log.jsonl")) as file:
        for line in map(json.loads, file):
            if "validation" in line and "seconds" in line:
                print(f"attend step {line['step']:6}  {line['seconds']:7.1f} s  validation loss {line['validation']['loss']:.4f}")
                if line["validation"]["loss"] <= options.loss:
                    return line["seconds"], line["step"], line["validation"]["loss"]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--data", required=True)
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--loss", type=float, default=0.95)
    parser.add_argument("--limit", type=float, default=200, help="seconds after which torch is given up")
    parser.add_argument("--out", help="keep our model folder here")
    options, options.extra = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or os.path.join(scratch, "model")
        os.makedirs(folder, exist_ok=True)
        ours = train_ours(options, folder)
        with open(os.path.join(folder, "recipe.json")) as file:
            recipe = json.load(file)
        theirs = train_torch(options, recipe, folder)
    print(f"to a validation loss of {options.loss}: attend {ours}, torch {torch.__version__} {theirs} (seconds, step, loss)")
    if ours:
        print(f"attend needs {ours[0] / theirs[0]:.2f} of torch's time")


if __name__ == "__main__":
    main()
