#!/usr/bin/env python3
"""What many processes would do: measured computing time and message costs in, tokens a second for 2 to 1,024 of them out.

    bench/scaling_model.py gpus [--weights 124e6] [--step 0.1037] [--tokens 65536] [--wire 4]     a table for GPUs, from figures given
    bench/scaling_model.py --validate [--program build/attend] [--delay 0.01,0.04] [--bandwidth 1e9]   2 ranks here: predicted and measured
    bench/scaling_model.py fit messages.jsonl                                    latency and bandwidth from what bench/messages printed

The model (docs/many-machines.md has its assumptions): a step is forward (a third of the time), backward (two thirds) and update. Gradients
leave in buckets of a million numbers as backward goes from the last layer to the first; the table of words, whose gradient is
complete only at the end, comes last. One bucket travels at a time: it begins when it is complete and the one before has arrived. The step
is over when computing and the last bucket are. A bucket of S bytes among N costs
    ring    2 (N - 1) (latency + S / N / bandwidth)          every process passes on a part to its neighbour, around twice
    tree    2 ceil(log2 N) latency + 2 S / bandwidth         two trees, each for half of the bytes (NCCL's double binary tree)
    pairs   2 latency + 2 (N - 1) / N S / bandwidth          every process sends each other its part, and gets all sums: ours over MPI
Between hosts of G GPUs the ring goes through the slower link, which N / G hosts share out; the tree is one inside the host and one between."""
import argparse
import json
import math
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUCKET = 1 << 20  # numbers
FORWARD = 1 / 3   # of the computing time of a step; backward is two products where forward is one


class Link:
    def __init__(self, latency, bandwidth):
        self.latency, self.bandwidth = latency, bandwidth


def ring(size, ranks, link):
    return 2 * (ranks - 1) * (link.latency + size / ranks / link.bandwidth)


def tree(size, ranks, link):
    return 2 * math.ceil(math.log2(ranks)) * link.latency + 2 * size / link.bandwidth


def pairs(size, ranks, link):
    return 2 * link.latency + 2 * (ranks - 1) / ranks * size / link.bandwidth


def buckets(weights, last):
    """Numbers of each bucket in the order in which backward completes them; the last one is complete at the end."""
    rest, sizes = weights - last, []
    while rest > 0:
        sizes.append(min(BUCKET, rest))
        rest -= sizes[-1]
    return sizes + ([last] if last else [])


def step_seconds(compute, sizes, cost, overlap=True):
    """Of a step whose computing takes so long and whose buckets cost so much: with how long messages are waited for."""
    backward, total = compute * (1 - FORWARD), sum(sizes)
    at, done, passed = compute * FORWARD, 0.0, 0
    for numbers in sizes:
        passed += numbers
        ready = at + backward * passed / total if overlap else compute
        done = max(ready, done) + cost(numbers)
    end = max(compute, done)
    return end, end - compute


def table_for_gpus(options):
    inside, between = Link(options.latency_inside, options.bandwidth_inside), Link(options.latency, options.bandwidth)
    sizes = buckets(int(options.weights), int(options.table))
    print(f"{options.weights / 1e6:.0f} M weights, {options.tokens} tokens and {options.step * 1e3:.1f} ms a step and GPU, {options.wire} "
          f"bytes a gradient, {options.host} GPUs a host, {inside.bandwidth / 1e9:.0f} GB/s inside, {between.bandwidth / 1e9:.0f} between")
    print("| GPUs | tokens/s, ring | efficiency | tree | efficiency | the better, without overlap |\n|---|---|---|---|---|---|")
    ranks = 2
    while ranks <= 1024:
        link = inside if ranks <= options.host else between

        def by_tree(numbers):
            cost = tree(numbers * options.wire, min(ranks, options.host), inside)
            if ranks > options.host:  # each GPU of a host carries its part of the bytes to the others
                cost += tree(numbers * options.wire / options.host, ranks // options.host, between)
            return cost

        def by_ring(numbers):
            return ring(numbers * options.wire, ranks, link)

        one = options.tokens / options.step
        cells, without = [], []
        for cost in (by_ring, by_tree):
            seconds, _ = step_seconds(options.step, sizes, cost)
            rate = ranks * options.tokens / seconds
            cells += [f"{rate:,.0f}", f"{rate / ranks / one:.3f}"]
            without.append(options.step / step_seconds(options.step, sizes, cost, overlap=False)[0])
        print(f"| {ranks} | " + " | ".join(cells) + f" | {max(without):.3f} |")
        ranks *= 2


def fit(points):
    """Latency and bandwidth of pairs(), by least squares of the relative errors."""
    rows = [(2 / p["seconds"], 2 * (p["ranks"] - 1) / p["ranks"] * p["bytes"] / p["seconds"]) for p in points]
    a, b, c = (sum(x * x for x, _ in rows), sum(x * y for x, y in rows), sum(y * y for _, y in rows))
    d, e = sum(x for x, _ in rows), sum(y for _, y in rows)
    latency, inverse = (d * c - e * b) / (a * c - b * b), (a * e - b * d) / (a * c - b * b)
    return Link(max(latency, 0), 1 / max(inverse, 1e-15))


def train_here(options, folder, delay):
    """Of a step of two ranks, the median over lines of the log: seconds, those of waiting for messages, and user seconds of both."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    words = ["train", "--task", "language-model", "--text", str(folder / "text"), "--valid-text", str(folder / "valid"), "--out", str(out),
             "--width", "384", "--layers", "6", "--heads", "6", "--block", "128", "--batch", str(options.batch), "--steps", str(options.steps),
             "--log-every", "2", "--validate-every", "100000", "--save-every", "100000", "--average", "1", "--dropout", "0",
             "--threads", "1"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if delay:
        environment["ATTEND_MESSAGE_DELAY"] = delay
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["mpirun", "-n", "2", "--bind-to", "none", "--oversubscribe", options.program, *words], env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(done.stderr[-2000:])
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    lines = [line for line in lines if "tokens_per_second" in line][1:]
    tokens = 2 * options.batch * 128
    seconds = statistics.median(tokens / line["tokens_per_second"] for line in lines)
    user = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime) / options.steps
    return seconds, seconds * statistics.median(line["communication"] for line in lines), user


def compare_here(options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_text("\n".join(f"line {i} of a text about nothing much at all" for i in range(4000)) + "\n")
        (folder / "valid").write_text("\n".join(f"line {i} of another text" for i in range(200)) + "\n")
        delays = [float(delay) for delay in options.delay.split(",")]
        found = {delay: [] for delay in [None, *delays]}
        for _ in range(options.rounds):
            for delay in found:
                found[delay].append(train_here(options, folder, delay and f"{delay},{options.bandwidth}"))
        middle = {delay: [statistics.median(column) for column in zip(*rows)] for delay, rows in found.items()}
        # What is waited for at 0 delay is the work of messages itself; it stays, and the delay comes on top.
        plain, waited, _ = middle[None]
        sizes = buckets(10_700_000, 100_000)
        print("| delay | step without | predicted | measured | error | if nothing were hidden | waited for messages | hidden | user seconds |")
        print("|---|---|---|---|---|---|---|---|---|")
        for delay in delays:
            link = Link(delay, options.bandwidth)

            def cost(numbers):
                return sum(pairs(4 * min(BUCKET, numbers - at), 2, link) for at in range(0, numbers, BUCKET))

            predicted, _ = step_seconds(plain, sizes, cost)
            delays_of_all = sum(cost(numbers) for numbers in sizes)
            measured, waits, user = middle[delay]
            hidden = 1 - max(0, waits - waited) / delays_of_all
            print(f"| {delay * 1e3:g} ms | {plain:.3f} s | {predicted:.3f} s | {measured:.3f} s | {100 * (predicted / measured - 1):+.1f} % | "
                  f"{plain + delays_of_all:.3f} s | {waits:.3f} s | {100 * hidden:.0f} % | {user:.2f} ({middle[None][2]:.2f} without) |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    gpus = parts.add_parser("gpus")
    gpus.add_argument("--weights", type=float, default=124e6)
    gpus.add_argument("--table", type=float, default=38.6e6, help="of them, those of the table of words")
    gpus.add_argument("--step", type=float, default=0.1037, help="seconds that one GPU computes for")
    gpus.add_argument("--tokens", type=int, default=65536, help="of one GPU's batch")
    gpus.add_argument("--wire", type=int, default=4, help="bytes of a gradient: 4, or 2 with --wire bf16")
    gpus.add_argument("--host", type=int, default=8, help="GPUs of a host")
    gpus.add_argument("--latency-inside", type=float, default=3e-6)
    gpus.add_argument("--bandwidth-inside", type=float, default=370e9, help="bytes a second of a GPU to its host's others")
    gpus.add_argument("--latency", type=float, default=8e-6)
    gpus.add_argument("--bandwidth", type=float, default=45e9, help="bytes a second of a GPU to those of other hosts")
    here = parts.add_parser("validate")
    here.add_argument("--program", default=str(ROOT / "build/attend"))
    here.add_argument("--delay", default="0.004,0.016,0.05", help="seconds added to every message")
    here.add_argument("--bandwidth", type=float, default=1e9, help="bytes a second of every message, besides")
    here.add_argument("--steps", type=int, default=12)
    here.add_argument("--rounds", type=int, default=2)
    here.add_argument("--batch", type=int, default=8, help="texts of 128 tokens of each rank")
    fitted = parts.add_parser("fit")
    fitted.add_argument("file", type=pathlib.Path)
    options = parser.parse_args([word.removeprefix("--") if word == "--validate" else word for word in sys.argv[1:]])
    if options.part == "gpus":
        table_for_gpus(options)
    elif options.part == "validate":
        compare_here(options)
    else:
        link = fit([json.loads(line) for line in options.file.read_text().splitlines()])
        print(f"latency {link.latency:.3g} s, bandwidth {link.bandwidth:.3g} bytes/s")


main()
