"""Answers to the labs that are written differently from labs/*/solution.py and from labs/*/reference.py: for each lab two right
ones, and three or more wrong ones, as replacements in the first right one, each under the name that the checker must give."""

SOFTMAX = '''
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
def softmax_backward(y, dy):
    return np.stack([(np.diag(p) - np.outer(p, p)) @ d for p, d in zip(y, dy)])
'''
ATTENTION = '''
import numpy as np
def weights(q, k):
    s = q @ k.T / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def attention(q, k, v):
    return weights(q, k) @ v
def attention_gradient(q, k, v, dy):
    w = weights(q, k)
    dw = dy @ v.T
    ds = w * (dw - (dw * w).sum(-1, keepdims=True))
    return ds @ k / np.sqrt(q.shape[-1])
'''
MASKING = '''
import numpy as np
def causal_mask(n):
    return np.tril(np.ones((n, n)), 0)
def masked_softmax(scores, mask):
    s = np.where(mask > 0, scores, -1e9)
    e = np.exp(s - s.max(-1, keepdims=True))
    w = e / e.sum(-1, keepdims=True)
    return w
'''
MULTI_HEAD = '''
import numpy as np
def multi_head(x, wq, wk, wv, wo, heads):
    T, C = x.shape
    def split(a):
        return a.reshape(T, heads, C // heads).transpose(1, 0, 2)
    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(C // heads)
    e = np.exp(s - s.max(-1, keepdims=True))
    y = (e / e.sum(-1, keepdims=True)) @ v
    return y.transpose(1, 0, 2).reshape(T, C) @ wo
'''
SINUSOIDS = '''
import numpy as np
def positions(length, width):
    p = np.arange(length)[:, None]
    f = np.exp(-np.log(10000.0) * np.arange(0, width, 2) / width)[None]
    table = np.zeros((length, width))
    table[:, 0::2] = np.sin(p * f)
    table[:, 1::2] = np.cos(p * f)
    return table
'''
LAYER_NORM = '''
import numpy as np
def layer_norm(x, weight, bias, eps):
    m = x.mean(1, keepdims=True)
    v = x.var(1, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * weight + bias
def layer_norm_backward(x, weight, eps, dy):
    C = x.shape[1]
    s = np.sqrt(x.var(1, keepdims=True) + eps)
    n = (x - x.mean(1, keepdims=True)) / s
    g = dy * weight
    return (C * g - g.sum(1, keepdims=True) - n * (g * n).sum(1, keepdims=True)) / (C * s)
'''
ENCODER = '''
import numpy as np
def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def encoder_layer(x, wq, wk, wv, wo, w1, w2):
    a = softmax((x @ wq) @ (x @ wk).T / np.sqrt(x.shape[1])) @ (x @ wv) @ wo
    h = norm(x + a)
    f = np.maximum(h @ w1, 0) @ w2
    return norm(h + f)
'''
DECODER = '''
import numpy as np
def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
def attend(q, k, v, mask):
    s = q @ k.T / np.sqrt(q.shape[1])
    if mask:
        s = s + np.triu(np.full(s.shape, -np.inf), 1)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
def decoder_layer(x, memory, w1q, w1k, w1v, w2q, w2k, w2v, f1, f2):
    a = norm(x + attend(x @ w1q, x @ w1k, x @ w1v, True))
    b = norm(a + attend(a @ w2q, memory @ w2k, memory @ w2v, False))
    return norm(b + np.maximum(b @ f1, 0) @ f2)
'''
BPE = '''
def joined(tokens, left, right):
    out = []
    for token in tokens:
        if out and out[-1] == left and token == right and not (len(out) in glued):
            out[-1] = left + right
            glued.add(len(out))
        else:
            out.append(token)
    glued.clear()
    return out
glued = set()
def learn(words, counts, merges):
    split = {word: list(word) for word in words}
    weight = {word: int(count) for word, count in zip(words, counts)}
    result = []
    while len(result) < merges:
        table = {}
        for word, tokens in split.items():
            for i in range(len(tokens) - 1):
                pair = tokens[i] + " " + tokens[i + 1]
                table[pair] = table.get(pair, 0) + weight[word]
        if not table:
            return result
        top = max(table.values())
        best = sorted(pair for pair in table if table[pair] == top)[0]
        result.append(best)
        for word in split:
            split[word] = joined(split[word], *best.split(" "))
    return result
def encode(word, merges):
    tokens = list(word)
    for merge in merges:
        tokens = joined(tokens, *merge.split(" "))
    return tokens
'''
BEAM = '''
import heapq
def beam_search(first, following, beams, length, alpha):
    done, live = [], [(0.0, ())]
    for step in range(length):
        grown = []
        for score, tokens in live:
            row = following[tokens[-1]] if tokens else first
            for token, log in enumerate(row):
                grown.append((score + log, tokens + (token,)))
        grown = heapq.nlargest(beams, grown)
        done += [one for one in grown if one[1][-1] == 0]
        live = [one for one in grown if one[1][-1] != 0]
    done += live
    best = max(done, key=lambda one: one[0] / len(one[1]) ** alpha)
    return list(best[1]) + [best[0] / len(best[1]) ** alpha]
'''
PATCHES = '''
import numpy as np
def patches(image, size):
    H, W, C = image.shape
    cut = image.reshape(H // size, size, W // size, size, C)
    return cut.transpose(0, 2, 1, 3, 4).reshape(-1, size * size * C)
'''
MATCHING = '''
import itertools
import numpy as np
def corners(b):
    return np.concatenate([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], 1)
def giou(a, b):
    p, q = corners(a)[:, None], corners(b)[None]
    wh = np.clip(np.minimum(p[..., 2:], q[..., 2:]) - np.maximum(p[..., :2], q[..., :2]), 0, None)
    inner = wh.prod(-1)
    union = (a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - inner
    hull = (np.maximum(p[..., 2:], q[..., 2:]) - np.minimum(p[..., :2], q[..., :2])).prod(-1)
    return inner / union - (hull - union) / hull
def match(probabilities, boxes, labels, targets):
    cost = -probabilities[:, labels] + 5 * np.abs(boxes[:, None] - targets[None]).sum(-1) - 2 * giou(boxes, targets)
    best = None
    for way in itertools.permutations(range(len(boxes)), len(targets)):
        total = cost[list(way), range(len(targets))].sum()
        if best is None or total < best[0]:
            best = total, list(way)
    return best[1]
'''

# lab: (first right answer, second right answer as replacements of the first, {mistake: (old, new)})
ANSWERS = {
    "softmax": (SOFTMAX, [("return e / e.sum(axis=1, keepdims=True)", "return np.float32(e) / np.float32(e).sum(1)[:, None]"),
                          ("return np.stack([(np.diag(p) - np.outer(p, p)) @ d for p, d in zip(y, dy)])", "return y * dy - y * np.einsum('nv,nv->n', y, dy)[:, None]")], {
        "softmax over the wrong axis": ("axis=1", "axis=0"),
        "exp overflows": ("x - x.max(axis=1, keepdims=True)", "x"),
        "one sum for all rows": ("e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)", "e = np.exp(x - x.max())\n    return e / e.sum()"),
        "only the diagonal of the Jacobian": ("np.diag(p) - np.outer(p, p)", "np.diag(p * (1 - p))"),
        "the sum is missing": ("np.diag(p) - np.outer(p, p)", "np.diag(p)"),
    }),
    "attention": (ATTENTION, [("s = q @ k.T / np.sqrt(q.shape[-1])", "s = np.einsum('td,sd->ts', q * q.shape[-1] ** -0.5, k)"),
                              ("return weights(q, k) @ v", "return (v.T @ weights(q, k).T).T.astype(np.float32)")], {
        "the scale is missing": ("s = q @ k.T / np.sqrt(q.shape[-1])", "s = q @ k.T"),
        "divided by D": ("s = q @ k.T / np.sqrt(q.shape[-1])", "s = q @ k.T / q.shape[-1]"),
        "softmax over the wrong axis": ("s.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)", "s.max(0, keepdims=True))\n    return e / e.sum(0, keepdims=True)"),
        "the scale is missing in the gradient": ("return ds @ k / np.sqrt(q.shape[-1])", "return ds @ k"),
        "the gradient of the softmax lacks its sum": ("(dw - (dw * w).sum(-1, keepdims=True))", "dw"),
    }),
    "masking": (MASKING, [("np.tril(np.ones((n, n)), 0)", "(np.arange(n)[None] <= np.arange(n)[:, None]).astype(int)"),
                          ("s = np.where(mask > 0, scores, -1e9)", "s = scores + np.log(mask + 1e-300)")], {
        "off by one: a position does not see itself": ("n)), 0)", "n)), -1)"),
        "the mask is transposed": ("np.tril", "np.triu"),
        "the mask after the softmax": ("s = np.where(mask > 0, scores, -1e9)\n    e = np.exp(s - s.max(-1, keepdims=True))\n    w = e / e.sum(-1, keepdims=True)",
                                       "e = np.exp(scores)\n    w = e / e.sum(-1, keepdims=True) * mask"),
        "hidden scores are 0 instead of -∞": ("np.where(mask > 0, scores, -1e9)", "scores * mask"),
        "the mask is inverted": ("mask > 0", "mask == 0"),
    }),
    "multi-head": (MULTI_HEAD, [("q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)", "q, k, v = (np.stack(np.split(x @ w, heads, 1)) for w in (wq, wk, wv))"),
                                ("y.transpose(1, 0, 2).reshape(T, C) @ wo", "np.concatenate(list(y), 1) @ wo")], {
        "heads mixed by a wrong reshape": ("reshape(T, heads, C // heads).transpose(1, 0, 2)\n", "reshape(heads, T, C // heads)\n", "y.transpose(1, 0, 2).reshape", "y.reshape"),
        "heads joined by a wrong reshape": ("y.transpose(1, 0, 2).reshape", "y.reshape"),
        "scaled by √C instead of √D": ("np.sqrt(C // heads)", "np.sqrt(C)"),
        "the output projection is missing": (" @ wo", ""),
    }),
    "sinusoids": (SINUSOIDS, [("f = np.exp(-np.log(10000.0) * np.arange(0, width, 2) / width)[None]", "f = np.power(10000.0, -np.arange(width // 2) * 2.0 / width)"),
                              ("table[:, 0::2] = np.sin(p * f)\n    table[:, 1::2] = np.cos(p * f)", "table = np.stack([np.sin(p * f), np.cos(p * f)], -1).reshape(length, width)")], {
        "off by one: positions begin at 1": ("np.arange(length)", "np.arange(1, length + 1)"),
        "sine and cosine are exchanged": ("0::2] = np.sin", "0::2] = np.cos", "1::2] = np.cos", "1::2] = np.sin"),
        "first all sines, then all cosines": ("table[:, 0::2]", "table[:, :width // 2]", "table[:, 1::2]", "table[:, width // 2:]"),
        "the exponent lacks its 2": ("np.arange(0, width, 2) / width", "np.arange(width // 2) / width"),
    }),
    "layer-norm": (LAYER_NORM, [("v = x.var(1, keepdims=True)\n", "v = (x ** 2).mean(1, keepdims=True) - m ** 2\n"),
                                ("return (C * g - g.sum(1, keepdims=True) - n * (g * n).sum(1, keepdims=True)) / (C * s)",
                                 "J = [(np.eye(C) - 1 / C - np.outer(a, a) / C) / b for a, b in zip(n, s[:, 0])]\n    return [j @ a for j, a in zip(J, g)]")], {
        "normalised over the wrong axis": ("m = x.mean(1, keepdims=True)\n    v = x.var(1, keepdims=True)", "m = x.mean(0)\n    v = x.var(0)"),
        "the variance divides by C - 1": ("v = x.var(1, keepdims=True)", "v = x.var(1, keepdims=True, ddof=1)"),
        "eps is outside of the root": ("(x - m) / np.sqrt(v + eps)", "(x - m) / (np.sqrt(v) + eps)"),
        "mean and variance as constants": ("(C * g - g.sum(1, keepdims=True) - n * (g * n).sum(1, keepdims=True)) / (C * s)", "g / s"),
        "the gradient through the variance is missing": (" - n * (g * n).sum(1, keepdims=True)", ""),
    }),
    "encoder": (ENCODER, [("f = np.maximum(h @ w1, 0) @ w2", "hidden = h @ w1\n    f = np.where(hidden > 0, hidden, 0) @ w2"),
                          ("a = softmax((x @ wq) @ (x @ wk).T / np.sqrt(x.shape[1])) @ (x @ wv) @ wo", "a = softmax(x @ (wq @ wk.T) @ x.T / len(wq) ** 0.5) @ x @ (wv @ wo)")], {
        "the norm before the sublayer": ("def encoder_layer(x, wq, wk, wv, wo, w1, w2):\n", "def encoder_layer(z, wq, wk, wv, wo, w1, w2):\n    x = norm(z)\n", "h = norm(x + a)\n    f = np.maximum(h @", "h = z + a\n    f = np.maximum(norm(h) @", "norm(h + f)", "h + f"),
        "the first residual is missing": ("norm(x + a)", "norm(a)"),
        "the second residual is missing": ("norm(h + f)", "norm(f)"),
        "relu is missing": ("np.maximum(h @ w1, 0)", "(h @ w1)"),
    }),
    "decoder": (DECODER, [("s = s + np.triu(np.full(s.shape, -np.inf), 1)", "s = np.where(np.tri(*s.shape), s, -1e30)"),
                          ("np.maximum(b @ f1, 0)", "((b @ f1) * (b @ f1 > 0)).astype(np.longdouble)")], {
        "self-attention has no causal mask": ("w1v, True", "w1v, False"),
        "cross-attention has a causal mask": ("w2v, False", "w2v, True"),
        "keys and values come from the decoder": ("memory @ w2k, memory @ w2v", "a @ w2k, a @ w2v"),
        "the residual of cross-attention is missing": ("norm(a + attend", "norm(attend"),
        "queries come from the memory": ("attend(a @ w2q, memory @ w2k, memory @ w2v", "attend(memory @ w2q, a @ w2k, a @ w2v"),
    }),
    "bpe": (BPE, [("best = sorted(pair for pair in table if table[pair] == top)[0]", "best = min((-count, pair) for pair, count in table.items())[1]"),
                  ("top = max(table.values())\n", "\n")], {
        "the counts of the words are not used": ("+ weight[word]", "+ 1"),
        "ties go to the alphabetically last pair": ("== top)[0]", "== top)[-1]"),
        "merges are not applied before the next count": ("split[word] = joined(split[word], *best.split(\" \"))", "pass", "pair = tokens[i] + \" \" + tokens[i + 1]\n", "pair = tokens[i] + \" \" + tokens[i + 1]\n                if pair in result: continue\n"),
        "the merge that was learned last comes first": ("    for merge in merges:\n        tokens = joined(tokens, *merge.split(\" \"))\n", """    while True:
        here = [m for m in merges if any(a + " " + b == m for a, b in zip(tokens, tokens[1:]))]
        if not here:
            return tokens
        tokens = joined(tokens, *here[-1].split(" "))
"""),
        "the longest token wins": ("    for merge in merges:\n        tokens = joined(tokens, *merge.split(\" \"))\n    return tokens", """    known, out, i = {m.replace(" ", "") for m in merges}, [], 0
    while i < len(word):
        j = len(word)
        while j > i + 1 and word[i:j] not in known:
            j -= 1
        out.append(word[i:j])
        i = j
    return out"""),
    }),
    "beam-search": (BEAM, [("grown = heapq.nlargest(beams, grown)", "grown = sorted(grown, reverse=True)[:beams]"), ("done += live\n", "done = live + done\n")], {
        "greedy: only one hypothesis is kept": ("nlargest(beams, grown)", "nlargest(1, grown)"),
        "the length is not normalised": (" ** alpha", " ** 0"),
        "finished hypotheses are extended": ("live = [one for one in grown if one[1][-1] != 0]", "live = grown"),
        "unfinished hypotheses are dropped at the end": ("done += live", "done = done or live"),
    }),
    "patches": (PATCHES, [("return cut.transpose(0, 2, 1, 3, 4).reshape(-1, size * size * C)", "return np.stack([cut[i, :, j].ravel() for i in range(H // size) for j in range(W // size)])"),
                          ("H, W, C = image.shape\n", "image = np.asarray(image, np.float32)\n    H, W, C = image.shape\n")], {
        "a reshape without exchanging axes": ("cut.transpose(0, 2, 1, 3, 4)", "cut"),
        "patches in the order of columns": ("(0, 2, 1, 3, 4)", "(2, 0, 1, 3, 4)"),
        "channels before pixels": ("(0, 2, 1, 3, 4)", "(0, 2, 4, 1, 3)"),
        "rows and columns of each patch are exchanged": ("(0, 2, 1, 3, 4)", "(0, 2, 3, 1, 4)"),
    }),
    "matching": (MATCHING, [("return inner / union - (hull - union) / hull", "return inner / union + union / hull - 1"),
                            ("for way in itertools.permutations(range(len(boxes)), len(targets)):", "for way in list(itertools.permutations(range(len(boxes)), len(targets)))[::-1]:")], {
        "plain IoU": ("return inner / union - (hull - union) / hull", "return inner / union"),
        "boxes read as corners": ("return np.concatenate([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], 1)", "return b",
                                  "union = (a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - inner",
                                  "union = ((a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]))[:, None] + ((b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]))[None] - inner"),
        "objects share a query": ("    best = None\n", "    return cost.argmin(0)\n    best = None\n"),
        "the class is not used": ("-probabilities[:, labels] + 5", "5"),
        "greedy: objects choose one after another": ("    best = None\n", "    out = []\n    for m in range(len(targets)):\n        order = [q for q in cost[:, m].argsort() if q not in out]\n        out.append(int(order[0]))\n    return out\n    best = None\n"),
    }),
}
