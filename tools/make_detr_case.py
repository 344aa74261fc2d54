#!/usr/bin/env python3
"""Writes tests/fixtures/data/detr_float64: the small DETR of the fixture `detr` computed in float64 by torch.

    tools/make_detr_case.py ../shared/fixtures/models/detr FOLDER

float32 does not determine three gradients of that fixture to 1e-4: its first encoder layer has scores in the hundreds. transformers
is 2.5e-4 away from float64 there. So the new case divides the weights and biases of that layer's queries and keys by 4, and all its
tensors are exact. DETR and its loss are written out here (Carion et al. 2020). They are compared with transformers on the unchanged
model first. Needs torch and numpy.
"""
import itertools
import json
import math
import pathlib
import shutil
import struct
import sys

import numpy
import torch
import torch.nn.functional as F

TYPES = {"F32": numpy.float32, "I64": numpy.int64}
HEADS, LAYERS, STAGES = 4, 2, 4


def read(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: torch.from_numpy(numpy.frombuffer(data, TYPES[entry["dtype"]], math.prod(entry["shape"]), 8 + size + entry["data_offsets"][0])
                                   .reshape(entry["shape"]).copy())
            for name, entry in header.items() if name != "__metadata__"}


def write(path, tensors):
    header, parts, offset = {}, [], 0
    for name, tensor in sorted(tensors.items()):
        array = tensor.detach().numpy()
        array = array if array.dtype == numpy.int64 else array.astype(numpy.float32)
        header[name] = {"dtype": "I64" if array.dtype == numpy.int64 else "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        parts.append(array.tobytes())
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


class Detr:
    def __init__(self, weights):
        self.weights = weights

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights[name + ".bias"])

    def convolution(self, x, name, stride):
        weight = self.weights[name + ".convolution.weight"]
        x = F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
        mean, variance, scale, shift = (self.weights[f"{name}.normalization.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias"))
        return (x - mean) / torch.sqrt(variance + 1e-5) * scale + shift

    def backbone(self, pixels):
        place = "model.backbone.conv_encoder.model."
        x = F.max_pool2d(F.relu(self.convolution(pixels, place + "embedder.embedder", 2)), 3, 2, 1)
        for stage in range(STAGES):
            layer, stride = f"{place}encoder.stages.{stage}.layers.0", 1 if stage == 0 else 2
            y = F.relu(self.convolution(x, layer + ".layer.0", 1))
            y = F.relu(self.convolution(y, layer + ".layer.1", stride))
            y = self.convolution(y, layer + ".layer.2", 1)
            x = F.relu(y + (self.convolution(x, layer + ".shortcut", stride) if stage else x))
        return x

    def attention(self, name, query, key, value, barred):
        batch, width = query.shape[0], query.shape[-1]
        q, k, v = (self.linear(x, f"{name}.{part}_proj").reshape(batch, -1, HEADS, width // HEADS).transpose(1, 2)
                   for x, part in ((query, "q"), (key, "k"), (value, "v")))
        scores = q @ k.transpose(2, 3) / math.sqrt(width // HEADS)
        if barred is not None:
            scores = scores.masked_fill(barred[:, None, None, :], -math.inf)
        weights = scores.softmax(-1)
        return self.linear((weights @ v).transpose(1, 2).reshape(batch, -1, width), name + ".out_proj"), weights

    def feed_forward(self, x, name):
        return self.norm(x + self.linear(F.relu(self.linear(x, name + ".fc1")), name + ".fc2"), name + ".final_layer_norm")

    def __call__(self, pixels, mask):
        grid = self.backbone(pixels)
        seen = F.interpolate(mask[None].float(), size=grid.shape[-2:]).bool()[0]
        positions = sines(seen, self.weights["model.query_position_embeddings.weight"].shape[1] // 2)
        x = F.conv2d(grid, self.weights["model.input_projection.weight"], self.weights["model.input_projection.bias"]).flatten(2).transpose(1, 2)
        barred = ~seen.flatten(1)
        for i in range(LAYERS):
            layer = f"model.encoder.layers.{i}"
            y, _ = self.attention(layer + ".self_attn", x + positions, x + positions, x, barred)
            x = self.feed_forward(self.norm(x + y, layer + ".self_attn_layer_norm"), layer)
        queries = self.weights["model.query_position_embeddings.weight"][None].expand(len(x), -1, -1)
        h, outputs, maps = torch.zeros_like(queries), [], []
        for i in range(LAYERS):
            layer = f"model.decoder.layers.{i}"
            y, _ = self.attention(layer + ".self_attn", h + queries, h + queries, h, None)
            h = self.norm(h + y, layer + ".self_attn_layer_norm")
            y, weights = self.attention(layer + ".encoder_attn", h + queries, x + positions, x, barred)
            h = self.feed_forward(self.norm(h + y, layer + ".encoder_attn_layer_norm"), layer)
            h = self.norm(h, "model.decoder.layernorm")  # transformers hands the next layer the normalised states, too
            maps.append(weights)
            outputs.append(h)
        outputs[-1] = self.norm(h, "model.decoder.layernorm")
        return [self.heads(h) for h in outputs], maps

    def heads(self, h):
        boxes = h
        for i in range(3):
            boxes = self.linear(boxes, f"bbox_predictor.layers.{i}")
            boxes = F.relu(boxes) if i < 2 else boxes.sigmoid()
        return self.linear(h, "class_labels_classifier"), boxes


def sines(seen, width):
    """Positions are constants, in float32 as transformers computes them."""
    wave = 10000 ** (2 * torch.div(torch.arange(width, dtype=torch.float32), 2, rounding_mode="floor") / width)
    sides = []
    for axis in (1, 2):
        place = seen.cumsum(axis, dtype=torch.float32)
        last = place[:, -1:, :] if axis == 1 else place[:, :, -1:]
        angle = (place / (last + 1e-6) * 2 * math.pi)[..., None] / wave
        sides.append(torch.stack((angle[..., 0::2].sin(), angle[..., 1::2].cos()), -1).flatten(3))
    return torch.cat(sides, -1).flatten(1, 2).double()


def corners(boxes):
    centre, size = boxes[..., :2], boxes[..., 2:]
    return torch.cat((centre - size / 2, centre + size / 2), -1)


def giou(a, b):
    """Of every pair of boxes (Rezatofighi et al. 2019)."""
    a, b = corners(a)[:, None], corners(b)[None]
    area = lambda box: (box[..., 2:] - box[..., :2]).clamp(min=0).prod(-1)
    common = area(torch.cat((torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])), -1))
    hull = area(torch.cat((torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])), -1))
    union = area(a) + area(b) - common
    return common / union - (hull - union) / hull


def matched(logits, boxes, labels, targets):
    """The queries of an image's objects, at the least cost."""
    cost = 5 * torch.cdist(boxes, targets, p=1) - logits.softmax(-1)[:, labels] - 2 * giou(boxes, targets)
    return list(min(itertools.permutations(range(len(boxes)), len(labels)), key=lambda queries: sum(cost[q, i] for i, q in enumerate(queries))))


def losses(logits, boxes, objects):
    count, none = sum(len(labels) for labels, _ in objects), logits.shape[-1] - 1
    classes, l1, overlap = torch.full(logits.shape[:2], none), 0, 0
    for image, (labels, targets) in enumerate(objects):
        queries = matched(logits[image].detach(), boxes[image].detach(), labels, targets)
        classes[image, queries] = labels
        l1 = l1 + (boxes[image, queries] - targets).abs().sum() / count
        overlap = overlap + (1 - giou(boxes[image, queries], targets).diagonal()).sum() / count
    weight = torch.ones(none + 1, dtype=torch.float64)
    weight[none] = 0.1
    return {"loss_ce": F.cross_entropy(logits.transpose(1, 2), classes, weight), "loss_bbox": l1, "loss_giou": overlap}


def computed(weights, known, case):
    """All that expected.safetensors holds of this model, by transformers' names."""
    for name, tensor in weights.items():
        tensor.requires_grad_(".backbone." not in name)
    outputs, maps = Detr(weights)(known["pixel_values"].double(), known["pixel_mask"])
    objects = [(torch.tensor(image["class_labels"]), torch.tensor(image["boxes"], dtype=torch.float64)) for image in case["labels"]]
    made = {"logits": outputs[-1][0], "pred_boxes": outputs[-1][1]} | {f"cross_attention.{i}": map for i, map in enumerate(maps)}
    total = 0
    for suffix, (logits, boxes) in (("", outputs[-1]), ("_0", outputs[0])):
        for name, value in losses(logits, boxes, objects).items():
            made[f"loss_dict.{name}{suffix}"] = value.reshape(1)
            total = total + {"loss_ce": 1, "loss_bbox": 5, "loss_giou": 2}[name] * value
    made["loss"] = total.reshape(1)
    total.backward()
    renamed = (("out_proj", "o_proj"), (".fc1", ".mlp.fc1"), (".fc2", ".mlp.fc2"))
    for name, tensor in weights.items():
        for old, new in renamed:
            name = name.replace(old, new)
        if tensor.requires_grad:
            made["grad." + name] = tensor.grad
    return made


def compare(made, known):
    largest = max(tensor.abs().max() for name, tensor in made.items() if name.startswith("grad."))
    for name, tensor in sorted(made.items()):
        error, size = (tensor - known[name]).abs().max(), tensor.abs().max()
        if error > 2e-5 * size and error > 1e-7 * largest:
            print(f"{name}: transformers in float32 is {error / size:.1e} away, relative to the largest value")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, folder = map(pathlib.Path, sys.argv[1:])
    known, case = read(source / "expected.safetensors"), json.loads((source / "case.json").read_text())
    stored = read(source / "model.safetensors")
    compare(computed({name: tensor.double() for name, tensor in stored.items()}, known, case), known)
    for kind in ("q_proj.weight", "q_proj.bias", "k_proj.weight", "k_proj.bias"):
        stored["model.encoder.layers.0.self_attn." + kind] /= 4
    made = {name: tensor for name, tensor in known.items() if name.startswith("pixel_")}
    made |= computed({name: tensor.double() for name, tensor in stored.items()}, known, case)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / "config.json", folder / "config.json")
    case["tensors"] = {name: list(tensor.shape) for name, tensor in made.items() if not name.startswith("grad.")}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    write(folder / "model.safetensors", stored)
    write(folder / "expected.safetensors", made)


main()
