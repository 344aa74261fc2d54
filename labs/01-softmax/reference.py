import math

from blocks import softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for i in range(6):
        yield "softmax", [matrix(rng, rng.randint(2, 5), rng.randint(6, 9))]
    large = matrix(rng, 3, 7, 100)
    large[rng.randrange(3)][rng.randrange(7)] = 1000.0
    yield "softmax", [large]
    for i in range(6):
        shape = rng.randint(2, 5), rng.randint(6, 9)
        yield "softmax_backward", [softmax(matrix(rng, *shape)), matrix(rng, *shape)]


def softmax_backward(y, dy):
    means = [sum(a * b for a, b in zip(*rows)) for rows in zip(y, dy)]
    return [[a * (b - mean) for a, b in zip(one, other)] for one, other, mean in zip(y, dy, means)]


@mistake("softmax", "softmax over the wrong axis", "Your columns have the sum 1. Each row of scores belongs to one query, so each row must.")
def wrong_axis(x):
    return transpose(softmax(transpose(x)))


@mistake("softmax", "one sum for all rows", "You divide by the sum over the whole matrix. Each row has its own sum.")
def one_sum(x):
    top = max(map(max, x))
    powers = [[math.exp(value - top) for value in row] for row in x]
    total = sum(map(sum, powers))
    return [[power / total for power in row] for row in powers]


@mistake("softmax", "exp overflows", "Small scores are right, but exp of a large score is infinite. Subtract the largest score of the row first.")
def overflow(x):
    rows = [[math.exp(value) for value in row] for row in x]
    return [[power / sum(row) for power in row] for row in rows]


@mistake("softmax", "no division by the sum", "These are exp(x - max). Divide each row by its sum.")
def no_sum(x):
    return [[math.exp(value - max(row)) for value in row] for row in x]


@mistake("softmax", "the logarithm of softmax", "You return x - max - log Σ exp, which is log softmax.")
def logarithm(x):
    return [[value - max(row) - math.log(sum(math.exp(other - max(row)) for other in row)) for value in row] for row in x]


@mistake("softmax", "powers of 2", "You compute 2^x. Softmax uses e^x.")
def powers_of_two(x):
    return softmax([[value * math.log(2) for value in row] for row in x])


@mistake("softmax", "x divided by its sum", "exp is missing: you divide the scores themselves by their sum.")
def no_exp(x):
    return [[value / sum(row) for value in row] for row in x]


@mistake("softmax", "a sign before exp", "You compute exp(-x): the smallest score gets the largest weight.")
def negative(x):
    return softmax([[-value for value in row] for row in x])


@mistake("softmax_backward", "only the diagonal of the Jacobian", "y (1 - y) dy is the slope of a sigmoid. Here every output depends on all inputs of"
         " its row: subtract Σ dy y.")
def diagonal(y, dy):
    return [[a * (1 - a) * b for a, b in zip(*rows)] for rows in zip(y, dy)]


@mistake("softmax_backward", "the sum is missing", "y dy alone ignores that the weights of a row have the sum 1: subtract Σ dy y before you multiply by y.")
def no_mean(y, dy):
    return [[a * b for a, b in zip(*rows)] for rows in zip(y, dy)]


@mistake("softmax_backward", "the sum is not weighted", "Σ_k dy_k y_k is weighted by y; yours is the plain sum of dy.")
def plain_sum(y, dy):
    return [[a * (b - sum(other)) for a, b in zip(one, other)] for one, other in zip(y, dy)]


@mistake("softmax_backward", "the sum over the wrong axis", "Σ dy y runs over one row, not over a column.")
def backward_axis(y, dy):
    return transpose(softmax_backward(transpose(y), transpose(dy)))


@mistake("softmax_backward", "y is multiplied too late", "dy - Σ dy y is right; multiply that difference by y.")
def no_weight(y, dy):
    return [[b - sum(p * q for p, q in zip(one, other)) for b in other] for one, other in zip(y, dy)]
