import math

from blocks import add, matmul, norm, relu as positive, scaled, softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for i in range(10):
        C, F, T = rng.randint(4, 6), rng.randint(7, 9), rng.randint(3, 5)
        S = T if i < 4 else rng.randint(6, 8)  # equal lengths hide no mistake that mixes x with the memory
        spread = 1.0 if i else 0.004  # eps matters where x is small
        yield "decoder_layer", ([matrix(rng, T, C, spread), matrix(rng, S, C, spread)] + [matrix(rng, C, C, 0.7) for _ in range(6)]
                                + [matrix(rng, C, F, 0.6), matrix(rng, F, C, 0.6)])


def attend(q, k, v, seen=None):
    scores = scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0])))
    if seen is not None:
        scores = [[score if s <= t + seen else -math.inf for s, score in enumerate(row)] for t, row in enumerate(scores)]
    return matmul(softmax(scores), v)


def self_part(x, memory, w, seen=0):
    return attend(matmul(x, w[0]), matmul(x, w[1]), matmul(x, w[2]), seen)


def cross_part(a, memory, w, seen=None):
    return attend(matmul(a, w[3]), matmul(memory, w[4]), matmul(memory, w[5]), seen)


def forward_part(b, memory, w, relu=True):
    hidden = matmul(b, w[6])
    return matmul(positive(hidden) if relu else hidden, w[7])


def sublayers(x, memory, w, *parts):
    """Each part followed by "Add & Norm"."""
    for part in parts:
        x = norm(add(x, part(x, memory, w)))
    return x


def decoder_layer(x, memory, *w):
    return sublayers(x, memory, w, self_part, cross_part, forward_part)


def instead(name, why, *parts):
    """A known mistake that has other parts."""
    mistake("decoder_layer", name, why)(lambda x, memory, *w: sublayers(x, memory, w, *parts))


def changed(part, **how):
    return lambda x, memory, w: part(x, memory, w, **how)


def own_keys(a, memory, w):
    return cross_part(a, a, w)


def swapped(a, memory, w):
    if len(a) != len(memory):
        raise ValueError("shapes")
    return cross_part(memory, a, w)


instead("self-attention has no causal mask", "Position t sees the words that follow. Hide keys after t.",
        changed(self_part, seen=None), cross_part, forward_part)
instead("the causal mask is off by one", "Position t may see itself, and not position t + 1.",
        changed(self_part, seen=1), cross_part, forward_part)
instead("cross-attention has a causal mask", "Every position sees all of the memory: the whole source sentence is known.",
        self_part, changed(cross_part, seen=0), forward_part)
instead("keys and values come from the decoder", "That is self-attention again. Keys and values are projections of the memory.",
        self_part, own_keys, forward_part)
instead("queries come from the memory", "The decoder asks: queries are projections of a, keys and values of the memory. It shows where T = S.",
        self_part, swapped, forward_part)
instead("cross-attention before self-attention", "The order is self-attention, cross-attention, feed-forward.",
        cross_part, self_part, forward_part)
instead("cross-attention is missing", "The decoder never reads the memory.", self_part, forward_part)
instead("self-attention is missing", "The decoder also reads its own earlier positions.", cross_part, forward_part)
instead("relu is missing", "Without relu the two products are one linear map.",
        self_part, cross_part, changed(forward_part, relu=False))


@mistake("decoder_layer", "queries are made from x", "The second sublayer reads a, the result of the first one, and not x.")
def stale_queries(x, memory, *w):
    return sublayers(x, memory, w, self_part, lambda a, memory, w: cross_part(x, memory, w), forward_part)


@mistake("decoder_layer", "the residual of cross-attention is missing", "Add a to the result of cross-attention before the norm.")
def no_residual(x, memory, *w):
    a = sublayers(x, memory, w, self_part)
    return sublayers(norm(cross_part(a, memory, w)), memory, w, forward_part)


@mistake("decoder_layer", "the norm before each sublayer", "That is a pre-norm layer. Here it is norm(x + f(x)).")
def pre_norm(x, memory, *w):
    for part in (self_part, cross_part, forward_part):
        x = add(x, part(norm(x), memory, w))
    return x
