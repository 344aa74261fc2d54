#!/usr/bin/env python3
"""What more data buys: BLEU on newstest2014 against the number of training pairs, as a table and a figure.

    tools/unpack-data && bench/bleu_by_pairs.py --device cuda --json curve.json --svg docs/images/bleu-by-pairs.svg

The corpora of parallel-en-fr are mixed once (no test line in them), and each point takes the first pairs of that order. Every point
is trained with each of its settings (SETTINGS: size, dropout and steps; few pairs want a small model with much dropout, and few
steps), and the best one counts. Its score depends on the steps and not on the clock, so --at-once trainings share the device.
Runs and scores that are there already are kept, so an interrupted curve continues.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess

DATA = pathlib.Path(".data")
# Pairs (0: all of them), and what is tried: preset, dropout, steps of 25,000 tokens.
SETTINGS = {25_000: [("small", 0.3, 1500), ("small", 0.4, 1500)], 50_000: [("small", 0.3, 2500), ("small", 0.4, 2500)],
            100_000: [("small", 0.3, 4000), ("base", 0.3, 1600)], 200_000: [("small", 0.2, 6000), ("base", 0.3, 2400)],
            400_000: [("base", 0.3, 3500), ("base", 0.2, 3500)], 0: [("base", 0.1, 6500), ("base", 0.2, 6500)]}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 400, 60, 40, 60


def mixed(attend):
    """All pairs in one order, as source and target."""
    folder = DATA / "curve-en-fr"
    files = folder / "all.en", folder / "all.fr"
    if not files[1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        held_out = [DATA / f"{name}.{language}" for language in ("en", "fr")
                    for name in ("newstest/newstest2014-enfr", "parallel-en-fr/europarl.dev", "parallel-en-fr/europarl.test")]
        subprocess.run([attend, "data", "mix", DATA / "parallel-en-fr", "--exclude", *held_out, "--out-source", files[0],
                        "--out-target", files[1]], check=True)
    return files


def first_pairs(files, count):
    if not count:
        return files
    names = [file.with_name(f"{count}{file.suffix}") for file in files]
    for file, name in zip(files, names):
        if not name.exists():
            with open(file, encoding="utf-8") as lines:
                text = "".join(line for _, line in zip(range(count), lines))
            name.write_text(text, encoding="utf-8")
    return names


def score(options, files, count, preset, dropout, steps):
    """BLEU of one training run."""
    out = pathlib.Path(f"runs/curve-{count or 'all'}-{preset}-{dropout}")
    if not (out / "model.safetensors").exists():
        source, target = first_pairs(files, count)
        subprocess.run([options.attend, "train", "--task", "translation", "--source", source, "--target", target,
                        "--valid-source", DATA / "parallel-en-fr/europarl.dev.en", "--valid-target", DATA / "parallel-en-fr/europarl.dev.fr",
                        "--preset", preset, "--pre-norm", "--dropout", str(dropout), "--vocabulary-size", "8000" if count and count < 300_000 else "16000",
                        "--max-length", "160", "--tokens", "25000", "--schedule", "cosine", "--learning-rate", "0.001" if preset == "base" else "0.002",
                        "--steps", str(steps), "--warmup", str(steps // 10), "--validate-every", str(steps // 5), "--bleu-sentences", "100",
                        "--select", "loss", "--average", "1", "--device", options.device, "--overwrite", "--out", out],
                       check=True, stdout=subprocess.DEVNULL)
    test = DATA / "newstest/newstest2014-enfr"
    said = subprocess.run([options.attend, "evaluate", "--model", out, f"{test}.en", f"{test}.fr", "--device", options.device, "--json"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(said)["bleu"]


def figure(points):
    """points: [(pairs, BLEU)], by pairs."""
    from math import log10
    low, high = log10(points[0][0]), log10(points[-1][0])
    most = max(bleu for _, bleu in points) * 1.15

    def place(pairs, bleu):
        return (LEFT + 24 + (log10(pairs) - low) / (high - low) * (WIDTH - LEFT - 74),
                HEIGHT - BOTTOM - bleu / most * (HEIGHT - BOTTOM - TOP))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="22" font-weight="bold">BLEU on newstest2014, English to French, by training pairs</text>']
    for bleu in range(0, int(most) + 1, 5):
        _, y = place(points[0][0], bleu)
        lines.append(f'<path d="M{LEFT} {y:.1f} H{WIDTH - 40}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#666666">{bleu}</text>')
    path = " L".join("{:.1f} {:.1f}".format(*place(*point)) for point in points)
    lines.append(f'<path d="M{path}" fill="none" stroke="#0072B2" stroke-width="2"/>')
    for pairs, bleu in points:
        x, y = place(pairs, bleu)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0072B2"/>'
                     f'<text x="{x:.1f}" y="{y - 10:.1f}" text-anchor="middle">{bleu:.1f}</text>'
                     f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" fill="#666666">{pairs // 1000:,}k</text>')
    return "\n".join(lines + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", default="build/attend")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--at-once", type=int, default=1, help="trainings that share the device")
    parser.add_argument("--points", type=int, nargs="*", default=list(SETTINGS), choices=list(SETTINGS), help="numbers of pairs; 0 is all of them")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("runs/curve-en-fr.json"))
    parser.add_argument("--svg", type=pathlib.Path)
    options = parser.parse_args()
    files = mixed(options.attend)
    with open(files[0], encoding="utf-8") as lines:
        everything = sum(1 for _ in lines)
    known = json.loads(options.json.read_text()) if options.json.exists() else {}
    for count in options.points:
        first_pairs(files, count)  # before several runs want them
    runs = [(count, *setting) for count in options.points for setting in SETTINGS[count]]
    names = {run: f"{run[0] or everything} {run[1]} {run[2]}" for run in runs}
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        waiting = {pool.submit(score, options, files, *run): names[run] for run in runs if names[run] not in known}
        for done in concurrent.futures.as_completed(waiting):
            known[waiting[done]] = done.result()
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(known, indent=2) + "\n")
            print(f"{waiting[done]}: {known[waiting[done]]:.1f}", flush=True)
    best = {}
    for name, bleu in known.items():
        pairs = int(name.split()[0])
        best[pairs] = max(bleu, best.get(pairs, 0))
    if options.svg and len(best) > 1:
        options.svg.write_text(figure(sorted(best.items())), encoding="utf-8")


if __name__ == "__main__":
    main()
