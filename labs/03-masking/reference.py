import math

from blocks import softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for i in range(4):
        yield "causal_mask", [rng.randint(3, 8) + i]
    for i in range(8):
        T, S = rng.randint(2, 5), rng.randint(6, 8)
        mask = [[rng.randint(0, 1) for _ in range(S)] for _ in range(T)]
        for row in mask:
            row[rng.randrange(S // 2)] = 1
            row[S // 2 + rng.randrange(S - S // 2)] = 0
        yield "masked_softmax", [matrix(rng, T, S, 1.5), mask]


def causal_mask(n, least=0):
    return [[1 if s <= t - least else 0 for s in range(n)] for t in range(n)]


def masked_softmax(scores, mask, hidden=-math.inf):
    return softmax([[score if yes else hidden for score, yes in zip(*rows)] for rows in zip(scores, mask)])


@mistake("causal_mask", "off by one: a position does not see itself", "Query t sees keys up to t, itself among them. Yours end at t - 1, and the first row is empty.")
def strict(n):
    return causal_mask(n, 1)


@mistake("causal_mask", "off by one: a position sees the next one", "Query t sees the key t + 1, which it is to predict.")
def loose(n):
    return causal_mask(n, -1)


@mistake("causal_mask", "the mask is transposed", "Rows are queries and columns are keys. Yours lets a query see itself and the future.")
def upper(n):
    return transpose(causal_mask(n))


@mistake("causal_mask", "the mask is inverted", "1 is for keys that may be seen.")
def inverted(n):
    return [[1 - value for value in row] for row in causal_mask(n)]


@mistake("masked_softmax", "the mask after the softmax", "The weights of a row no longer have the sum 1. Mask the scores before the softmax.")
def after(scores, mask):
    return [[weight * yes for weight, yes in zip(*rows)] for rows in zip(softmax(scores), mask)]


@mistake("masked_softmax", "hidden scores are 0 instead of -∞", "exp(0) is 1, so hidden keys still have weight. Use -∞, or a very small number like -1e9.")
def zero(scores, mask):
    return masked_softmax(scores, mask, 0.0)


@mistake("masked_softmax", "the mask is inverted", "1 is for keys that may be seen; you hide those.")
def turned(scores, mask):
    return masked_softmax(scores, [[1 - yes for yes in row] for row in mask])


@mistake("masked_softmax", "the mask is not used", "Hidden keys have weight.")
def unused(scores, mask):
    return softmax(scores)


@mistake("masked_softmax", "the mask is added to the scores", "Adding 0 and 1, or subtracting 1 - mask, only shifts the scores. Hidden ones must become -∞.")
def added(scores, mask):
    return softmax([[score + yes for score, yes in zip(*rows)] for rows in zip(scores, mask)])
