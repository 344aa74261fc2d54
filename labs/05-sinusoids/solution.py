"""Sinusoidal positions, [length, width]."""
import math


def positions(length, width):
    # hole
    rows = []
    for p in range(length):
        row = []
        for i in range(0, width, 2):
            angle = p / 10000 ** (i / width)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows
    # end
