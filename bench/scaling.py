#!/usr/bin/env python3
"""Draws what bench/scaling.cpp printed: time and memory against length, batch and width, on log-log axes.

    build/bench/scaling > scaling.jsonl
    bench/scaling.py scaling.jsonl --out docs/scaling-cpu.svg --machine "2 cores of a Xeon"

Behind each line stands its slope over the last three points: n to the power of what the cost grows with. The same slopes
and the largest points are printed as a table in Markdown. Needs nothing but Python: the SVG is written here.
"""
import argparse
import json
import math
from html import escape

# Okabe and Ito's colours: told apart by colour-blind eyes too; explicit lines are dashed besides.
LINES = [("attention", "explicit", "#d55e00"), ("attention", "fused", "#0072b2"),
         ("layer", "explicit", "#cc79a7"), ("layer", "fused", "#009e73")]
PANELS = [("length", "ms", "time, ms", "sequence length (batch 1, width 512)"),
          ("length", "bytes", "memory", "sequence length (batch 1, width 512)"),
          ("batch", "ms", "time, ms", "batch (length 512, width 512)"),
          ("width", "ms", "time, ms", "width (batch 4, length 512)")]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 470, 330, 64, 52, 34, 46


def series(points, against, part, path):
    found = [p for p in points if (p["against"], p["part"], p["path"], p["pass"]) == (against, part, path, "both")]
    return sorted(found, key=lambda p: p[against])


def slope(line, against, value):
    """Of the last three points, by least squares of the logarithms."""
    last = [(math.log(p[against]), math.log(p[value])) for p in line[-3:]]
    if len(last) < 2:
        return None
    mx, my = (sum(axis) / len(last) for axis in zip(*last))
    return sum((x - mx) * (y - my) for x, y in last) / sum((x - mx) ** 2 for x, _ in last)


def amount(value, number):
    if value == "bytes":
        for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if number >= size:
                return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def ticks(low, high, base):
    return [base**e for e in range(math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9) + 1)]


def text(x, y, words, size=11, anchor="middle", color="#222", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}"{more}>{escape(words)}</text>'


def panel(points, left, top, against, value, title, axis):
    lines = [(part, path, color, series(points, against, part, path)) for part, path, color in LINES]
    lines = [line for line in lines if line[3]]
    if not lines:
        return []
    xs = [p[against] for line in lines for p in line[3]]
    ys = [p[value] for line in lines for p in line[3]]
    base = 1024**0.5 if value == "bytes" else 10
    low, high = min(xs), max(xs)
    bottom, ceiling = base ** math.floor(math.log(min(ys), base)), base ** math.ceil(math.log(max(ys), base))

    def at(x, y):
        return (left + LEFT + (WIDTH - LEFT - RIGHT) * math.log(x / low) / max(math.log(high / low), 1e-9),
                top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(y / bottom) / math.log(ceiling / bottom))

    drawn = [text(left + LEFT, top + TOP - 12, title, 13, "start", more=' font-weight="bold"')]
    for x in ticks(low, high, 2):
        (px, py), (_, up) = at(x, bottom), at(x, ceiling)
        drawn.append(f'<path d="M{px:.1f} {py:.1f}V{up:.1f}" stroke="#eee"/>')
        drawn.append(text(px, py + 15, f"{x:g}" if x < 1024 else f"{x / 1024:g}k"))
    for y in ticks(bottom, ceiling, base):
        (px, py), (end, _) = at(low, y), at(high, y)
        drawn.append(f'<path d="M{px:.1f} {py:.1f}H{end:.1f}" stroke="#ddd"/>')
        drawn.append(text(px - 6, py + 4, amount(value, y), anchor="end"))
    drawn.append(text(left + (LEFT + WIDTH - RIGHT) / 2, top + HEIGHT - 12, axis))
    labels = []
    for part, path, color, line in lines:
        places = [at(p[against], p[value]) for p in line]
        dash = ' stroke-dasharray="6 3"' if path == "explicit" else ""
        drawn.append(f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}" fill="none" stroke="{color}" '
                     f'stroke-width="2"{dash}/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{color}"/>' for x, y in places]
        power = slope(line, against, value)
        if power is not None:
            labels.append([places[-1][1] + 4, places[-1][0] + 6, f"n^{power:.2f}", color])
    # Labels that would lie on each other move apart.
    labels.sort()
    for above, below in zip(labels, labels[1:]):
        if abs(above[1] - below[1]) < 40:
            below[0] = max(below[0], above[0] + 12)
    return drawn + [text(x, y, words, 11, "start", color) for y, x, words, color in labels]


def image(points, heading):
    width, height = 2 * WIDTH, 2 * HEIGHT + 54
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>', text(LEFT, 22, heading, 14, "start")]
    x = LEFT
    for part, path, color in LINES:
        dash = ' stroke-dasharray="6 3"' if path == "explicit" else ""
        drawn.append(f'<path d="M{x} 40h28" stroke="{color}" stroke-width="2"{dash}/>')
        drawn.append(text(x + 34, 44, f"{part}, {path}", 12, "start"))
        x += 170
    for i, (against, value, title, axis) in enumerate(PANELS):
        drawn += panel(points, i % 2 * WIDTH, 54 + i // 2 * HEIGHT, against, value, title, axis)
    return "\n".join(drawn + ["</svg>"]) + "\n"


def table(points):
    print("| | length it reached | ms | slope of time | memory | slope of memory |\n|---|---|---|---|---|---|")
    for part, path, _ in LINES:
        line = series(points, "length", part, path)
        if not line:
            continue
        last = line[-1]
        time, memory = slope(line, "length", "ms"), slope(line, "length", "bytes")
        print(f'| {part}, {path} | {last["length"]:,} | {amount("ms", last["ms"])} | '
              f'{"" if time is None else f"{time:.2f}"} | {amount("bytes", last["bytes"])} | '
              f'{"" if memory is None else f"{memory:.2f}"} |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", help="what bench/scaling printed")
    parser.add_argument("--out", required=True, help="the SVG")
    parser.add_argument("--machine", default="", help="named in the image")
    options = parser.parse_args()
    with open(options.input, encoding="utf-8") as file:
        points = [json.loads(line) for line in file if line.startswith("{")]
    if not points:
        raise SystemExit(f"{options.input}: no points")
    machine = options.machine or points[0]["device"]
    heading = f"Forward + backward, {points[0]['dtype']}, {machine}; behind each line its slope over the last three points"
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(image(points, heading))
    table(points)


if __name__ == "__main__":
    main()
