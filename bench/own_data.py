#!/usr/bin/env python3
"""What `attend train FILES --out m` learns from data of one's own, without further flags:

  bench/own_data.py [--program build/attend] [--data .data] [--nanogpt FOLDER] [CASE..]

  language  4,000 pairs of a made-up language with numbers, reversed words and another word order: share of 500 others exactly right
  photos    60 photos a class of three random classes of imagenette-96, five times: share of 360 other photos right
  trec      questions of TREC (tools/unpack-data), 500 held out: accuracy
  sst2      2,000 sentences of SST-2's training set of eight words or more: accuracy on its 872 validation sentences
  text      tiny shakespeare, the first nine tenths: nats a character on the rest; with --nanogpt (a clone, torch) as many minutes as
            its CPU recipe takes, beside it

For two cores start it with `taskset -c 0,1`. Cases may run beside each other on cores of their own."""
import argparse
import csv
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

NOUNS = "cat dog bird house tree river stone boat king child horse lamp book road field wolf star hill door garden".split()
ADJECTIVES = "red old small bright cold heavy quick silent green young soft deep".split()
VERBS = "sees finds carries paints breaks follows hears builds loves hides".split()


def made_language(count):
    """English-like sentences and a language with the verb at the end, suffixes, reversed adjectives and reversed numbers."""
    words, say = random.Random(7), random.Random(1)

    def word():
        return "".join(words.choice("bdfgklmnprstvz") + words.choice("aeiou") for _ in range(2))
    nouns, verbs = {noun: word() for noun in NOUNS}, {verb: word() + "n" for verb in VERBS}

    def phrase():
        noun, adjective = say.choice(NOUNS), say.choice(ADJECTIVES) if say.random() < 0.6 else ""
        number = say.randint(2, 9999) if say.random() < 0.5 else 0
        source = [str(number) if number else "the", adjective, noun + ("s" if number else "")]
        target = [nouns[noun] + ("om" if number else ""), adjective[::-1], "#" + str(number)[::-1] if number else ""]
        return [" ".join(part for part in side if part) for side in (source, target)]
    pairs = {}
    while len(pairs) < count:
        (subject, its), (thing, their), verb = phrase(), phrase(), say.choice(VERBS)
        negated, asked = say.random() < 0.25, say.random() < 0.2
        source = ("does " if asked else "") + subject + (" not" if negated else "") + f" {verb} {thing}" + (" ?" if asked else " .")
        pairs[source] = f"{their} {its} {verbs[verb]}" + ("ik" if negated else "") + (" ka" if asked else "") + " ."
    return list(pairs.items())


def write_lines(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def write_table(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


class Bench:
    def __init__(self, program, data, nanogpt, folder):
        self.program, self.data, self.nanogpt, self.folder = program, data, nanogpt, folder

    def attend(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"attend {' '.join(map(str, words))}\n{done.stderr[-2000:]}")
        return done.stdout

    def train(self, *words):
        """The folder of the model, and the seconds it took."""
        out = self.folder / f"model-{len(list(self.folder.glob('model-*')))}"
        begun = time.monotonic()
        self.attend("train", *words, "--out", out)
        return out, time.monotonic() - begun

    def evaluate(self, model, *files):
        return json.loads(self.attend("evaluate", "--model", model, *files, "--json"))

    def need(self, *names):
        for name in names:
            if not (self.data / name).exists():
                sys.exit(f"{self.data / name} is missing: tools/unpack-data")
        return [self.data / name for name in names]

    def language(self):
        pairs, files = made_language(4500), {}
        for part, some in (("train", pairs[:4000]), ("test", pairs[4000:])):
            files[part] = [self.folder / f"{part}.source", self.folder / f"{part}.target"]
            for i, path in enumerate(files[part]):
                write_lines(path, [pair[i] for pair in some])
        model, seconds = self.train(*files["train"])
        return f"{100 * self.evaluate(model, *files['test'])['exact_match']:.1f} % exactly right; {seconds:.0f} s"

    def photos(self):
        root, = self.need("imagenette-96")
        choose, shares, took = random.Random(2026), [], []
        for turn in range(5):
            for label in choose.sample(sorted(path.name for path in (root / "train").iterdir()), 3):
                for part, source, count in (("train", "train", 60), ("test", "val", 120)):
                    target = self.folder / f"photos-{turn}" / part / label
                    target.mkdir(parents=True)
                    for path in choose.sample(sorted((root / source / label).iterdir()), count):
                        shutil.copy(path, target)
            model, seconds = self.train(self.folder / f"photos-{turn}" / "train")
            shares.append(self.evaluate(model, self.folder / f"photos-{turn}" / "test")["accuracy"])
            took.append(seconds)
        each = ", ".join(f"{100 * share:.1f}" for share in shares)
        return f"mean accuracy {100 * sum(shares) / 5:.1f} % ({each}); {sum(took) / 5:.0f} s each"

    def labelled(self, name, train, test):
        files = [self.folder / f"{name}-train.csv", self.folder / f"{name}-test.csv"]
        for path, rows in zip(files, (train, test)):
            write_table(path, rows)
        model, seconds = self.train(files[0])
        return f"accuracy {100 * self.evaluate(model, files[1])['accuracy']:.1f} %; {seconds:.0f} s"

    def trec(self):
        path, = self.need("trec/data/train_5500.label")
        rows = [line.strip().split(" ", 1) for line in path.read_text(encoding="latin-1").splitlines()]
        rows = [(text, label.split(":")[0]) for label, text in rows]
        random.Random(5).shuffle(rows)
        return self.labelled("trec", rows[:-500], rows[-500:])

    def sst2(self):
        def rows(path):
            lines = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
            return [(text, ("negative", "positive")[int(label)]) for label, text in lines]
        train, dev = self.need("sst2/train.tsv", "sst2/dev.tsv")
        some = [row for row in rows(train) if len(row[0].split()) >= 8]
        random.Random(5).shuffle(some)
        return self.labelled("sst2", some[:2000], rows(dev))

    def text(self):
        path, = self.need("tinyshakespeare/input.txt")
        text = path.read_text()
        parts = {"train": text[:int(0.9 * len(text))], "valid": text[int(0.9 * len(text)):]}
        files = {}
        for name, part in parts.items():
            files[name] = self.folder / f"{name}.txt"
            files[name].write_text(part)
        peer, flags = "", []
        if self.nanogpt:
            seconds, loss = self.run_nanogpt(parts)
            peer, flags = f"; nanoGPT {loss} nats on its sample of the rest, {seconds:.0f} s", ["--minutes", f"{seconds / 60:.2f}"]
        model, seconds = self.train(files["train"], *flags)
        return f"{self.evaluate(model, files['valid'])['nats_per_character']:.3f} nats a character; {seconds:.0f} s{peer}"

    def run_nanogpt(self, parts):
        """Its README's recipe for a CPU, in a copy of the clone."""
        import numpy
        import pickle
        clone = self.folder / "nanogpt"
        shutil.copytree(self.nanogpt, clone)
        ids = {letter: i for i, letter in enumerate(sorted(set("".join(parts.values()))))}
        data = clone / "data/shakespeare_char"
        data.mkdir(parents=True, exist_ok=True)
        for name, part in (("train", parts["train"]), ("val", parts["valid"])):
            numpy.array([ids[letter] for letter in part], dtype=numpy.uint16).tofile(data / f"{name}.bin")
        with open(data / "meta.pkl", "wb") as file:
            pickle.dump({"vocab_size": len(ids), "stoi": ids, "itos": {i: letter for letter, i in ids.items()}}, file)
        flags = ["--device=cpu", "--compile=False", "--eval_iters=20", "--log_interval=100", "--block_size=64", "--batch_size=12",
                 "--n_layer=4", "--n_head=4", "--n_embd=128", "--max_iters=2000", "--lr_decay_iters=2000", "--dropout=0.0"]
        begun = time.monotonic()
        done = subprocess.run([sys.executable, "train.py", "config/train_shakespeare_char.py", *flags], cwd=clone, capture_output=True,
                              text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))})
        return time.monotonic() - begun, re.findall(r"val loss ([0-9.]+)", done.stdout)[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = ["language", "photos", "trec", "sst2", "text"]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(cases))
    parser.add_argument("--program", default="build/attend")
    parser.add_argument("--data", type=pathlib.Path, default=".data")
    parser.add_argument("--nanogpt", help="a clone of github.com/karpathy/nanoGPT")
    args = parser.parse_args()
    if unknown := set(args.cases) - set(cases):
        parser.error(f"there is no case {', '.join(sorted(unknown))}: {', '.join(cases)}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(args.program) if "/" in args.program else args.program, args.data, args.nanogpt,
                      pathlib.Path(folder))
        for case in args.cases or cases:
            print(f"{case:9} {getattr(bench, case)()}", flush=True)


if __name__ == "__main__":
    main()
