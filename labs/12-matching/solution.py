"""Generalised IoU, and the cheapest assignment of queries to objects."""
from itertools import permutations


def giou(a, b):
    # hole
    def one(p, q):
        low = [max(p[i] - p[i + 2] / 2, q[i] - q[i + 2] / 2) for i in (0, 1)]
        high = [min(p[i] + p[i + 2] / 2, q[i] + q[i + 2] / 2) for i in (0, 1)]
        inner = max(0.0, high[0] - low[0]) * max(0.0, high[1] - low[1])
        union = p[2] * p[3] + q[2] * q[3] - inner
        hull = 1.0
        for i in (0, 1):
            hull *= max(p[i] + p[i + 2] / 2, q[i] + q[i + 2] / 2) - min(p[i] - p[i + 2] / 2, q[i] - q[i + 2] / 2)
        return inner / union - (hull - union) / hull

    return [[one(p, q) for q in b] for p in a]
    # end


def match(probabilities, boxes, labels, targets):
    # hole
    overlap = giou(boxes, targets)
    cost = [[5 * sum(abs(p - q) for p, q in zip(box, target)) - probabilities[i][int(labels[m])] - 2 * overlap[i][m]
             for m, target in enumerate(targets)] for i, box in enumerate(boxes)]
    ways = permutations(range(len(boxes)), len(targets))
    return list(min(ways, key=lambda way: sum(cost[q][m] for m, q in enumerate(way))))
    # end
