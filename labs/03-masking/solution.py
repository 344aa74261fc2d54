"""Which keys a query sees, and the softmax over those."""
import math


def causal_mask(n):
    # hole
    return [[1 if s <= t else 0 for s in range(n)] for t in range(n)]
    # end


def masked_softmax(scores, mask):
    # hole
    rows = []
    for row, allowed in zip(scores, mask):
        top = max(score for score, yes in zip(row, allowed) if yes)
        powers = [math.exp(score - top) if yes else 0.0 for score, yes in zip(row, allowed)]
        rows.append([power / sum(powers) for power in powers])
    return rows
    # end
