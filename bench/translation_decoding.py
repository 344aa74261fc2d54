#!/usr/bin/env python3
"""Translated tokens per second on the CPU: ours beside its peers, same weights, interleaved, in one run.

    ninja -C build attend bench_translation_decoding bench_cpu_roof
    bench/translation_decoding.py build/bench/translation_decoding --model DIR --input FILE [--threads 2] [--rounds 5]
                                  [--base] [--weights f32 int8] [--ctranslate2 PATH] [--no-torch]

The first --sentences lines of FILE are translated by all from the same weights, sorted by length and cut into batches,
greedily and with 4 beams. --base: by a Transformer base of random weights (32,000 words, the tokenizer of --model, every
translation 48 tokens long).

In f32 the peer is the same model in torch with cached keys and values: it drops sentences that are done, projects the
sources' keys and values once, stops a beam search when nothing open can still win, and does its products by the faster of its
BLAS and oneDNN, which is measured before. In f32 and int8 it is CTranslate2 (--ctranslate2: a program or its source folder;
bench/peers/ctranslate2.py says how to get it). Rounds alternate, each timed inside a warm process. Printed are the share of
sentences with the translation of ours in f32, the median, half the spread over the rounds, the share of the roof (operations
of a token, or reading the decoder's weights once per step, whichever takes longer), how many times faster ours is, and memory.
Last, how long `attend translate` takes for one line from its start to its end, and its largest memory.

It needs a quiet machine: with more threads than free cores torch's threads wait for each other, and ours looks better
than it is.
"""
import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

import torch

from peers.ctranslate2 import CTranslate2
from peers.torch_transformer import Model, Torch
from side_by_side import Apart, Cpu, Group, Measure, run_program
from transformer_base import VOCABULARY, write_base

# Runs a program and prints its seconds and kilobytes. A process of its own: what the kernel calls a child's largest memory
# is never below what its parent had when it started it, and torch has more than we do.
WATCH = """
import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Attend:
    """The program attend."""

    def __init__(self, options):
        self.program = options.attend or pathlib.Path(options.program).resolve().parent.parent / "attend"
        self.model, self.threads = options.model, str(options.threads)

    def tokenize(self, flag, key, requests):
        text = "".join(json.dumps(request) + "\n" for request in requests)
        command = [self.program, "tokenize", "--tokenizer", self.model, "--json", flag]
        output = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
        return [json.loads(answer)[key] for answer in output.split("\n") if answer]

    def ids(self, lines):
        return self.tokenize("--no-special-tokens", "ids", [{"text": line} for line in lines])

    def texts(self, rows):
        return self.tokenize("--decode", "decoded", [{"ids": row} for row in rows])

    def start(self, line):
        """Seconds from starting the program to its end, and its largest memory in MB, for one line."""
        command = [self.program, "translate", "--threads", self.threads, "--model", self.model]
        output = subprocess.run([sys.executable, "-S", "-c", WATCH, *command], input=line + "\n", check=True,
                                capture_output=True, text=True).stdout
        seconds, kilobytes = output.split()
        return float(seconds), int(kilobytes) / 1024


class Ours:
    name = "attend"

    def __init__(self, options, weights, lines):
        self.command = [options.program, "--model", options.model, "--threads", options.threads, "--weights", weights,
                        "--input", lines, "--sentences", options.sentences]
        self.known = {}

    def written(self, beams, batch):
        """The translations, and how many tokens they have, found out once."""
        if (beams, batch) not in self.known:
            self.known[beams, batch] = run_program(*self.command, "--beams", beams, "--batch", batch, "--texts", "--reps", 0)
        return self.known[beams, batch]

    def run(self, beams, batch):
        result, known = run_program(*self.command, "--beams", beams, "--batch", batch), self.written(beams, batch)
        return {**result, "texts": known["texts"], "seconds": [seconds / sum(known["tokens"]) for seconds in result["seconds"]]}


def special_tokens(folder, vocabulary):
    tokens = json.loads((folder / "tokenizer.json").read_text())
    ids = dict(tokens["model"]["vocab"])
    ids.update((token["content"], token["id"]) for token in tokens["added_tokens"])
    unused = list(range(max(ids.values()) + 1, vocabulary))
    suppressed = [ids[token] for token in ("<pad>", "<s>", "<unk>") if token in ids] + unused
    return {"pad": ids["<pad>"], "start": ids["<s>"], "end": ids["</s>"], "suppressed": suppressed}


def groups(options, model, special, lines, sources):
    """weights -> ours and its peers."""
    result = {}
    for weights in options.weights:
        runners = [Ours(options, weights, lines)]
        if options.torch and weights == "f32":
            runners.append(Apart("torch", Torch, options.model, special, sources, options.threads))
        if options.ctranslate2 and CTranslate2.has(weights):
            runners.append(CTranslate2(options, weights, model, special, sources))
        result[weights] = Group(runners, Cpu(options, weights))
    return result


def compare(options):
    attend, model = Attend(options), Model(options.model)
    special = special_tokens(options.model, len(model.embedding))
    texts = [line for line in options.input.read_text().split("\n")[:options.sentences] if line.strip()]
    lines = options.folder / "lines"
    lines.write_text("".join(line + "\n" for line in texts))
    sources = [ids[:model.max_length - 1] + [special["end"]] for ids in attend.ids(texts)]
    length = sum(map(len, sources))
    encoder, decoder = (sum(tensor.numel() for name, tensor in model.weights.items() if name.startswith(stack))
                        for stack in ("encoder", ("decoder", "embedding")))
    print(f"torch {torch.__version__}, {options.threads} threads, {len(texts)} sentences of {length} tokens; medians of "
          f"{options.rounds} rounds")
    exact, compared = Ours(options, "f32", lines), groups(options, model, special, lines, sources)
    for beams, batch in itertools.product(options.beams, options.batches):
        expected = exact.written(beams, batch)
        operations = 2 * (beams * decoder + encoder * length / sum(expected["tokens"]))  # for a token

        def floor(machine, megabytes):
            reading = 1e6 * megabytes * decoder / (encoder + decoder) / batch
            return max(operations / machine.operations, reading / machine.bytes)

        def same(result, _):
            found = result["texts"] if "texts" in result else attend.texts(result["ids"])
            return f"same {sum(a == b for a, b in zip(found, expected['texts'], strict=True)) / len(texts):6.1%}"
        rate = Measure("seconds", lambda seconds: f"{1 / seconds:7.0f} tokens/s", floor)
        for weights, group in compared.items():
            print(f"{'greedy' if beams == 1 else f'{beams} beams'}, batch {batch}, {weights}")
            group.compare(options.rounds, [rate], same, beams, batch)
    starts = [attend.start(texts[0]) for _ in range(10)]
    print(f"attend translate, one line: {statistics.median(s for s, _ in starts):.3f} s, {max(m for _, m in starts):.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build/bench/translation_decoding")
    parser.add_argument("--attend", help="the program attend; beside the folder of the first if not given")
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--input", type=pathlib.Path, required=True)
    parser.add_argument("--base", action="store_true", help="a Transformer base of random weights; of --model the tokenizer")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-translation-bench"), help="for files")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weights", nargs="+", default=["f32", "int8"])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--ctranslate2", type=pathlib.Path, help="CTranslate2's program or source folder")
    parser.add_argument("--no-torch", dest="torch", action="store_false", help="without torch")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.base:
        special = special_tokens(options.model, VOCABULARY)
        write_base(options.model, options.folder / "base", [special["end"], *special["suppressed"]])
        options.model = options.folder / "base"
    compare(options)


if __name__ == "__main__":
    main()
