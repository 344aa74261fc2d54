"""The blocks that later labs build on, for lists of rows. They need no NumPy, but take its arrays, too."""
import math


def matmul(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def transpose(a):
    return [list(column) for column in zip(*a)]


def add(a, b):
    return [[x + y for x, y in zip(one, other)] for one, other in zip(a, b)]


def scaled(a, factor):
    return [[x * factor for x in row] for row in a]


def relu(a):
    return [[max(0.0, x) for x in row] for row in a]


def softmax_row(row):
    top = max(row)
    powers = [math.exp(x - top) for x in row]
    total = sum(powers)
    return [x / total for x in powers]


def softmax(rows):
    return [softmax_row(row) for row in rows]


def attention(q, k, v, causal=False):
    """softmax(Q Kᵀ / √D) V; a causal query t sees keys 0 to t."""
    scores = scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0])))
    if causal:
        scores = [[score if s <= t else -math.inf for s, score in enumerate(row)] for t, row in enumerate(scores)]
    return matmul(softmax(scores), v)


def norm(x):
    """Layer normalisation of rows, without weight and bias."""
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + 1e-5)
        rows.append([(value - mean) / deviation for value in row])
    return rows
