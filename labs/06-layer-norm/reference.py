import math

from blocks import transpose
from lab import matrix, mistake, vector


def cases(rng):
    for i in range(7):
        N, C = rng.randint(2, 5), rng.randint(6, 9)
        yield "layer_norm", [matrix(rng, N, C), vector(rng, C), vector(rng, C), 1e-5 if i < 3 else 0.5]
    for i in range(6):
        N, C = rng.randint(2, 5), rng.randint(6, 9)
        yield "layer_norm_backward", [matrix(rng, N, C), vector(rng, C), 1e-5 if i < 3 else 0.5, matrix(rng, N, C)]


def moments(row, less=0):
    mean = sum(row) / len(row)
    return mean, sum((value - mean) ** 2 for value in row) / (len(row) - less)


def normed(row, eps, less=0):
    mean, variance = moments(row, less)
    return [(value - mean) / math.sqrt(variance + eps) for value in row]


def affine(rows, weight, bias):
    return [[a * value + b for a, value, b in zip(weight, row, bias)] for row in rows]


def layer_norm(x, weight, bias, eps):
    return affine([normed(row, eps) for row in x], weight, bias)


def layer_norm_backward(x, weight, eps, dy, centred=True, stretched=True, less=0):
    rows = []
    for row, slopes in zip(x, dy):
        n, g = normed(row, eps, less), [a * b for a, b in zip(weight, slopes)]
        mean = sum(g) / len(g) if centred else 0
        along = sum(a * b for a, b in zip(g, n)) / len(g) if stretched else 0
        deviation = math.sqrt(moments(row, less)[1] + eps)
        rows.append([(a - mean - b * along) / deviation for a, b in zip(g, n)])
    return rows


@mistake("layer_norm", "normalised over the wrong axis", "You normalise columns, which is batch norm. Layer norm has a mean and a variance for each row.")
def columns(x, weight, bias, eps):
    return affine(transpose([normed(column, eps) for column in transpose(x)]), weight, bias)


@mistake("layer_norm", "the variance divides by C - 1", "Layer norm uses the biased variance: divide by C.")
def unbiased(x, weight, bias, eps):
    return affine([normed(row, eps, 1) for row in x], weight, bias)


@mistake("layer_norm", "eps is outside of the root", "√v + eps is not √(v + eps). It shows where eps is large.")
def outside(x, weight, bias, eps):
    rows = [[(value - moments(row)[0]) / (math.sqrt(moments(row)[1]) + eps) for value in row] for row in x]
    return affine(rows, weight, bias)


@mistake("layer_norm", "eps is not used", "Add eps to the variance. Rows of equal numbers would divide by 0.")
def no_eps(x, weight, bias, eps):
    return affine([normed(row, 0) for row in x], weight, bias)


@mistake("layer_norm", "the mean is not subtracted", "That is RMS norm. Subtract the mean of the row first.")
def rms(x, weight, bias, eps):
    rows = [[value / math.sqrt(sum(v * v for v in row) / len(row) + eps) for value in row] for row in x]
    return affine(rows, weight, bias)


@mistake("layer_norm", "the mean stays in the result", "You divide x by the deviation, but do not subtract the mean from it.")
def not_centred(x, weight, bias, eps):
    return affine([[value / math.sqrt(moments(row)[1] + eps) for value in row] for row in x], weight, bias)


@mistake("layer_norm", "divided by the variance", "Divide by the standard deviation, the root of the variance.")
def by_variance(x, weight, bias, eps):
    rows = [[(value - moments(row)[0]) / (moments(row)[1] + eps) for value in row] for row in x]
    return affine(rows, weight, bias)


@mistake("layer_norm", "weight and bias are missing", "Multiply by weight and add bias, column by column.")
def plain(x, weight, bias, eps):
    return [normed(row, eps) for row in x]


@mistake("layer_norm", "the bias is added before the weight", "y = weight · n + bias, not weight · (n + bias).")
def early_bias(x, weight, bias, eps):
    return [[a * (value + b) for a, value, b in zip(weight, normed(row, eps), bias)] for row in x]


@mistake("layer_norm_backward", "mean and variance as constants", "weight · dy / √(v + eps) forgets that the mean and the variance depend on x.")
def constants(x, weight, eps, dy):
    return layer_norm_backward(x, weight, eps, dy, False, False)


@mistake("layer_norm_backward", "the gradient through the variance is missing", "Subtract n · mean(g · n).")
def no_variance(x, weight, eps, dy):
    return layer_norm_backward(x, weight, eps, dy, True, False)


@mistake("layer_norm_backward", "the gradient through the mean is missing", "Subtract mean(g).")
def no_mean(x, weight, eps, dy):
    return layer_norm_backward(x, weight, eps, dy, False, True)


@mistake("layer_norm_backward", "the weight is missing", "g = weight · dy, before the means are taken.")
def no_weight(x, weight, eps, dy):
    return layer_norm_backward(x, [1.0] * len(weight), eps, dy)


@mistake("layer_norm_backward", "the variance divides by C - 1", "Use the biased variance of the forward pass: divide by C.")
def backward_unbiased(x, weight, eps, dy):
    return layer_norm_backward(x, weight, eps, dy, less=1)
