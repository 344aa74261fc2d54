"""softmax(Q Kᵀ / √D) V for one head, and the gradient of Q."""
import math


def weights_of(q, k):
    # hole
    rows = []
    for query in q:
        scores = [sum(a * b for a, b in zip(query, key)) / math.sqrt(len(query)) for key in k]
        powers = [math.exp(score - max(scores)) for score in scores]
        rows.append([power / sum(powers) for power in powers])
    return rows
    # end


def attention(q, k, v):
    # hole
    return [[sum(weight * value[e] for weight, value in zip(row, v)) for e in range(len(v[0]))] for row in weights_of(q, k)]
    # end


def attention_gradient(q, k, v, dy):
    # hole
    rows = []
    for weights, slope in zip(weights_of(q, k), dy):
        dweights = [sum(a * b for a, b in zip(slope, value)) for value in v]
        mean = sum(a * b for a, b in zip(weights, dweights))
        dscores = [a * (b - mean) / math.sqrt(len(q[0])) for a, b in zip(weights, dweights)]
        rows.append([sum(score * key[d] for score, key in zip(dscores, k)) for d in range(len(q[0]))])
    return rows
    # end
