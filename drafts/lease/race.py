# attend translate of before and of now, wall time without the start.
import pathlib, subprocess, sys, time
sys.path.insert(0, "bench")
old, new, lines = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).read_text().splitlines()
try:
    from transformer_base import VOCABULARY, write_base
    from translation_decoding import special_tokens
    special = special_tokens(pathlib.Path("models/en-fr"), VOCABULARY)
    write_base(pathlib.Path("models/en-fr"), pathlib.Path("/tmp/base"), [special["end"], *special["suppressed"]])
except Exception as error:
    print("no base:", repr(error))

def run(program, model, beams, batch, count):
    path = pathlib.Path("/tmp/in.txt")
    path.write_text("\n".join(lines[:count]) + "\n")
    begin = time.perf_counter()
    done = subprocess.run([program, "translate", "--model", model, "--beams", str(beams), "--batch", str(batch), "--device", "cuda", "--dtype", "bf16", str(path)],
                          capture_output=True, text=True)
    if done.returncode: return float("nan"), done.stderr[-300:]
    return time.perf_counter() - begin, done.stdout
for model, beams, batch, count in (("/tmp/base", 4, 1, 40), ("models/en-fr", 4, 1, 60), ("/tmp/base", 4, 64, 512), ("/tmp/base", 1, 16, 256), ("models/en-fr", 1, 64, 600)):
    row, texts = [], []
    for program in (old, new, old, new):
        start, _ = run(program, model, beams, batch, 1)
        t, text = run(program, model, beams, batch, count)
        row.append(t - start)
        texts.append(text)
    same = sum(a == b for a, b in zip(texts[0].splitlines(), texts[1].splitlines()))
    print(f"{model} beams {beams} batch {batch}: {count} lines, old {row[0]:.2f} {row[2]:.2f} new {row[1]:.2f} {row[3]:.2f} s; {same} of {len(texts[0].splitlines())} lines the same"
          + (texts[1] if row[1] != row[1] else ""), flush=True)
