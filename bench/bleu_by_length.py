#!/usr/bin/env python3
"""BLEU by the length of the source sentence: a table and a figure.

    bench/bleu_by_length.py --source test.en --reference test.fr --svg docs/images/bleu_by_length.svg \\
        "RNN without attention=plain.fr" "RNN with attention=attention.fr" "Transformer=transformer.fr"

Sentences are put into buckets by the words of the source, each bucket is scored as a corpus with `attend score`, and
buckets with fewer than --least sentences are left out. The figure is that of Bahdanau et al. 2015 (figure 2): a network
that has to put a sentence into one vector falls behind as sentences get longer.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
from html import escape

BOUNDS = [5, 10, 15, 20, 30]  # last length of each bucket but the last
# Okabe and Ito's colours, which colour-blind readers can tell apart; markers differ too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, FONT = 700, 420, 62, 54, 78, 14
LETTER = 0.62 * FONT  # of bold text, a generous average


def read_lines(path):
    return pathlib.Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")


def bucket_names():
    firsts = [1] + [bound + 1 for bound in BOUNDS]
    return [f"{first}–{last}" for first, last in zip(firsts, BOUNDS)] + [f"{firsts[-1]}+"]


def buckets_of(sources, least):
    """[(name, numbers of sentences)]"""
    buckets = [(name, []) for name in bucket_names()]
    for number, source in enumerate(sources):
        words = len(source.split())
        if words:
            buckets[sum(words > bound for bound in BOUNDS)][1].append(number)
    return [(name, numbers) for name, numbers in buckets if len(numbers) >= least]


def bleu(attend, hypotheses, references):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("hypotheses", "references")]
        for path, lines in zip(paths, (hypotheses, references)):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        output = subprocess.run([attend, "score", "--hypotheses", paths[0], "--references", paths[1], "--metric", "bleu", "--json"],
                                check=True, capture_output=True, text=True).stdout
    return json.loads(output)["score"]


def markdown(buckets, scores):
    rows = [["words of the source", *scores, "sentences"], ["---"] * (len(scores) + 2)]
    for i, (name, numbers) in enumerate(buckets):
        rows.append([name, *(f"{values[i]:.1f}" for values in scores.values()), str(len(numbers))])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def marker(kind, x, y, color):
    style = f'fill="{color}" stroke="#ffffff" stroke-width="1.5"'
    if kind % 3 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" {style}/>'
    if kind % 3 == 1:
        return f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" {style}/>'
    return f'<path d="M{x:.1f} {y - 7:.1f} l6.5 11.5 h-13 z" {style}/>'


def spread(wanted, gap, lowest, highest):
    """Places as near the wanted ones as can be, at least gap apart (a stack that grows is moved as one)."""
    groups = []  # [sum of (wanted - own offset), count, indices]
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        groups.append([wanted[i], 1, [i]])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] + groups[-2][1] * gap > groups[-1][0] / groups[-1][1]:
            total, count, indices = groups.pop()
            before = groups[-1]
            before[0] += total - count * before[1] * gap
            before[1] += count
            before[2] += indices
    places = [0.0] * len(wanted)
    for total, count, indices in groups:
        first = min(max(total / count, lowest), highest - (count - 1) * gap)
        for rank, i in enumerate(indices):
            places[i] = first + rank * gap
    return places


def wrapped(name, room):
    """A label in at most two lines."""
    words = name.split()
    if len(name) * LETTER <= room or len(words) == 1:
        return [name]
    cuts = [(" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words))]
    return list(min(cuts, key=lambda cut: max(map(len, cut))))


def axes(buckets, place_x, place_y, top, right):
    floor = place_y(0)
    step = next(step for step in (1, 2, 5, 10, 20, 25) if top / step <= 8)
    parts = []
    for value in range(0, top + 1, step):
        y = place_y(value)
        parts.append(f'<path d="M{LEFT} {y:.1f} H{right:.1f}" stroke="{"#888888" if value == 0 else "#e3e3e3"}"/>')
        parts.append(f'<text x="{LEFT - 9}" y="{y + 5:.1f}" text-anchor="end">{value}</text>')
    for i, (name, numbers) in enumerate(buckets):
        parts.append(f'<text x="{place_x(i):.1f}" y="{floor + 21:.1f}" text-anchor="middle">{escape(name)}</text>')
        parts.append(f'<text x="{place_x(i):.1f}" y="{floor + 38:.1f}" text-anchor="middle" font-size="11" '
                     f'fill="#666666">n = {len(numbers)}</text>')
    middle = (TOP + floor) / 2
    parts.append(f'<text x="18" y="{middle:.1f}" text-anchor="middle" transform="rotate(-90 18 {middle:.1f})">BLEU</text>')
    parts.append(f'<text x="{(LEFT + right) / 2:.1f}" y="{HEIGHT - 14}" text-anchor="middle">'
                 'length of the source sentence (words)</text>')
    return parts


def svg(buckets, scores, title):
    room = 150
    labels = [wrapped(name, room) for name in scores]
    widest = max(len(line) for lines in labels for line in lines) * LETTER
    right = WIDTH - max(60, widest) - 30
    highest = max(max(values) for values in scores.values())
    top = next(top for top in (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100) if top >= highest * 1.04 or top == 100)

    def place_x(i):
        return LEFT + (right - LEFT) * (i + 0.5) / len(buckets)

    def place_y(value):
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'role="img" font-family="Helvetica, Arial, sans-serif" font-size="{FONT}" fill="#222222">',
             f"<title>{escape(title)}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
             f'<text x="20" y="30" font-size="17" font-weight="bold">{escape(title)}</text>']
    parts += axes(buckets, place_x, place_y, top, right)
    lines_high = max(len(lines) for lines in labels)
    places = spread([place_y(values[-1]) for values in scores.values()], 18 * lines_high + 2, TOP, HEIGHT - BOTTOM)
    for kind, (values, lines, place) in enumerate(zip(scores.values(), labels, places)):
        color = COLORS[kind % len(COLORS)]
        points = [(place_x(i), place_y(value)) for i, value in enumerate(values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2.5" stroke-linejoin="round"/>')
        parts += [marker(kind, x, y, color) for x, y in points]
        x, y = points[-1]
        label_x = right + 12
        parts.append(f'<path d="M{x + 9:.1f} {y:.1f} L{label_x - 5:.1f} {place:.1f}" stroke="{color}" stroke-opacity="0.5"/>')
        for number, line in enumerate(lines):
            line_y = place + 5 + 17 * (number - (len(lines) - 1) / 2)
            parts.append(f'<text x="{label_x:.1f}" y="{line_y:.1f}" fill="{color}" font-weight="bold">{escape(line)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hypotheses", nargs="+", help="NAME=FILE: what a model translated the source to")
    parser.add_argument("--source", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--attend", default="build/attend", help="the program")
    parser.add_argument("--svg", help="where the figure goes")
    parser.add_argument("--title", default="BLEU by sentence length")
    parser.add_argument("--least", type=int, default=20, help="sentences a bucket must have")
    options = parser.parse_args()
    sources, references = read_lines(options.source), read_lines(options.reference)
    systems = {}
    for argument in options.hypotheses:
        name, equals, path = argument.partition("=")
        if not (name and equals and path):
            parser.error(f"{argument}: write NAME=FILE")
        systems[name] = read_lines(path)
        for what, lines in ((options.reference, references), (path, systems[name])):
            if len(lines) != len(sources):
                parser.error(f"{options.source} has {len(sources)} lines, but {what} has {len(lines)}")
    buckets = buckets_of(sources, options.least)
    if not buckets:
        parser.error(f"no length has {options.least} sentences")
    scores = {name: [bleu(options.attend, [lines[n] for n in numbers], [references[n] for n in numbers]) for _, numbers in buckets]
              for name, lines in systems.items()}
    print(markdown(buckets, scores))
    if options.svg:
        pathlib.Path(options.svg).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(options.svg).write_text(svg(buckets, scores, options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
