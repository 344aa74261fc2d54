import math

from blocks import matmul, scaled, softmax, transpose
from lab import matrix, mistake


def cases(rng):
    for function in ["attention"] * 7 + ["attention_gradient"] * 6:
        T, S, D, E = rng.randint(2, 5), rng.randint(6, 8), rng.choice([3, 5, 6, 7]), rng.randint(9, 11)
        arguments = [matrix(rng, T, D), matrix(rng, S, D), matrix(rng, S, E)]
        yield function, arguments + ([matrix(rng, T, E)] if function != "attention" else [])
    T = rng.randint(3, 5)  # as many queries as keys, where more mistakes are possible
    yield "attention", [matrix(rng, T, 4), matrix(rng, T, 4), matrix(rng, T, 5)]


def attention(q, k, v, scale=None):
    scale = 1 / math.sqrt(len(q[0])) if scale is None else scale
    return matmul(softmax(scaled(matmul(q, transpose(k)), scale)), v)


def attention_gradient(q, k, v, dy, scale=None, back=None, jacobian=True):
    scale = 1 / math.sqrt(len(q[0])) if scale is None else scale
    weights = softmax(scaled(matmul(q, transpose(k)), scale))
    dweights = matmul(dy, transpose(v))
    rows = []
    for row, slopes in zip(weights, dweights):
        mean = sum(a * b for a, b in zip(row, slopes)) if jacobian else 0
        rows.append([a * (b - mean) for a, b in zip(row, slopes)])
    return scaled(matmul(rows, k), scale if back is None else back)


@mistake("attention", "the scale is missing", "Divide the scores by √D before the softmax; without it the weights are too sharp.")
def no_scale(q, k, v):
    return attention(q, k, v, 1)


@mistake("attention", "divided by D", "The scores are divided by D. The paper divides by √D.")
def by_width(q, k, v):
    return attention(q, k, v, 1 / len(q[0]))


@mistake("attention", "multiplied by √D", "The scores are multiplied by √D. They must be divided by it.")
def inverse(q, k, v):
    return attention(q, k, v, math.sqrt(len(q[0])))


@mistake("attention", "scaled by the number of keys", "D is the width of a query, not the number of keys S.")
def by_keys(q, k, v):
    return attention(q, k, v, 1 / math.sqrt(len(k)))


@mistake("attention", "scaled by the width of the values", "√D is of the width of queries and keys, not of the values.")
def by_values(q, k, v):
    return attention(q, k, v, 1 / math.sqrt(len(v[0])))


@mistake("attention", "softmax over the wrong axis", "Your weights have the sum 1 over the queries. For each query they must have the sum 1 over the keys.")
def wrong_axis(q, k, v):
    weights = softmax(transpose(scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0])))))
    return matmul(transpose(weights), v)


@mistake("attention", "the softmax is missing", "You multiply the values by the scores themselves. Softmax turns scores into weights first.")
def no_softmax(q, k, v):
    return matmul(scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0]))), v)


@mistake("attention", "the scale after the softmax", "You divide the weights by √D. Divide the scores, before the softmax.")
def late_scale(q, k, v):
    return scaled(attention(q, k, v, 1), 1 / math.sqrt(len(q[0])))


@mistake("attention", "the result is the weights", "Multiply the weights [T, S] by the values [S, E].")
def only_weights(q, k, v):
    return softmax(scaled(matmul(q, transpose(k)), 1 / math.sqrt(len(q[0]))))


@mistake("attention_gradient", "the scale is missing in the gradient", "dQ also has the factor 1 / √D, by the chain rule.")
def gradient_scale(q, k, v, dy):
    return attention_gradient(q, k, v, dy, back=1)


@mistake("attention_gradient", "the scale is missing everywhere", "Divide the scores by √D in the forward pass too.")
def gradient_no_scale(q, k, v, dy):
    return attention_gradient(q, k, v, dy, scale=1)


@mistake("attention_gradient", "the scale of the scores is missing", "dQ has its factor 1 / √D, but the scores of the forward pass do not.")
def gradient_scores(q, k, v, dy):
    return attention_gradient(q, k, v, dy, scale=1, back=1 / math.sqrt(len(q[0])))


@mistake("attention_gradient", "the gradient of the softmax lacks its sum", "Subtract Σ_s dW W of the row from dW before you multiply by W.")
def gradient_jacobian(q, k, v, dy):
    return attention_gradient(q, k, v, dy, jacobian=False)


@mistake("attention_gradient", "the softmax has no gradient", "dW is used as the gradient of the scores. Go back through the softmax first.")
def gradient_no_softmax(q, k, v, dy):
    return scaled(matmul(matmul(dy, transpose(v)), k), 1 / math.sqrt(len(q[0])))
