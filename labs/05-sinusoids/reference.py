import math

from lab import mistake


def cases(rng):
    for i in range(6):
        yield "positions", [rng.randint(3, 12), 2 * rng.randint(3, 8)]
    yield "positions", [rng.randint(200, 300), 8]  # far positions tell bases apart that are almost 10,000


def table(length, width, angle, value=None):
    value = value or (lambda p, c: (math.cos if c % 2 else math.sin)(angle(p, c)))
    return [[value(p, c) for c in range(width)] for p in range(length)]


def right_angle(width):
    return lambda p, c: p / 10000 ** (c // 2 * 2 / width)


def positions(length, width):
    return table(length, width, right_angle(width))


@mistake("positions", "off by one: positions begin at 1", "The first position is 0, so the first row is 0, 1, 0, 1, ..")
def from_one(length, width):
    return table(length, width, lambda p, c: right_angle(width)(p + 1, c))


@mistake("positions", "sine and cosine are exchanged", "Even columns are sines, odd columns are cosines.")
def exchanged(length, width):
    return table(length, width, None, lambda p, c: (math.sin if c % 2 else math.cos)(right_angle(width)(p, c)))


@mistake("positions", "first all sines, then all cosines", "Sines and cosines alternate: columns 2i and 2i + 1 belong together.")
def halves(length, width):
    half = width // 2
    return table(length, width, None, lambda p, c: (math.sin if c < half else math.cos)(p / 10000 ** (c % half * 2 / width)))


@mistake("positions", "the exponent lacks its 2", "The exponent is 2i / C with i = column // 2. Yours is i / C.")
def half_exponent(length, width):
    return table(length, width, lambda p, c: p / 10000 ** (c // 2 / width))


@mistake("positions", "each column has its own frequency", "Columns 2i and 2i + 1 share one: the exponent of an odd column is that of the column before.")
def own_frequency(length, width):
    return table(length, width, lambda p, c: p / 10000 ** (c / width))


@mistake("positions", "the exponent is doubled", "If the loop runs over the even columns 0, 2, 4, .., then the column is 2i already.")
def doubled(length, width):
    return table(length, width, lambda p, c: p / 10000 ** (c // 2 * 4 / width))


@mistake("positions", "multiplied by the power", "p is divided by 10000^(2i / C). Yours grows with the column.")
def multiplied(length, width):
    return table(length, width, lambda p, c: p * 10000 ** (c // 2 * 2 / width))


@mistake("positions", "another base", "The base is 10000; yours is 1000.")
def base(length, width):
    return table(length, width, lambda p, c: p / 1000 ** (c // 2 * 2 / width))


@mistake("positions", "only sines", "Odd columns are cosines.")
def sines(length, width):
    return table(length, width, None, lambda p, c: math.sin(right_angle(width)(p, c)))


@mistake("positions", "degrees instead of radians", "The angle is in radians.")
def degrees(length, width):
    return table(length, width, lambda p, c: math.radians(right_angle(width)(p, c)))


@mistake("positions", "positions and columns are exchanged", "Rows are positions, columns are the width.")
def swapped(length, width):
    rows = positions(length, width)
    return [list(column) for column in zip(*rows)]
