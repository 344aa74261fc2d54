#!/usr/bin/env python3
"""attend serve beside torch's static cache behind a thin server (peers/torch_server.py): the same GPT-2, the same load, in turns.

    ninja -C build attend bench_load bench_gpt2_generation
    bench/serve_load.py --tokenizer FILE [--device cuda] [--clients 1 16 64 256] [--tokens 128] [--seconds 8] [--rounds 3]
    bench/serve_load.py --model shakespeare --device cpu --no-torch         # ours alone, with a model of its own

Clients are bench/load's, which is not Python; first it measures itself (--echo). Prints for each number of clients a line a
server, medians of the rounds: tokens a second, and p50 and p99 of the first token, between tokens, and of a request; of ours
also where the time of its computing thread went. On a GPU the rate of a batch of 64 without a server comes first.
GPT-2 124M with random weights is written to a folder; FILE is its tokenizer.json.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from serve import ROOT, Server


class TorchServer:
    def __init__(self, folder, options):
        command = [sys.executable, ROOT / "bench/peers/torch_server.py", "--model", folder, "--port", "0", "--device", options.device,
                   "--rows", options.rows, "--room", options.room, "--how", options.how]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("torch_server.py ended")
        self.port = int(re.search(r":(\d+)/", line)[1])

    def stop(self):
        self.process.kill()
        self.process.wait()


def load(options, *flags):
    """What bench/load prints, by the number of clients."""
    command = [options.load, "--tokens", options.tokens, "--seconds", options.seconds, "--threads", options.threads, *flags]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def middle(rounds, *keys):
    values = []
    for one in rounds:
        for key in keys:
            one = one[key]
        values.append(one)
    return statistics.median(values) if None not in values else float("nan")


def line(name, rounds):
    text = f"  {name:14} {middle(rounds, 'tokens_per_second'):8.0f} tokens/s"
    for key, what in (("first_ms", "first"), ("between_ms", "between"), ("request_ms", "request")):
        text += f"  {what} {middle(rounds, key, 'p50'):7.2f} / {middle(rounds, key, 'p99'):7.2f} ms"
    errors = sum(one["errors"] for one in rounds)
    return text + f"  clients' {middle(rounds, 'cores'):.1f} cores" + (f"  {errors} errors ({rounds[-1]['why']})" if errors else "")


def parts_of(server):
    """Of the server's thread that computes: seconds by part, steps and prompts read so far."""
    connection = server.connect()
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    parts = {part: float(value) for part, value in re.findall(r'attend_generation_seconds_total{part="(\w+)"} (\S+)', text)}
    for name in ("rows_size_count", "rows_size_sum", "prompt_batches_total"):
        found = re.search(rf"^attend_generation_{name} ([0-9.e+-]+)", text, re.MULTILINE)
        parts[name] = float(found[1]) if found else 0
    return parts


def spent(before, after, seconds):
    parts = {name: value - before.get(name, 0) for name, value in after.items()}
    steps = max(parts["rows_size_count"] - parts["prompt_batches_total"], 1)
    return (f"  {'':14} {steps:.0f} steps of {parts['rows_size_sum'] / max(parts['rows_size_count'], 1):.0f} rows, each "
            f"{1e3 * parts['steps'] / steps:.3f} ms for the model and {1e3 * parts['texts'] / steps:.3f} for the texts; "
            f"{parts['prompts']:.2f} s for prompts, {parts['steps']:.2f} for steps, {parts['texts']:.2f} for texts of {seconds:.1f}")


def write_model(options, folder):
    subprocess.run([options.bench, "--write", str(folder)], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(options.tokenizer, folder / "tokenizer.json")


def batch_rate(options, folder):
    command = [options.bench, "--model", folder, "--device", options.device, "--dtype", "bf16", "--batch", 64, "--prompt", 12,
               "--tokens", options.tokens, "--reps", 3, "--search"]
    printed = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=True).stdout
    return 64 * options.tokens / statistics.median(json.loads(printed.splitlines()[-1])["search"])


def compare(options, servers):
    """servers: name -> server and the flags of its clients."""
    for count in options.clients:
        rounds, before, seconds = {name: [] for name in servers}, parts_of(servers["attend"][0]), 0
        for _ in range(options.rounds):
            for name, (server, flags) in servers.items():
                begun = time.perf_counter()
                rounds[name] += load(options, "--port", server.port, "--clients", count, *flags)
                seconds += time.perf_counter() - begun if name == "attend" else 0
        print(f"{count} clients")
        for name in servers:
            print(line(name, rounds[name]))
        print(spent(before, parts_of(servers["attend"][0]), seconds), flush=True)
        if "torch" in servers:
            print(f"  {'':14} ours x{middle(rounds['attend'], 'tokens_per_second') / middle(rounds['torch'], 'tokens_per_second'):.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/attend"))
    parser.add_argument("--load", default=str(ROOT / "build/bench/load"))
    parser.add_argument("--bench", default=str(ROOT / "build/bench/gpt2_generation"))
    parser.add_argument("--tokenizer", type=pathlib.Path, help="GPT-2's tokenizer.json")
    parser.add_argument("--model", help="instead: a folder, or the name of a bundled model")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--prompts", help="a file with a prompt a line")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rows", type=int, default=64, help="texts at once, of both servers")
    parser.add_argument("--room", type=int, default=256, help="torch: tokens of a prompt and its text")
    parser.add_argument("--how", default="max-autotune", help="torch: eager, reduce-overhead or max-autotune")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of the clients")
    parser.add_argument("--flags", nargs="*", default=[], help="more for attend serve, without the dashes: name=value")
    parser.add_argument("--no-torch", dest="torch", action="store_false")
    options = parser.parse_args()
    if not options.model and not options.tokenizer:
        parser.error("--tokenizer or --model")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.model or pathlib.Path(scratch) / "gpt2"
        if not options.model:
            write_model(options, folder)
        for one in load(options, "--echo", "--clients", *options.clients):
            print(f"clients alone, {one['clients']:4}: {one['tokens_per_second']:.0f} tokens/s with {one['cores']:.1f} cores", flush=True)
        if options.device != "cpu" and not options.model:
            print(f"a batch of 64 without a server: {batch_rate(options, folder):.0f} tokens/s", flush=True)
        flags = ["--prompts", options.prompts] if options.prompts else []
        more = [part for flag in options.flags for part in ("--" + flag).split("=", 1)]
        dtype = [] if options.device == "cpu" else ["--dtype", "bf16"]
        with Server(options.program, "--model", str(folder), "--device", options.device, *dtype, "--max-rows", str(options.rows),
                    "--no-look", *more) as server:
            servers = {"attend": (server, flags)}
            theirs = None
            if options.torch:
                try:
                    theirs = TorchServer(folder, options)
                    servers["torch"] = theirs, flags
                except RuntimeError as error:
                    print(f"torch: {error}", flush=True)
            try:
                compare(options, servers)
            finally:
                if theirs:
                    theirs.stop()


if __name__ == "__main__":
    main()
