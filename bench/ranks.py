#!/usr/bin/env python3
"""Several processes beside one with as many threads: bench/ranks.py [--program build/attend] [--rounds 3] [--ranks 2] [CASE..]

Cases (all when none is named), interleaved, each line a JSON object, a few minutes each:
  train      GPT-2-like, 10 M weights, N ranks x 1 thread against 1 rank x N threads, the same tokens a step: tokens a second and the
             share of time that rank 0 waited for messages. Bar: 0.92 of the tokens a second
  delay      the same with --delay seconds (0.004) added to every message: how much of it was hidden behind computing, and tokens a second
             with and without; the delay that nothing hides is the number of messages times the delay. Bar: half of it hidden
  translate  --lines (10,000) lines by models/en-fr, N x 1 thread against 1 x N: lines a second, and whether every byte is the same.
             Bar: 0.95 of the lines a second
Needs mpirun (OpenMPI). Figures hold for the machine they were taken on, and only when nothing else runs there. How far that was so is in
the line: wall and user seconds of every run (of all processes and threads together; waiting is in them, too), ratio_by_user of the latter,
and load, what others had of the processors: the share of the wall time x cores that the runs themselves did not get."""
import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = "the a cat dog sat on mat and then went home with an old friend who knew many things about time music water fire".split()


def run(options, ranks, threads, words, delay=None, out=None):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if delay:
        environment["ATTEND_MESSAGE_DELAY"] = str(delay)
    front = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--oversubscribe"] if ranks > 1 else []
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "w") if out else tempfile.TemporaryFile("w") as stdout:
        done = subprocess.run([*front, options.program, *words, "--threads", str(threads)], stdout=stdout, stderr=subprocess.PIPE,
                              text=True, env=environment, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.perf_counter() - began, "user": after.ru_utime - before.ru_utime, "system": after.ru_stime - before.ru_stime}


def seen(name, rows):
    """What runs took, for who wants to know how quiet the machine was."""
    return {f"wall_seconds_{name}": [round(row["wall"], 1) for row in rows], f"user_seconds_{name}": [round(row["user"], 1) for row in rows],
            f"system_seconds_{name}": [round(row["system"], 1) for row in rows]}


def others_load(options, rows):
    """Of the processor time that there was, the share that runs which never wait did not get."""
    got = sum(row["user"] + row["system"] for row in rows)
    return round(1 - got / (sum(row["wall"] for row in rows) * options.ranks), 3)


def bar(value, least):
    return {"bar": least, "met": value >= least}


class Training:
    """Runs of a model of 10 M weights; each gives the lines of its log behind the first."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        rng = random.Random(1)
        (folder / "text").write_text("\n".join(" ".join(rng.choice(WORDS) for _ in range(12)) for _ in range(4000)) + "\n")
        (folder / "valid").write_text("\n".join(" ".join(rng.choice(WORDS) for _ in range(12)) for _ in range(100)) + "\n")

    def log(self, ranks, threads, delay=None):
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        batch = self.options.batch // ranks
        words = ["train", "--task", "language-model", "--text", str(self.folder / "text"), "--valid-text", str(self.folder / "valid"),
                 "--out", str(out), "--width", "384", "--layers", "6", "--heads", "6", "--block", "128", "--batch", str(batch),
                 "--steps", str(self.options.steps), "--log-every", "2", "--validate-every", "100000", "--save-every", "100000",
                 "--average", "1", "--dropout", "0"]
        took = run(self.options, ranks, threads, words, delay)
        lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        lines = [line for line in lines if "tokens_per_second" in line][1:]
        found = {key: statistics.median(line.get(key, 0) for line in lines)
                 for key in ("tokens_per_second", "communication", "communication_hidden")}
        return {**found, **took}


def medians(rows):
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def case_train(options, folder):
    training, together, alone = Training(options, folder), [], []
    for _ in range(options.rounds):
        together.append(training.log(options.ranks, 1))
        alone.append(training.log(1, options.ranks))
    several, one = medians(together), medians(alone)
    ratio = several["tokens_per_second"] / one["tokens_per_second"]
    return {"tokens_per_second": several["tokens_per_second"], "one_process": one["tokens_per_second"], "ratio": round(ratio, 3),
            **bar(ratio, 0.92), "ratio_by_user": round(one["user"] / several["user"], 3),
            "in_messages": round(several["communication"], 4), "hidden": round(several["communication_hidden"], 4),
            **seen("together", together), **seen("alone", alone), "load": others_load(options, alone)}


def case_delay(options, folder):
    training, with_delay, without = Training(options, folder), [], []
    for _ in range(options.rounds):
        with_delay.append(training.log(options.ranks, 1, options.delay))
        without.append(training.log(options.ranks, 1))
    slow, fast = medians(with_delay), medians(without)
    messages = slow["communication"] + slow["communication_hidden"]
    share = slow["communication_hidden"] / max(messages, 1e-9)
    return {"delay": options.delay, "tokens_per_second": slow["tokens_per_second"], "without": fast["tokens_per_second"],
            "in_messages": round(slow["communication"], 4), "hidden": round(slow["communication_hidden"], 4),
            "share_hidden": round(share, 3), **bar(share, 0.5), **seen("with", with_delay), **seen("without", without),
            "load": others_load(options, without)}


def case_translate(options, folder):
    rng = random.Random(2)
    text = folder / "lines.en"
    text.write_text("\n".join(" ".join(rng.choice(WORDS) for _ in range(rng.randrange(3, 20))) for _ in range(options.lines)) + "\n")
    words = ["translate", "--model", str(ROOT / "models/en-fr"), str(text)]
    together, alone = [], []
    for _ in range(options.rounds):
        together.append(run(options, options.ranks, 1, words, out=folder / "together"))
        alone.append(run(options, 1, options.ranks, words, out=folder / "alone"))
    same = (folder / "together").read_bytes() == (folder / "alone").read_bytes()
    several, one = medians(together), medians(alone)
    ratio = one["wall"] / several["wall"]
    return {"lines": options.lines, "lines_per_second": round(options.lines / several["wall"]),
            "one_process": round(options.lines / one["wall"]), "ratio": round(ratio, 3), **bar(ratio, 0.95), "same_bytes": same,
            "ratio_by_user": round(one["user"] / several["user"], 3), **seen("together", together), **seen("alone", alone),
            "load": others_load(options, alone)}


CASES = {"train": case_train, "delay": case_delay, "translate": case_translate}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES])
    parser.add_argument("--program", default=str(ROOT / "build/attend"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=12, help="of each training run; the first two are not counted")
    parser.add_argument("--batch", type=int, default=32, help="texts of 128 tokens a step, of all ranks together")
    parser.add_argument("--delay", default="0.004")
    parser.add_argument("--lines", type=int, default=10_000, help="to translate; the bar says 100,000, which take minutes a run")
    options = parser.parse_args()
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({"case": name, "ranks": options.ranks, **CASES[name](options, pathlib.Path(folder))}), flush=True)


main()
