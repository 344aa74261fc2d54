#!/usr/bin/env python3
"""The convolutions of ResNet-50 on a GPU in bf16, layer by layer, ours beside torch's (cuDNN, channels last, benchmark mode).

    bench/gpu_convolution.py build-gpu/bench/gpu_convolution [--batch 256] [--rounds 3] [--only 3x3] [--no-torch]

Prints milliseconds of the forward pass and of the gradients of the input and of the weight (medians over the rounds, in which
the two take turns), torch's time over ours, and our share of the roof. torch's gradient of the weight is bf16, ours f32.
"""
import argparse
import re
import statistics
import subprocess
import time

PRODUCTS = ("forward", "input", "weight")


def ours(options):
    """{(kernel, stride, inputs, outputs, size): (times in the network, [ms, share] of each product)}"""
    command = [options.program, "--batch", str(options.batch), "--only", options.only]
    layers = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.match(r"(\d+)x\d+/(\d+) (\d+)>(\d+) @(\d+) +(\d+) (.*)", line)
        if found:
            words = [float(word) for word in found[7].replace("%", " ").split()]
            layers[tuple(map(int, found.groups()[:5]))] = int(found[6]), list(zip(words[::2], words[1::2]))
    return layers


def theirs(layer, batch):
    """Milliseconds of torch's three products."""
    import torch
    torch.backends.cudnn.benchmark = True
    kernel, stride, inputs, outputs, size = layer

    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    results = (size - 1) // stride + 1
    x, weight, dy = tensor(batch, inputs, size, size), tensor(outputs, inputs, kernel, kernel), tensor(batch, outputs, results, results)
    window = [stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], 1

    def backward(mask):
        return torch.ops.aten.convolution_backward(dy, x, weight, None, *window, mask)
    products = (lambda: torch.ops.aten.convolution(x, weight, None, *window), lambda: backward([True, False, False]),
                lambda: backward([False, True, False]))

    def sample(product, launches):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(launches):
            product()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start) / launches
    times = []
    for product in products:
        sample(product, 3)
        launches = min(max(int(50 / sample(product, 3)), 3), 1000)
        times.append(statistics.median(sample(product, launches) for _ in range(5)))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="layers whose name contains this")
    parser.add_argument("--no-torch", action="store_true", help="ours alone")
    options = parser.parse_args()
    mine, peers, counts = {}, {}, {}
    for _ in range(options.rounds):
        for layer, (count, products) in ours(options).items():
            counts[layer] = count
            mine.setdefault(layer, []).append(products)
        for layer in [] if options.no_torch else counts:
            peers.setdefault(layer, []).append(theirs(layer, options.batch))
    print(f"{'layer':24}{'times':>6}" + "".join(f"{name + ' ms':>12}{'torch':>9}{'ratio':>7}{'roof':>6}" for name in PRODUCTS))
    sums = [[0.0, 0.0] for _ in PRODUCTS]
    for layer, count in counts.items():
        kernel, stride, inputs, outputs, size = layer
        line = f"{f'{kernel}x{kernel}/{stride} {inputs}>{outputs} @{size}':24}{count:6}"
        for which in range(len(PRODUCTS)):
            a = statistics.median(products[which][0] for products in mine[layer])
            b = statistics.median(times[which] for times in peers[layer]) if layer in peers else float("nan")
            share = statistics.median(products[which][1] for products in mine[layer])
            sums[which][0] += count * a
            sums[which][1] += count * b
            line += f"{a:12.4f}{b:9.4f}{b / a:7.2f}{share:5.0f}%"
        print(line)
    print(f"{'all convolutions':30}" + "".join(f"{a:12.3f}{b:9.3f}{b / a:7.2f}{'':6}" for a, b in sums))


main()
