#!/usr/bin/env python3
"""Writes tests/image/data: small images of every kind that Pillow reads, and what Pillow makes of them.

    tools/make_image_cases.py [FOLDER]

Needs Pillow and NumPy. The images are drawn from a seed; cases.safetensors holds, as u8 [height, width, 3],
  FILE|decoded                        exif_transpose(open(FILE)).convert("RGB")
  source                              an image with noise, edges and ramps
  resize|FILTER|W|H|L|T|R|B|GAP       source.resize((W, H), FILTER, box=(L, T, R, B), reducing_gap=GAP or None)
  reduce|X|Y                          source.reduce((X, Y))
  op|NAME|ARGUMENT                    one operation of RandAugment on source
"""
import io
import json
import pathlib
import struct
import sys
import zlib

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageOps

FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"made_by": f"Pillow {PIL.__version__}"}}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "U8", "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, samples, extra=(), interlaced=False):
    """A PNG from samples [height, width, channels], with what Pillow cannot write: 16 bits, few bits, interlacing."""
    def packed(rows):
        lines = b""
        for row in rows:
            values = row.reshape(-1)
            if depth == 16:
                line = values.astype(">u2").tobytes()
            elif depth == 8:
                line = values.astype(np.uint8).tobytes()
            else:
                bits = "".join(format(int(value), f"0{depth}b") for value in values)
                bits += "0" * (-len(bits) % 8)
                line = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
            lines += b"\0" + line
        return lines

    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in passes]
        raw = b"".join(packed(part) for part in parts if part.size)
    else:
        raw = packed(samples)
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*e) for e in extra)
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def source_image(rng, width, height):
    """Ramps, hard edges and noise."""
    y, x = np.mgrid[:height, :width]
    image = np.stack([255 * x / width, 255 * y / height, 127 + 127 * np.sin(x * y / 97)], axis=2)
    image[height // 4:height // 2, width // 3:width // 2] = [255, 0, 0]
    image[height // 2:, :width // 4] = rng.integers(0, 256, image[height // 2:, :width // 4].shape)
    return image.astype(np.uint8)


def files(rng):
    image = source_image(rng, 37, 29)
    image = Image.fromarray(image)
    alpha = image.convert("RGBA")
    alpha.putalpha(Image.fromarray(rng.integers(0, 256, (29, 37), dtype=np.uint8)))
    made = {}
    made["cmyk.jpg"] = saved(image.convert("CMYK"), "JPEG", quality=90)
    made["grey.jpg"] = saved(image.convert("L"), "JPEG")
    made["progressive.jpg"] = saved(image, "JPEG", progressive=True, quality=85)
    made["full_colour.jpg"] = saved(image, "JPEG", subsampling=0)
    made["half_colour.jpg"] = saved(image, "JPEG", subsampling=1)
    # The same inks, but the Adobe marker says that they are luminance, two colours and black.
    at = made["cmyk.jpg"].index(b"Adobe")
    made["ycck.jpg"] = made["cmyk.jpg"][:at + 11] + b"\2" + made["cmyk.jpg"][at + 12:]
    made["lossy.webp"] = saved(image, "WEBP", quality=70)
    made["lossless.webp"] = saved(image, "WEBP", lossless=True)
    made["alpha.webp"] = saved(alpha, "WEBP", lossless=True)
    made["alpha.png"] = saved(alpha, "PNG")
    made["grey_alpha.png"] = saved(alpha.convert("LA"), "PNG")
    made["bits.png"] = saved(image.convert("1"), "PNG")
    made["palette_transparent.png"] = saved(image.quantize(16), "PNG", transparency=3)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        kind = ("JPEG", "PNG", "WEBP")[orientation % 3]
        options = {"lossless": True} if kind == "WEBP" else {}
        small = Image.fromarray(image[:12, :17])
        made[f"turned{orientation}.{kind.lower()}"] = saved(small, kind, exif=exif, **options)
    for name, colour, channels in (("grey", 0, 1), ("rgb", 2, 3), ("grey_alpha", 4, 2), ("rgba", 6, 4)):
        deep = rng.integers(0, 65536 if colour else 600, (9, 11, channels))
        made[f"{name}16.png"] = png(11, 9, 16, colour, deep)
        made[f"{name}16_interlaced.png"] = png(11, 9, 16, colour, deep, interlaced=True)
    for depth in (1, 2, 4):
        made[f"grey{depth}.png"] = png(11, 9, depth, 0, rng.integers(0, 1 << depth, (9, 11, 1)))
        palette = rng.integers(0, 256, 3 << depth, dtype=np.uint8).tobytes()
        indices = rng.integers(0, 1 << depth, (9, 11, 1))
        made[f"palette{depth}_interlaced.png"] = png(11, 9, depth, 3, indices, [(b"PLTE", palette)], interlaced=True)
    made["rgb_interlaced.png"] = png(37, 29, 8, 2, image, interlaced=True)
    made["grey_transparent.png"] = png(11, 9, 8, 0, rng.integers(0, 256, (9, 11, 1)), [(b"tRNS", b"\0\x64")])
    made["gamma.png"] = png(11, 9, 8, 2, rng.integers(0, 256, (9, 11, 3)), [(b"gAMA", struct.pack(">I", 100000))])
    return made


def resizes(source):
    height, width = source.shape[:2]
    image = Image.fromarray(source)
    whole = (0, 0, width, height)
    cases = [(name, w, h, whole, 0) for name in FILTERS for w, h in ((8, 8), (25, 10), (45, 35), (4, 31), (32, 3))]
    cases += [(name, 12, 10, (1.5, 2.25, 25.75, 20.5), 0) for name in FILTERS]
    cases += [(name, 5, 4, whole, gap) for name in ("bilinear", "bicubic", "lanczos", "box") for gap in (1.0, 2.0)]
    cases += [("bicubic", 3, 4, (1.5, 2.25, 30.75, 20.5), 1.5), ("bilinear", width, 11, whole, 0), ("bicubic", 13, height, whole, 0)]
    for name, w, h, box, gap in cases:
        result = image.resize((w, h), FILTERS[name], box=box, reducing_gap=gap or None)
        yield "resize|{}|{}|{}|{}|{}|{}|{}|{}".format(name, w, h, *box, gap), np.asarray(result)
    for x, y in ((2, 2), (3, 1), (4, 5), (7, 7)):
        yield f"reduce|{x}|{y}", np.asarray(image.reduce((x, y)))


def operations(source):
    """Those of torchvision's RandAugment, as it does them to a Pillow image; those that move pixels take the nearest."""
    image = Image.fromarray(source)
    width, height = image.size

    def affine(name, value):
        if name == "rotate":
            return image.rotate(value, resample=Image.NEAREST)
        matrix = {"shear_x": (1, value, 0, 0, 1, 0), "shear_y": (1, 0, 0, value, 1, 0),
                  "translate_x": (1, 0, value, 0, 1, 0), "translate_y": (1, 0, 0, 0, 1, value)}[name]
        return image.transform((width, height), Image.AFFINE, matrix, Image.NEAREST)

    enhance = {"brightness": ImageEnhance.Brightness, "color": ImageEnhance.Color, "contrast": ImageEnhance.Contrast,
               "sharpness": ImageEnhance.Sharpness}
    for name, kind in enhance.items():
        for factor in (0.125, 0.5625, 1.0, 1.4375, 1.875):  # exact products: Pillow fuses them with sums on arm64 only
            yield f"op|{name}|{factor}", kind(image).enhance(factor)
    for bits in (2, 4, 8):
        yield f"op|posterize|{bits}", ImageOps.posterize(image, bits)
    for threshold in (0, 60, 128, 255):
        yield f"op|solarize|{threshold}", ImageOps.solarize(image, threshold)
    yield "op|auto_contrast|0", ImageOps.autocontrast(image)
    yield "op|equalize|0", ImageOps.equalize(image)
    yield "op|invert|0", ImageOps.invert(image)
    for name, values in {"rotate": (-30, -7.5, 15, 90), "shear_x": (-0.3, 0.1), "shear_y": (-0.2, 0.3),
                         "translate_x": (-9, 4), "translate_y": (-5, 11)}.items():
        for value in values:
            yield f"op|{name}|{value}", affine(name, value)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "tests" / "image" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20)
    tensors = {}
    for name, data in files(rng).items():
        (folder / name).write_bytes(data)
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
        tensors[f"{name}|decoded"] = np.asarray(image.convert("RGB"))
    source = source_image(rng, 31, 23)
    tensors["source"] = source
    tensors.update(resizes(source))
    tensors.update((name, np.asarray(image)) for name, image in operations(source))
    write_safetensors(folder / "cases.safetensors", tensors)
    (folder / "README.md").write_text(
        f"Images of every kind and, in cases.safetensors, what Pillow {PIL.__version__} makes of them: tools/make_image_cases.py.\n")
    total = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {len(tensors)} cases, {total / 1e3:.0f} kB, by Pillow {PIL.__version__}")


if __name__ == "__main__":
    main()
