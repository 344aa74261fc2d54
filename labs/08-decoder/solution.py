"""A post-norm decoder layer with one head."""
import math


def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def attention(q, k, v, causal):
    """A causal query t sees keys 0 to t."""
    rows = []
    for t, query in enumerate(q):
        scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query)) for key in k]
        seen = scores[:t + 1] if causal else scores
        powers = [math.exp(score - max(seen)) for score in seen] + [0.0] * (len(scores) - len(seen))
        rows.append([power / sum(powers) for power in powers])
    return product(rows, v)


def norm(x):
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + 1e-5)
        rows.append([(value - mean) / deviation for value in row])
    return rows


def decoder_layer(x, memory, w1q, w1k, w1v, w2q, w2k, w2v, f1, f2):
    # hole
    def plus(a, b):
        return [[p + q for p, q in zip(*rows)] for rows in zip(a, b)]

    a = norm(plus(x, attention(product(x, w1q), product(x, w1k), product(x, w1v), causal=True)))
    b = norm(plus(a, attention(product(a, w2q), product(memory, w2k), product(memory, w2v), causal=False)))
    hidden = [[max(0.0, value) for value in row] for row in product(b, f1)]
    return norm(plus(b, product(hidden, f2)))
    # end
