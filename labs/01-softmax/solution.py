"""Softmax over the rows of x [N, V], and its gradient."""
import math


def softmax(x):
    # hole
    rows = []
    for row in x:
        top = max(row)
        powers = [math.exp(value - top) for value in row]
        total = sum(powers)
        rows.append([power / total for power in powers])
    return rows
    # end


def softmax_backward(y, dy):
    # hole
    rows = []
    for weights, slopes in zip(y, dy):
        mean = sum(weight * slope for weight, slope in zip(weights, slopes))
        rows.append([weight * (slope - mean) for weight, slope in zip(weights, slopes)])
    return rows
    # end
