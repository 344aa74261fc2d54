#!/usr/bin/env python3
"""From a JPEG to what a model sees, on one core: ours beside Pillow with NumPy and, where it is, torchvision.

    bench/images.py build/bench/images IMAGE.jpg [--rounds 7]

The image is made 500 x 375 and saved anew (quality 90), and 32 x 32 for the small one. Rounds of ours and theirs alternate;
medians of the processor's milliseconds for one image, and theirs over ours. What is measured: see bench/images.cpp.
"""
import argparse
import io
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageOps

MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def timed(work, reps, times):
    work()
    seconds = []
    for _ in range(reps):
        start = time.process_time()
        for _ in range(times):
            work()
        seconds.append((time.process_time() - start) / times)
    return seconds


class WithNumpy:
    """Pillow, and NumPy for the floats."""
    name = f"Pillow {PIL.__version__} + NumPy"

    def __init__(self, photo, small):
        self.data, self.small = photo.read_bytes(), Image.open(small).convert("RGB")
        self.photo, self.small_data = self.decode(), small.read_bytes()

    def decode(self):
        return Image.open(io.BytesIO(self.data)).convert("RGB")

    def normalise(self, image):
        values = np.asarray(image, dtype=np.float32) / np.float32(255)
        return np.ascontiguousarray(((values - MEAN) / STD).transpose(2, 0, 1))

    def resize(self):
        return self.normalise(self.photo.resize((224, 224), Image.BILINEAR))

    def evaluate(self):
        image = self.decode()
        width, height = image.size
        size = (256, int(256 * height / width)) if width < height else (int(256 * width / height), 256)
        image = image.resize(size, Image.BILINEAR)
        left, top = round((size[0] - 224) / 2), round((size[1] - 224) / 2)
        return self.normalise(image.crop((left, top, left + 224, top + 224)))

    def part(self, width, height):
        while True:
            area, ratio = width * height * random.uniform(0.08, 1), random.uniform(3 / 4, 4 / 3)
            w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
            if w <= width and h <= height:
                left, top = random.randint(0, width - w), random.randint(0, height - h)
                return left, top, left + w, top + h

    def flip(self, image):
        return image.transpose(Image.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image

    def train(self):
        image = self.decode()
        image = image.crop(self.part(*image.size)).resize((224, 224), Image.BILINEAR)
        return self.normalise(self.flip(image))

    def moved(self, image):
        padded = ImageOps.expand(image, 4)
        left, top = random.randint(0, 8), random.randint(0, 8)
        return self.flip(padded.crop((left, top, left + 32, top + 32)))

    def small_one(self):
        return self.normalise(self.moved(self.small))

    def augment(self):
        image = self.moved(self.small)
        for _ in range(2):
            image = random.choice(OPERATIONS)(image)
        return self.normalise(image)

    def erased(self, values):
        if random.random() < 0.25:
            height, width = values.shape[1:]
            h, w = (max(1, round(side * random.uniform(0.15, 0.57))) for side in (height, width))
            top, left = random.randint(0, height - h), random.randint(0, width - w)
            values[:, top:top + h, left:left + w] = 0
        return values

    def augmented(self, image):
        for _ in range(2):
            image = random.choice(OPERATIONS)(image)
        return self.erased(self.normalise(image))

    def full(self):
        image = self.decode()
        return self.augmented(self.flip(image.crop(self.part(*image.size)).resize((224, 224), Image.BILINEAR)))

    def full_small(self):
        return self.augmented(self.moved(Image.open(io.BytesIO(self.small_data)).convert("RGB")))

    def run(self, reps):
        works = {"decode": (self.decode, 10), "resize": (self.resize, 10), "evaluate": (self.evaluate, 10),
                 "train": (self.train, 10), "small": (self.small_one, 200), "augment": (self.augment, 200),
                 "full": (self.full, 10), "full_small": (self.full_small, 100)}
        return {name: timed(work, reps, times) for name, (work, times) in works.items()}


def enhanced(kind):
    return lambda image: kind(image).enhance(1 + random.choice((-1, 1)) * 0.27)


def transformed(a, b, c, d, e, f):
    return lambda image: image.transform(image.size, Image.AFFINE, (a, b, c, d, e, f), Image.NEAREST)


OPERATIONS = [lambda image: image, transformed(1, 0.09, 0, 0, 1, 0), transformed(1, 0, 0, 0.09, 1, 0),
              transformed(1, 0, 4, 0, 1, 0), transformed(1, 0, 0, 0, 1, 4), lambda image: image.rotate(9),
              *map(enhanced, (ImageEnhance.Brightness, ImageEnhance.Color, ImageEnhance.Contrast, ImageEnhance.Sharpness)),
              lambda image: ImageOps.posterize(image, 7), lambda image: ImageOps.solarize(image, 179),
              ImageOps.autocontrast, ImageOps.equalize]


def with_torchvision(photo, small):
    import torch
    import torchvision
    from torchvision import transforms as T

    torch.set_num_threads(1)
    last = [T.ToTensor(), T.Normalize(MEAN.tolist(), STD.tolist())]
    augmented = [T.RandAugment(), *last, T.RandomErasing(0.25)]
    shift = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()]
    pipelines = {"resize": T.Compose([T.Resize((224, 224)), *last]),
                 "evaluate": T.Compose([T.Resize(256), T.CenterCrop(224), *last]),
                 "train": T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *last]),
                 "small": T.Compose([*shift, *last]), "augment": T.Compose([*shift, T.RandAugment(), *last]),
                 "full": T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *augmented]),
                 "full_small": T.Compose([*shift, *augmented])}

    class WithTorchvision(WithNumpy):
        name = f"torchvision {torchvision.__version__}"

        def resize(self):
            return pipelines["resize"](self.photo)

        def evaluate(self):
            return pipelines["evaluate"](self.decode())

        def train(self):
            return pipelines["train"](self.decode())

        def small_one(self):
            return pipelines["small"](self.small)

        def augment(self):
            return pipelines["augment"](self.small)

        def full(self):
            return pipelines["full"](self.decode())

        def full_small(self):
            return pipelines["full_small"](Image.open(io.BytesIO(self.small_data)).convert("RGB"))

    return WithTorchvision(photo, small)


class Ours:
    name = "attend"

    def __init__(self, program, photo, small):
        self.command = [program, str(photo), str(small)]

    def run(self, reps, *more):
        return json.loads(subprocess.run([*self.command, "--reps", str(reps), *more], check=True, capture_output=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("image", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        photo, small, dump = (pathlib.Path(folder, name) for name in ("photo.jpg", "small.png", "floats"))
        source = Image.open(options.image).convert("RGB")
        source.resize((500, 375), Image.BICUBIC).save(photo, quality=90)
        source.resize((32, 32), Image.BICUBIC).save(small)
        ours, numpy = Ours(options.program, photo, small), WithNumpy(photo, small)
        ours.run(1, "--dump", str(dump))
        error = np.abs(np.fromfile(dump, np.float32).reshape(3, 224, 224) - numpy.resize()).max()
        print(f"the largest difference of a resized and normalised photo from Pillow's and NumPy's: {error:.1e}")
        runners = [ours, numpy]
        try:
            runners.append(with_torchvision(photo, small))
        except ImportError:
            print("torchvision is left out: it is not here")
        results = {runner.name: [] for runner in runners}
        for _ in range(options.rounds):
            for runner in runners:
                results[runner.name].append(runner.run(5))
    print(f"milliseconds of one core for an image, medians of {options.rounds} rounds; in brackets: times ours")
    names = ["decode", "resize", "evaluate", "train", "small", "augment", "full", "full_small"]
    print(f"{'':26}" + "".join(f"{name:>18}" for name in names))
    middle = {who: {name: statistics.median(statistics.median(round_[name]) for round_ in rounds) for name in names}
              for who, rounds in results.items()}
    for who, times in middle.items():
        cells = (f"{1e3 * times[name]:9.4f} ({times[name] / middle['attend'][name]:5.2f})" for name in names)
        print(f"{who:26}" + "".join(f"{cell:>18}" for cell in cells))
    print("images a second and core: " + "; ".join(
        f"{who} {1 / times['full']:.0f} of 500 x 375 to 224, {1 / times['full_small']:.0f} of 32 x 32" for who, times in middle.items()))


if __name__ == "__main__":
    main()
