"""Multi-head self-attention of x [T, C] with weights [C, C]."""
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


def multi_head(x, wq, wk, wv, wo, heads):
    # hole
    q, k, v = product(x, wq), product(x, wk), product(x, wv)
    width = len(wq) // heads
    joined = [[] for _ in x]
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        part = attention(*([row[columns] for row in rows] for rows in (q, k, v)))
        joined = [row + more for row, more in zip(joined, part)]
    return product(joined, wo)
    # end
