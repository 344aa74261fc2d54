"""An image [H, W, C] as rows of patches, [N, P·P·C]."""


def patches(image, size):
    # hole
    rows = []
    for top in range(0, len(image), size):
        for left in range(0, len(image[0]), size):
            rows.append([value for line in image[top:top + size] for pixel in line[left:left + size] for value in pixel])
    return rows
    # end
