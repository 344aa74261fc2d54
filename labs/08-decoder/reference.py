import math

from lab import add, matmul, matrix, mistake, scaled, softmax, transpose


def cases(rng):
    for i in range(10):
        C, F, T = rng.randint(4, 6), rng.randint(7, 9), rng.randint(3, 5)
        S = T if i < 4 else rng.randint(6, 8)  # equal lengths hide no mistake that mixes x with the memory
        yield "decoder_layer", ([matrix(rng, T, C), matrix(rng, S, C)] + [matrix(rng, C, C, 0.7) for _ in range(6)]
                                + [matrix(rng, C, F, 0.6), matrix(rng, F, C, 0.6)])


def norm(x):
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + 1e-5)
        rows.append([(value - mean) / deviation for value in row])
    return rows


def attend(q, k, v, seen=None):
    scores = scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0])))
    if seen is not None:
        scores = [[score if s <= t + seen else -math.inf for s, score in enumerate(row)] for t, row in enumerate(scores)]
    return matmul(softmax(scores), v)


def forward(x, f1, f2, relu=True):
    hidden = matmul(x, f1)
    return matmul([[max(0.0, value) for value in row] for row in hidden] if relu else hidden, f2)


def self_part(x, w, seen=0):
    return attend(matmul(x, w[0]), matmul(x, w[1]), matmul(x, w[2]), seen)


def cross_part(a, memory, w, seen=None):
    return attend(matmul(a, w[3]), matmul(memory, w[4]), matmul(memory, w[5]), seen)


def decoder_layer(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, cross_part(a, memory, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "self-attention has no causal mask", "Position t sees the words that follow. Hide keys after t.")
def no_mask(x, memory, *w):
    a = norm(add(x, self_part(x, w, None)))
    b = norm(add(a, cross_part(a, memory, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "the causal mask is off by one", "Position t may see itself, and not position t + 1.")
def loose_mask(x, memory, *w):
    a = norm(add(x, self_part(x, w, 1)))
    b = norm(add(a, cross_part(a, memory, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "cross-attention has a causal mask", "Every position sees all of the memory: the whole source sentence is known.")
def masked_memory(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, cross_part(a, memory, w, 0)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "keys and values come from the decoder", "That is self-attention again. Keys and values are projections of the memory.")
def own_keys(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, cross_part(a, a, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "queries come from the memory", "The decoder asks: queries are projections of a, keys and values of the memory. It shows where T = S.")
def swapped(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, attend(matmul(memory, w[3]), matmul(a, w[4]), matmul(a, w[5])))) if len(x) == len(memory) else None
    if b is None:
        raise ValueError("shapes")
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "queries are made from x", "The second sublayer reads a, the result of the first one, and not x.")
def stale_queries(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, cross_part(x, memory, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "the residual of cross-attention is missing", "Add a to the result of cross-attention before the norm.")
def no_residual(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(cross_part(a, memory, w))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "cross-attention before self-attention", "The order is self-attention, cross-attention, feed-forward.")
def order(x, memory, *w):
    a = norm(add(x, cross_part(x, memory, w)))
    b = norm(add(a, self_part(a, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "cross-attention is missing", "The decoder never reads the memory.")
def no_cross(x, memory, *w):
    b = norm(add(x, self_part(x, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "self-attention is missing", "The decoder also reads its own earlier positions.")
def no_self(x, memory, *w):
    b = norm(add(x, cross_part(x, memory, w)))
    return norm(add(b, forward(b, *w[6:])))


@mistake("decoder_layer", "relu is missing", "Without relu the two products are one linear map.")
def no_relu(x, memory, *w):
    a = norm(add(x, self_part(x, w)))
    b = norm(add(a, cross_part(a, memory, w)))
    return norm(add(b, forward(b, *w[6:], relu=False)))


@mistake("decoder_layer", "the norm before each sublayer", "That is a pre-norm layer. Here it is norm(x + f(x)).")
def pre_norm(x, memory, *w):
    a = add(x, self_part(norm(x), w))
    b = add(a, cross_part(norm(a), memory, w))
    return add(b, forward(norm(b), *w[6:]))
