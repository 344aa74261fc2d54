#!/usr/bin/env python3
"""What CIFAR-10 as JPEG is worth: a ResNet-18 in plain torch beside `attend train`, on the same files, one after the other.

    bench/cifar10_baseline.py build/attend
    bench/cifar10_baseline.py build/attend --recipes recipes/cifar10-fast.json recipes/cifar10-cnn.json --epochs 40 --cutout 8

torch: ResNet-18 with a stem for small images (11.2 M weights), all images on the GPU, shifts by 4 and flips (and cutout) there, bf16
autocast, channels last, SGD with Nesterov momentum, a learning rate that goes up and down once, label smoothing 0.1. Both models are
asked about a test image and its mirror image. Seconds are those of training, without decoding; torch's begin after one warm-up batch.
"""
import argparse
import json
import multiprocessing
import os
import pathlib
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)


def pixels(path):
    from PIL import Image
    with Image.open(path) as image:
        return image.convert("RGB").tobytes()


def read(folder, most):
    """Images u8 [N, 3, 32, 32] and labels; the classes in the order of their names, as attend has them."""
    classes = sorted(each.name for each in folder.iterdir() if each.is_dir())
    files = [(file, label) for label, name in enumerate(classes) for file in sorted((folder / name).iterdir())]
    files = files[::max(1, len(files) // most)] if most else files
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        raw = pool.map(pixels, [file for file, _ in files], chunksize=256)
    images = torch.frombuffer(bytearray(b"".join(raw)), dtype=torch.uint8).view(-1, 32, 32, 3).permute(0, 3, 1, 2)
    return images, torch.tensor([label for _, label in files])


class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.first = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(out), nn.BatchNorm2d(out)])
        self.skip = nn.Identity()
        if stride != 1 or width != out:
            self.skip = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.skip(x))


def resnet18():
    layers, width = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for out in (64, 128, 256, 512):
        layers += [Block(width, out, 1 if out == 64 else 2), Block(out, out, 1)]
        width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def normalised(images):
    mean, std = (torch.tensor(x, device=images.device).view(1, 3, 1, 1) for x in (MEAN, STD))
    return ((images.float() / 255 - mean) / std).contiguous(memory_format=torch.channels_last)


def augmented(images, cutout):
    """A batch that was padded by 4: each image shifted, flipped by chance, a square of it blanked."""
    count, device = len(images), images.device
    rows, columns = (torch.randint(0, 9, (count, 1), device=device) + torch.arange(32, device=device) for _ in range(2))
    flipped = torch.rand(count, 1, device=device) < 0.5
    columns = torch.where(flipped, columns.flip(1), columns)
    which = torch.arange(count, device=device).view(-1, 1, 1)
    images = images.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if cutout:
        places = torch.arange(32, device=device)
        inside = [places - torch.randint(0, 32, (count, 1), device=device) + cutout // 2 for _ in range(2)]
        rows, columns = ((x >= 0) & (x < cutout) for x in inside)
        images = images.masked_fill((rows[:, :, None] & columns[:, None, :])[:, None], 0)
    return images


def accuracy(model, images, labels, kind):
    model.eval()
    right = 0
    with torch.no_grad(), torch.autocast(kind, torch.bfloat16):
        for begin in range(0, len(images), 1000):
            batch = images[begin:begin + 1000]
            right += int(((model(batch) + model(batch.flip(3))).argmax(1) == labels[begin:begin + 1000]).sum())
    model.train()
    return right / len(images)


def train_torch(options):
    kind = options.device.split(":")[0]

    def wait():
        if kind == "cuda":
            torch.cuda.synchronize()

    torch.manual_seed(options.seed)
    torch.backends.cudnn.benchmark = True
    # Both are read before the first use of the GPU, because reading forks.
    parts = [*read(options.data / "train", options.images), *read(options.data / "test", options.images)]
    images, labels, test_images, test_labels = (part.to(options.device) for part in parts)
    padded, test_images = F.pad(normalised(images), (4, 4, 4, 4), mode="reflect"), normalised(test_images)
    model = resnet18().to(options.device).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), options.learning_rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    each = len(images) // options.batch
    steps = options.epochs * each
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, total_steps=steps, pct_start=0.25, anneal_strategy="linear")
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)

    def gradients(chosen):
        with torch.autocast(kind, torch.bfloat16):
            batch = augmented(padded[chosen], options.cutout).contiguous(memory_format=torch.channels_last)
            loss_of(model(batch), labels[chosen]).backward()

    gradients(torch.arange(options.batch, device=options.device))  # the warm-up
    optimizer.zero_grad(set_to_none=True)
    for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
        norm.reset_running_stats()
    wait()
    start = time.perf_counter()
    for _ in range(options.epochs):
        order = torch.randperm(len(images), device=options.device)
        for step in range(each):
            gradients(order[step * options.batch:(step + 1) * options.batch])
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
    wait()
    seconds = time.perf_counter() - start
    return {"name": f"torch {torch.__version__}, ResNet-18, {options.epochs} epochs", "accuracy": accuracy(model, test_images, test_labels, kind),
            "seconds": seconds, "images_per_second": steps * options.batch / seconds, "weights": sum(p.numel() for p in model.parameters())}


def train_ours(options, recipe):
    settings = json.loads(recipe.read_text())
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "model"
        subprocess.run([options.program, "train", str(recipe), "--device", options.device, "--out", str(folder), "--train",
                        str(options.data / "train"), "--valid", str(options.data / "test"), *options.more], check=True,
                       stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        views = [f"--{name.replace('_', '-')}={settings[name]}" for name in ("test_time_shift",) if settings.get(name)]
        views += ["--test-time-flip"] if settings.get("test_time_flip") else []
        found = json.loads(subprocess.run([options.program, "evaluate", "--model", str(folder), str(options.data / "test"), "--json", "--worst",
                                           "0", "--batch", "500", "--device", options.device, *views], check=True, capture_output=True).stdout)
        weights = json.loads(subprocess.run([options.program, "info", str(folder), "--cost", "--json"], check=True, capture_output=True).stdout)
    steps = [line for line in lines if "images_per_second" in line]
    return {"name": f"attend, {recipe.stem}", "accuracy": found["accuracy"], "seconds": steps[-1]["seconds"],
            "images_per_second": steps[len(steps) // 2]["images_per_second"], "weights": weights["parameters"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/attend")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(".data/cifar10"), help="a folder with train and test, a folder per class in each")
    parser.add_argument("--recipes", type=pathlib.Path, nargs="*", default=[pathlib.Path("recipes/cifar10-fast.json")])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--learning-rate", type=float, default=0.3)
    parser.add_argument("--cutout", type=int, default=0, help="side of the square that torch blanks")
    parser.add_argument("--images", type=int, default=0, help="torch reads about so many of each part only, to try the program out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows here, too")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="the rest goes to attend train")
    options = parser.parse_args()
    rows = []
    for work in [lambda: train_torch(options), *(lambda recipe=recipe: train_ours(options, recipe) for recipe in options.recipes)]:
        row = work()
        rows.append(row)
        print(f"{row['name']:44} {100 * row['accuracy']:6.2f} %  {row['seconds']:7.1f} s  {row['images_per_second']:9,.0f} images/s  "
              f"{row['weights'] / 1e6:.1f} M weights", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
