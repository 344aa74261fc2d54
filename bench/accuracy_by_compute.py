#!/usr/bin/env python3
"""Accuracy against training compute on CIFAR-10: ViT, hybrid and ResNet at three sizes each, every one trained for the same time.

    bench/accuracy_by_compute.py build/attend --minutes 1 --json runs/by-compute.json --out docs/images/accuracy-by-compute.svg
    bench/accuracy_by_compute.py build/attend --json runs/by-compute.json --out figure.svg --only-draw

As figure 5 of Dosovitskiy et al. 2020, with little data instead of much. Compute is the operations of a training step (`attend info
--cost`: three times a forward pass) for all images seen. --json keeps each finished point: the same command continues after an interruption. With --budget it stops
in time, with exit code 75, and is to be run again. Needs nothing but Python: the SVG is written here.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
from html import escape

COMMON = {"task": "classify-images", "image_size": 32, "crop": "shift", "mean": "0.4914,0.4822,0.4465", "std": "0.247,0.2435,0.2616",
          "label_smoothing": 0.1, "batch": 256, "schedule": "cosine", "learning_rate": 0.001, "weight_decay": 0.05, "ema": 0.999,
          "rand_augment_operations": 2, "rand_augment_magnitude": 5, "cutmix": 1, "log_every": 100}


def backbone(width):
    return {"stem": "small", "layer_type": "basic", "embedding_size": width, "hidden_sizes": [width, 2 * width, 4 * width], "depths": [1, 1, 1]}


def vit(model, width, layers, config, **more):
    return {"model": model, "width": width, "layers": layers, "heads": width // 64, "hidden": 4 * width, "config": config, **more}


def resnet(width, depths):
    return {"model": "resnet", "config": {"stem": "small", "layer_type": "basic", "embedding_size": width,
                                          "hidden_sizes": [width, 2 * width, 4 * width], "depths": depths}}


SIZES = ("small", "medium", "large")
FAMILIES = {
    "ViT": [vit("vit", width, layers, {"pooling": "mean"}, patch_size=4) for width, layers in ((128, 6), (192, 8), (320, 10))],
    "hybrid": [vit("vit_hybrid", width, layers, {"backbone_config": backbone(grid)}) for width, layers, grid in ((128, 4, 16), (192, 6, 32), (320, 8, 48))],
    "ResNet": [resnet(width, depths) for width, depths in ((32, [1, 1, 1]), (64, [2, 2, 2]), (96, [3, 3, 3]))],
}
# Okabe and Ito's colours and three marks: told apart without colours, too.
LOOKS = {"ViT": ("#0072b2", "circle"), "hybrid": ("#009e73", "square"), "ResNet": ("#d55e00", "triangle")}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 620, 400, 64, 30, 56, 52


def call(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def trained(options, family, size):
    """One point: the model is trained, scored on the test set and counted."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "model"
        recipe = {**COMMON, **FAMILIES[family][SIZES.index(size)], "train": str(options.data / "train"), "valid": str(options.data / "test"),
                  "out": str(folder), "minutes": options.minutes, "validate_every": 10**7, "save_every": 10**7,
                  "steps": max(100, round(6000 * options.minutes))}
        path = pathlib.Path(scratch) / "recipe.json"
        path.write_text(json.dumps(recipe))
        words = ["train", str(path), "--device", options.device, *options.more]
        done = subprocess.run([options.program, *words], check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"accuracy_by_compute: {family} {size} failed:\n{done.stderr[-2000:]}")
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        cost = json.loads(call(options.program, "info", folder, "--cost", "--json"))
        score = json.loads(call(options.program, "evaluate", "--model", folder, options.data / "test", "--json", "--worst", 0, "--batch", 500,
                                "--device", options.device))
    settings = [line for line in lines if "images_per_second" in line]
    images = settings[-1]["step"] * int(option_of(options.more, "--batch", COMMON["batch"]))
    return {"family": family, "size": size, "accuracy": score["accuracy"], "parameters": cost["parameters"], "images": images,
            "flops": cost["training_flops"] * images, "minutes": options.minutes, "images_per_second": settings[len(settings) // 2]["images_per_second"]}


def option_of(words, name, default):
    return words[words.index(name) + 1] if name in words else default


def text(x, y, words, size=11, anchor="middle", color="#222", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{more}>{escape(words)}</text>'


def mark(x, y, kind, color):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{color}"/>'
    if kind == "square":
        return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{color}"/>'
    return f'<path d="M{x:.1f} {y - 6:.1f}l5.5 10h-11z" fill="{color}"/>'


def figure(points, heading):
    xs, ys = [point["flops"] for point in points], [100 * point["accuracy"] for point in points]
    low, high = math.log10(min(xs)) - 0.12, math.log10(max(xs)) + 0.12
    step = next(s for s in (1, 2, 5, 10, 20) if max(ys) - min(ys) <= 7 * s)
    bottom, ceiling = step * math.floor(min(ys) / step - 0.2), step * math.ceil(max(ys) / step + 0.2)

    def at(flops, accuracy):
        return (LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(flops) - low) / (high - low),
                HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (accuracy - bottom) / (ceiling - bottom))

    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
             f"<title>{escape(heading)}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text(LEFT, 20, heading, 14, "start", more=' font-weight="bold"')]
    for accuracy in range(bottom, ceiling + 1, step):
        _, y = at(10**low, accuracy)
        drawn += [f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>', text(LEFT - 7, y + 4, f"{accuracy} %", anchor="end")]
    for power in range(math.floor(low), math.ceil(high) + 1):
        for factor in (1, 2, 5):
            if not low <= math.log10(factor) + power <= high:
                continue
            x, y = at(factor * 10.0**power, bottom)
            drawn += [f'<path d="M{x:.1f} {y:.1f}V{TOP}" stroke="#eee"/>', text(x, y + 16, f"{factor * 10.0 ** (power % 3):g} {unit(power)}")]
    drawn.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "training compute, floating-point operations"))
    drawn.append(text(WIDTH - RIGHT, 44, "numbers: weights", 11, "end", "#555"))
    x, taken = LEFT, []
    for family, (color, kind) in LOOKS.items():
        line = sorted((point for point in points if point["family"] == family), key=lambda point: SIZES.index(point["size"]))
        if not line:
            continue
        drawn += [mark(x + 6, 40, kind, color), text(x + 18, 44, family, 12, "start")]
        x += 90
        places = [at(point["flops"], 100 * point["accuracy"]) for point in line]
        drawn.append(f'<path d="M{" L".join(f"{px:.1f} {py:.1f}" for px, py in places)}" fill="none" stroke="{color}" stroke-width="2"/>')
        for (px, py), point in zip(places, line):
            drawn.append(mark(px, py, kind, color))
            taken.append((px, py, f"{point['parameters'] / 1e6:.1f} M", color))
    return "\n".join(drawn + labels(taken) + ["</svg>"]) + "\n"


def labels(marks):
    """The number of weights beside each mark, where neither another mark nor another label lies."""
    boxes = [(x - 6, y - 6, x + 6, y + 6) for x, y, _, _ in marks]
    drawn = []
    for x, y, words, color in marks:
        wide = 6.2 * len(words)
        for left, base in ((x - wide / 2, y - 11), (x - wide / 2, y + 20), (x + 10, y + 4), (x - 10 - wide, y + 4), (x - wide / 2, y - 24), (x - wide / 2, y + 33)):
            box = (left, base - 10, left + wide, base + 2)
            if LEFT <= left and left + wide <= WIDTH - 4 and not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in boxes):
                break
        boxes.append(box)
        drawn.append(text(left, base, words, 11, "start", color))
    return drawn


def unit(power):
    return {9: "G", 12: "T", 15: "P", 18: "E", 21: "Z"}.get(power - power % 3, f"e{power - power % 3}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/attend")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(".data/cifar10"), help="a folder with train and test")
    parser.add_argument("--minutes", type=float, default=1, help="training time of each model")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=0, help="minutes after which no other model is begun; 0: no limit")
    parser.add_argument("--json", type=pathlib.Path, required=True, help="keeps the finished points")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the SVG")
    parser.add_argument("--machine", default="", help="words for the heading")
    parser.add_argument("--only-draw", action="store_true", help="draw the points that are there")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="the rest goes to attend train")
    options = parser.parse_args()
    start, late = time.monotonic(), False
    points = json.loads(options.json.read_text()) if options.json.exists() else []
    for size in options.sizes:  # all families at one size, then the next: what there is can be compared
        for family in options.families:
            if options.only_draw or any((p["family"], p["size"], p["minutes"]) == (family, size, options.minutes) for p in points):
                continue
            spent = (time.monotonic() - start) / 60
            late = late or 0 < options.budget < spent + options.minutes + 0.25
            if late:
                continue
            points.append(trained(options, family, size))
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(points, indent=1) + "\n")
            print("{family:7} {size:7} {accuracy:7.2%}  {flops:.2e} FLOPs  {parameters:,} weights  {images_per_second:,} images/s".format(**points[-1]), flush=True)
    if not options.only_draw:
        points = [point for point in points if point["minutes"] == options.minutes]
    if points:
        each = points[0]["minutes"]
        heading = f"CIFAR-10, {each:g} minute{'' if each == 1 else 's'} of training each" + (f", {options.machine}" if options.machine else "")
        options.out.write_text(figure(points, heading))
    return 75 if late else 0


if __name__ == "__main__":
    sys.exit(main())
