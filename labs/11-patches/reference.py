from lab import mistake


def cases(rng):
    for i in range(8):
        P, H, W, C = rng.randint(2, 3), rng.randint(2, 3), rng.randint(2, 4), rng.randint(2, 3)
        yield "patches", [[[[round(rng.random(), 3) for _ in range(C)] for _ in range(W * P)] for _ in range(H * P)], P]


def grid(image, size):
    return [(top, left) for top in range(0, len(image), size) for left in range(0, len(image[0]), size)]


def cut(image, size, top, left):
    return [line[left:left + size] for line in image[top:top + size]]


def by_pixels(patch):
    return [value for line in patch for pixel in line for value in pixel]


def patches(image, size):
    return [by_pixels(cut(image, size, *place)) for place in grid(image, size)]


def turned(image):
    return [list(column) for column in zip(*image)]


@mistake("patches", "a reshape without exchanging axes", "Each of your rows is a strip of the image, not a square. Reshape to [H/P, P, W/P, P, C], then exchange the second and"
         " the third axis.")
def reshape(image, size):
    items, width = by_pixels(image), size * size * len(image[0][0])
    return [items[i:i + width] for i in range(0, len(items), width)]


@mistake("patches", "patches in the order of columns", "Read patches row by row: first all of the top row, from the left.")
def column_order(image, size):
    places = sorted(grid(image, size), key=lambda place: place[::-1])
    return [by_pixels(cut(image, size, *place)) for place in places]


@mistake("patches", "channels before pixels", "Inside of a patch the channels of a pixel stand together: row, column, channel.")
def channels_first(image, size):
    return [[pixel[c] for c in range(len(image[0][0])) for line in cut(image, size, *place) for pixel in line]
            for place in grid(image, size)]


@mistake("patches", "rows and columns of each patch are exchanged", "Inside of a patch, go through a row of pixels before the next row.")
def transposed(image, size):
    return [by_pixels(turned(cut(image, size, *place))) for place in grid(image, size)]


@mistake("patches", "the whole image is transposed", "The first axis of the image is its height.")
def image_transposed(image, size):
    return patches(turned(image), size)


@mistake("patches", "patches overlap", "The next patch begins P pixels further, not one.")
def overlapping(image, size):
    return [by_pixels(cut(image, size, top, left)) for top in range(len(image) - size + 1) for left in range(len(image[0]) - size + 1)]


@mistake("patches", "every P-th pixel instead of neighbours", "A patch is P x P neighbouring pixels.")
def strided(image, size):
    H, W = len(image) // size, len(image[0]) // size
    return [[value for line in image[top::H][:size] for pixel in line[left::W][:size] for value in pixel] for top in range(H) for left in range(W)]


@mistake("patches", "only the first channel", "A patch has P·P·C numbers: all channels.")
def one_channel(image, size):
    return [[pixel[0] for line in cut(image, size, *place) for pixel in line] for place in grid(image, size)]
