import math

from blocks import matmul, scaled, softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for i in range(8):
        H, D = rng.randint(2, 4), rng.randint(2, 3)
        T, C = rng.randint(3, 6), H * D
        yield "multi_head", [matrix(rng, T, C)] + [matrix(rng, C, C, 0.6) for _ in range(4)] + [H]


def attend(q, k, v, scale):
    return matmul(softmax(scaled(matmul(q, transpose(k)), scale)), v)


def by_columns(rows, heads):
    width = len(rows[0]) // heads
    return [[row[h * width:(h + 1) * width] for row in rows] for h in range(heads)]


def side_by_side(parts):
    return [[value for part in parts for value in part[t]] for t in range(len(parts[0]))]


def multi_head(x, wq, wk, wv, wo, heads, cut=by_columns, join=side_by_side, scale=None, out=True):
    q, k, v = (cut(matmul(x, w), heads) for w in (wq, wk, wv))
    scale = 1 / math.sqrt(len(wq) // heads) if scale is None else scale
    joined = join([attend(*three, scale) for three in zip(q, k, v)])
    return matmul(joined, wo) if out else joined


def by_reshape(rows, heads):
    """[T, C] read as [H, T, D], without exchanging axes."""
    items, width = [value for row in rows for value in row], len(rows[0]) // heads
    lines = [items[i:i + width] for i in range(0, len(items), width)]
    return [lines[h * len(rows):(h + 1) * len(rows)] for h in range(heads)]


def join_reshape(parts):
    """[H, T, D] read as [T, C]."""
    items, width = [value for part in parts for row in part for value in row], len(parts) * len(parts[0][0])
    return [items[i:i + width] for i in range(0, len(items), width)]


def interleaved(rows, heads):
    return [[row[h::heads] for row in rows] for h in range(heads)]


def join_interleaved(parts):
    return [[part[t][d] for d in range(len(parts[0][0])) for part in parts] for t in range(len(parts[0]))]


WRONG_RESHAPE = "[T, C] was reshaped to [H, T, D] directly, so a head gets pieces of other positions. Reshape to [T, H, D], then exchange axes."


@mistake("multi_head", "heads mixed by a wrong reshape", WRONG_RESHAPE)
def reshape_both(*a):
    return multi_head(*a, cut=by_reshape, join=join_reshape)


@mistake("multi_head", "heads mixed by a wrong reshape before attention", WRONG_RESHAPE)
def reshape_in(*a):
    return multi_head(*a, cut=by_reshape)


@mistake("multi_head", "heads joined by a wrong reshape", "The results [H, T, D] were reshaped to [T, C] directly. Exchange axes to [T, H, D] first.")
def reshape_out(*a):
    return multi_head(*a, join=join_reshape)


@mistake("multi_head", "scaled by √C instead of √D", "A head has the width D = C / H; its scores are divided by √D.")
def whole_width(*a):
    return multi_head(*a, scale=1 / math.sqrt(len(a[1])))


@mistake("multi_head", "the scale is missing", "Divide the scores of each head by √D.")
def no_scale(*a):
    return multi_head(*a, scale=1)


@mistake("multi_head", "the output projection is missing", "Multiply the joined heads by Wo.")
def no_out(*a):
    return multi_head(*a, out=False)


@mistake("multi_head", "heads take every H-th column", "Head h is the contiguous columns [h D, (h + 1) D), not h, h + H, ..")
def strided(*a):
    return multi_head(*a, cut=interleaved, join=join_interleaved)


@mistake("multi_head", "one head instead of H", "The scores use all C columns at once. Each head has its own softmax over its D columns.")
def single(x, wq, wk, wv, wo, heads):
    return multi_head(x, wq, wk, wv, wo, 1)


@mistake("multi_head", "one head with the scale of H", "The scores use all C columns at once. Each head has its own softmax over its D columns.")
def single_scaled(x, wq, wk, wv, wo, heads):
    return multi_head(x, wq, wk, wv, wo, 1, scale=1 / math.sqrt(len(wq) // heads))


@mistake("multi_head", "weights used transposed", "Q = X Wq; you compute X Wqᵀ, as for weights [out, in].")
def transposed(x, wq, wk, wv, wo, heads):
    return multi_head(x, *(transpose(w) for w in (wq, wk, wv, wo)), heads)


@mistake("multi_head", "softmax over the wrong axis", "For each query the weights over the keys have the sum 1.")
def wrong_axis(x, wq, wk, wv, wo, heads):
    parts = []
    for q, k, v in zip(*(by_columns(matmul(x, w), heads) for w in (wq, wk, wv))):
        scores = scaled(matmul(k, transpose(q)), 1 / math.sqrt(len(q[0])))
        parts.append(matmul(transpose(softmax(scores)), v))
    return matmul(side_by_side(parts), wo)
