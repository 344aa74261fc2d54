"""A post-norm encoder layer with one head."""
import math


def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]


def attention(q, k, v):
    rows = []
    for query in q:
        scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query)) for key in k]
        powers = [math.exp(score - max(scores)) for score in scores]
        rows.append([power / sum(powers) for power in powers])
    return product(rows, v)


def norm(x):
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + 1e-5)
        rows.append([(value - mean) / deviation for value in row])
    return rows


def encoder_layer(x, wq, wk, wv, wo, w1, w2):
    # hole
    def plus(a, b):
        return [[p + q for p, q in zip(*rows)] for rows in zip(a, b)]

    h = norm(plus(x, product(attention(product(x, wq), product(x, wk), product(x, wv)), wo)))
    hidden = [[max(0.0, value) for value in row] for row in product(h, w1)]
    return norm(plus(h, product(hidden, w2)))
    # end
