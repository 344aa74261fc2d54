"""Layer normalisation of the rows of x [N, C], and the gradient of x."""
import math


def normalized(row, eps):
    # hole
    mean = sum(row) / len(row)
    variance = sum((value - mean) ** 2 for value in row) / len(row)
    deviation = math.sqrt(variance + eps)
    return [(value - mean) / deviation for value in row], deviation
    # end


def layer_norm(x, weight, bias, eps):
    # hole
    return [[a * n + b for a, n, b in zip(weight, normalized(row, eps)[0], bias)] for row in x]
    # end


def layer_norm_backward(x, weight, eps, dy):
    # hole
    rows = []
    for row, slopes in zip(x, dy):
        n, deviation = normalized(row, eps)
        g = [a * b for a, b in zip(weight, slopes)]
        mean = sum(g) / len(g)
        along = sum(a * b for a, b in zip(g, n)) / len(g)
        rows.append([(a - mean - b * along) / deviation for a, b in zip(g, n)])
    return rows
    # end
