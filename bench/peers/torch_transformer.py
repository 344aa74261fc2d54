"""torch as a peer of translation_decoding.py: the Transformer of a folder by its own functions, with cached keys and values,
greedily or with beams.
"""
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F

from side_by_side import read_safetensors


class Linear:
    """x Wᵀ + b by torch's BLAS, by oneDNN with weights laid out once, or for one row as a matrix by a vector: whichever is
    fastest for so many rows (with distributions' OpenBLAS the vector by 1.5 to 2.3 times, oneDNN from a few rows on by 2
    to 3)."""
    faster = {}  # by the size of the product, rows to a power of two

    def __init__(self, weight, bias=None):
        self.weight, self.bias = weight.contiguous(), None if bias is None else bias.contiguous()
        self.packed = self.weight.to_mkldnn()

    def blas(self, x):
        return F.linear(x, self.weight, self.bias)

    def onednn(self, x):
        return torch._C._nn.mkldnn_linear(x.to_mkldnn(), self.packed, self.bias).to_dense()

    def vector(self, x):
        y = torch.mv(self.weight, x.reshape(-1))
        return (y if self.bias is None else y + self.bias).reshape(*x.shape[:-1], -1)

    def __call__(self, x):
        rows = x.numel() // x.shape[-1]
        key = self.weight.shape, rows.bit_length()
        if key not in Linear.faster:
            ways = (Linear.blas, Linear.onednn) + ((Linear.vector,) if rows == 1 else ())
            Linear.faster[key] = min(ways, key=lambda way: median_seconds(lambda: way(self, x)))
        return Linear.faster[key](self, x)


def median_seconds(function, reps=9):
    times = []
    for _ in range(reps):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def scaled_dot_product(q, k, v, mask=None, causal=False):
    """[B, H, T, D] each; mask is added to the scores. Older than torch 2 it is computed here."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    if causal:
        mask = torch.full((q.shape[-2], k.shape[-2]), -math.inf).triu(1)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return torch.softmax(scores if mask is None else scores + mask, -1) @ v


class Model:
    """The Transformer of a folder, its decoder one position at a time."""

    def __init__(self, folder):
        config = json.loads((folder / "config.json").read_text())
        known = {"model_type": "transformer", "positions": "sinusoidal", "activation": "relu", "shared_embeddings": True,
                 "scaled_embeddings": True, "output_bias": False, "decoder_heads": 0, "decoder_hidden": 0}
        for key, value in known.items():
            if config[key] != value:
                raise SystemExit(f"{folder}: {key} is {config[key]}; only {value} was written down for torch")
        self.weights = {name: value.float() for name, value in read_safetensors(folder / "model.safetensors").items()}
        self.width, self.heads, self.pre_norm = config["width"], config["heads"], config["pre_norm"]
        self.final_norm = config["final_norm"] or config["pre_norm"]
        self.max_length = config["max_length"]
        self.embedding = self.weights["embedding.weight"]
        self.output = Linear(self.embedding)
        angles = torch.arange(self.max_length).double()[:, None] / 10000 ** (torch.arange(0, self.width, 2).double() / self.width)
        self.positions = torch.stack([angles.sin(), angles.cos()], -1).reshape(self.max_length, self.width).float()
        self.encoder = [self.layer(f"encoder.layers.{i}.") for i in range(config["encoder_layers"])]
        self.decoder = [self.layer(f"decoder.layers.{i}.") for i in range(config["decoder_layers"])]

    def layer(self, prefix):
        """Norms and projections by name; the fused projection of cross-attention cut into queries and the rest."""
        names = [name[len(prefix):-len("weight")] for name in self.weights if name.startswith(prefix) and name.endswith("weight")]
        layer = {}
        for name in names:
            weight, bias = self.weights[prefix + name + "weight"], self.weights[prefix + name + "bias"]
            if name.startswith("norm"):
                layer[name[:-1]] = weight, bias
            elif name == "multihead_attn.in_proj_":
                layer["query"] = Linear(weight[:self.width], bias[:self.width])
                layer["memory"] = Linear(weight[self.width:], bias[self.width:])
            else:
                layer[name[:-1]] = Linear(weight, bias)
        return layer

    def norm(self, x, weights):
        return F.layer_norm(x, (self.width,), *weights)

    def sublayer(self, x, weights, function):
        return x + function(self.norm(x, weights)) if self.pre_norm else self.norm(x + function(x), weights)

    def finish(self, x, stack):
        return self.norm(x, (self.weights[stack + ".norm.weight"], self.weights[stack + ".norm.bias"])) if self.final_norm else x

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def join(self, x, output):
        return output(x.transpose(1, 2).reshape(x.shape[0], -1, self.width))

    def feed_forward(self, layer):
        return lambda x: layer["linear2"](torch.relu(layer["linear1"](x)))

    def encode(self, ids, mask):
        x = self.embedding[ids] * math.sqrt(self.width) + self.positions[:ids.shape[1]]
        for layer in self.encoder:
            def attention(x):
                q, k, v = layer["self_attn.in_proj"](x).chunk(3, -1)
                return self.join(scaled_dot_product(self.split(q), self.split(k), self.split(v), mask), layer["self_attn.out_proj"])

            x = self.sublayer(x, layer["norm1"], attention)
            x = self.sublayer(x, layer["norm2"], self.feed_forward(layer))
        return self.finish(x, "encoder")


class Decoder:
    """Rows that are written together, `group` for each source."""

    def __init__(self, model, sources, group, pad):
        lengths = torch.tensor([len(ids) for ids in sources])
        longest = int(lengths.max())
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in sources])
        self.model, self.group, self.length = model, group, 0
        self.mask = None  # [B, 1, 1, S]
        if int(lengths.min()) < longest:
            self.mask = torch.zeros(len(sources), 1, 1, longest).masked_fill_(
                (torch.arange(longest) >= lengths[:, None])[:, None, None], -math.inf)
        memory = model.encode(ids, self.mask)
        self.memory = [[model.split(half) for half in layer["memory"](memory).chunk(2, -1)] for layer in model.decoder]
        self.rows, self.capacity = len(sources) * group, 16
        self.cache = [[self.empty(), self.empty()] for _ in model.decoder]

    def empty(self):
        return torch.empty(self.rows, self.model.heads, self.capacity, self.model.width // self.model.heads)

    def grow(self):
        self.capacity *= 2
        for pair in self.cache:
            for i, old in enumerate(pair):
                pair[i] = self.empty()
                pair[i][:, :, :self.length] = old

    def step(self, tokens):
        """Logits [rows, V] of what follows."""
        model, now = self.model, self.length
        if now == self.capacity:
            self.grow()
        x = model.embedding[tokens].unsqueeze(1) * math.sqrt(model.width) + model.positions[now]
        for layer, (keys, values), memory in zip(model.decoder, self.cache, self.memory):
            def attention(x):
                q, k, v = layer["self_attn.in_proj"](x).chunk(3, -1)
                keys[:, :, now:now + 1], values[:, :, now:now + 1] = model.split(k), model.split(v)
                return model.join(scaled_dot_product(model.split(q), keys[:, :, :now + 1], values[:, :, :now + 1]),
                                  layer["self_attn.out_proj"])

            def read(x):  # the rows of a source as if they were positions
                q = layer["query"](x).view(-1, self.group, model.width)
                return model.join(scaled_dot_product(model.split(q), *memory, self.mask), layer["multihead_attn.out_proj"]).view(x.shape)

            x = model.sublayer(x, layer["norm1"], attention)
            x = model.sublayer(x, layer["norm2"], read)
            x = model.sublayer(x, layer["norm3"], model.feed_forward(layer))
        self.length += 1
        return model.output(model.finish(x, "decoder")[:, 0])

    def reorder(self, rows):
        if rows == list(range(self.rows)):
            return
        index = torch.tensor(rows)
        for pair in self.cache:
            for i, old in enumerate(pair):
                if len(rows) == self.rows:
                    old[:, :, :self.length] = old[:, :, :self.length].index_select(0, index)
                else:
                    pair[i] = old.index_select(0, index)
        if len(rows) < self.rows:
            sources = index[::self.group] // self.group
            self.memory = [[half.index_select(0, sources) for half in pair] for pair in self.memory]
            self.mask = None if self.mask is None else self.mask.index_select(0, sources)
            self.rows = len(rows)


def greedy(decoder, limits, special):
    written, open_rows = [[] for _ in limits], list(range(len(limits)))
    tokens = torch.full((len(limits),), special["start"])
    while open_rows:
        logits = decoder.step(tokens)
        logits[:, special["suppressed"]] = -math.inf
        best = logits.argmax(-1)
        kept = []
        for place, (row, token) in enumerate(zip(open_rows, best.tolist())):
            written[row].append(token)
            if token != special["end"] and len(written[row]) < limits[row]:
                kept.append(place)
        if len(kept) < len(open_rows):
            open_rows = [open_rows[place] for place in kept]
            if open_rows:
                decoder.reorder(kept)
                best = best[kept]
        tokens = best
    return written


def beam_search(decoder, limits, special, beams, alpha=0.6):
    """Ends are taken from the best `beams` of 2 x beams continuations; scores by Wu et al. 2016."""
    def normalised(total, length):
        return total / ((5 + length) / 6) ** alpha

    results, running = [None] * len(limits), [(row, [[]], []) for row in range(len(limits))]
    sums = torch.full((len(limits), beams), -math.inf)
    sums[:, 0] = 0
    tokens = torch.full((len(limits) * beams,), special["start"])
    while running:
        logits = decoder.step(tokens)
        scores = torch.log_softmax(logits, -1)
        scores[:, special["suppressed"]] = -math.inf
        vocabulary = scores.shape[1]
        best = (scores.view(len(running), beams, -1) + sums[:, :, None]).view(len(running), -1).topk(2 * beams)
        kept, rows, next_tokens, next_sums = [], [], [], []
        for place, (totals, indices) in enumerate(zip(best.values.tolist(), best.indices.tolist())):
            row, written, ended = running[place]
            opened = []
            for rank, (total, index) in enumerate(zip(totals, indices)):
                beam, token = divmod(index, vocabulary)
                if token == special["end"]:
                    if rank < beams:
                        ended.append((normalised(total, len(written[beam]) + 1), written[beam] + [token]))
                elif len(opened) < beams:
                    opened.append((total, beam, token))
            ended.sort(key=lambda pair: -pair[0])
            beginnings = [written[beam] + [token] for _, beam, token in opened]
            length, limit = len(beginnings[0]), limits[row]
            if length >= limit:
                ended += [(normalised(total, length), tokens) for (total, _, _), tokens in zip(opened, beginnings)]
            elif not ended or max(normalised(opened[0][0], length + 1), normalised(opened[0][0], limit + 1)) > ended[0][0]:
                kept.append((row, beginnings, ended))
                rows += [place * beams + beam for _, beam, _ in opened]
                next_tokens += [token for _, _, token in opened]
                next_sums.append([total for total, _, _ in opened])
                continue
            results[row] = max(ended, key=lambda pair: pair[0])[1]
        running = kept
        if running:
            decoder.reorder(rows)
            tokens, sums = torch.tensor(next_tokens), torch.tensor(next_sums)
    return results


class Torch:
    def __init__(self, folder, special, sources, threads):
        torch.set_num_threads(threads)
        self.model, self.special, self.sources = Model(folder), special, sources

    def run(self, beams, batch):
        begin = time.perf_counter()
        rows = self.translate(beams, batch)
        return {"seconds": [(time.perf_counter() - begin) / sum(map(len, rows))], "ids": rows}

    def translate(self, beams, batch):
        order = sorted(range(len(self.sources)), key=lambda i: len(self.sources[i]))
        results = [None] * len(self.sources)
        for begin in range(0, len(order), batch):
            part = order[begin:begin + batch]
            decoder = Decoder(self.model, [self.sources[i] for i in part], beams, self.special["pad"])
            limits = [min(self.model.max_length, 2 * (len(self.sources[i]) - 1) + 50) for i in part]
            written = greedy(decoder, limits, self.special) if beams == 1 else beam_search(decoder, limits, self.special, beams)
            for i, ids in zip(part, written):
                results[i] = ids
        return results
