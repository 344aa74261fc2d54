#!/usr/bin/env python3
"""Networks of one's own: the same Transformer encoder classifier in our C++, in our Python and in torch eager.

    ninja -C build bench_layers attend_python attend_shared
    bench/layers.py build [--devices cpu cuda] [--rounds 5] [--cores 2] [--json FILE] [--without-torch]

Five parts: lines of user code; the losses of 20 steps from the same weights; the time of a training step (AdamW, clipped
gradients, batches from the host), as rounds that alternate, on two cores and on a GPU; what a call of a small op costs in Python
beyond C++, and `import attend` beyond NumPy; and by how much the exported layers make libattend.so larger. A part that
fails says why, and the others go on. Our Python and torch may belong to different interpreters: each is looked for. Our Python
opens a GPU by a plugin: configure with -DATTEND_CUDA=PLUGIN.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {"C++": HERE / "support/encoder_classifier.h", "Python": HERE / "encoder_classifier.py",
            "torch": HERE / "peers/torch_encoder_classifier.py"}
SIZES = {  # steps: of each of the three timed blocks of a round
    "small": dict(words=1000, length=32, width=64, heads=4, layers=2, batch=32, steps=20),
    "base": dict(words=8000, length=128, width=256, heads=4, layers=4, batch=8, steps=4),
    "large": dict(words=32000, length=128, width=512, heads=8, layers=6, batch=32, steps=10),
}
LOSSES, BLOCKS = 20, 3


def batches(size):
    """LOSSES pairs of ids and labels, as make_batches() of bench/layers.cpp."""
    import numpy as np
    state, made = 1, []
    for _ in range(LOSSES):
        ids = np.empty((size["batch"], size["length"]), np.int64)
        for place in np.ndindex(ids.shape):
            state = (state * 1664525 + 1013904223) % 2**32
            ids[place] = (state >> 8) % size["words"]
        made.append((ids, ids[:, -1] & 1))
    return made


def model_sizes(size):
    return [size[key] for key in ("words", "length", "width", "heads", "layers")]


def watch(step, size):
    """Losses of the first steps, then the milliseconds of a step in each block. step(batch) returns the loss."""
    made = batches(size)
    losses = [float(step(*batch).item()) for batch in made]
    ms, count = [], size["steps"]
    for block in range(BLOCKS):
        start = time.perf_counter()
        for i in range(count):
            loss = step(*made[(block * count + i) % len(made)])
        loss.item()  # waits for the device
        ms.append(1e3 * (time.perf_counter() - start) / count)
    return {"losses": losses, "ms": ms}


def work_attend(size, device, threads, weights, dtype):
    import attend
    import encoder_classifier as program
    place = attend.Device(device, threads)
    model = program.Classifier(*model_sizes(size))
    parameters = model.parameters(place, **({} if dtype == "float32" else {"dtype": "bf16"}))
    parameters.load(weights)
    optimizer, tape = attend.optim.AdamW(parameters, rate=1e-3, clip_norm=1), attend.Tape(place)
    return watch(lambda ids, labels: program.train(
        model, optimizer, tape.input(attend.tensor(ids, place)), attend.tensor(labels, place)), size)


def work_torch(size, device, threads, weights, dtype):
    import numpy as np
    import torch
    sys.path.insert(0, str(HERE / "peers"))
    import torch_encoder_classifier as program
    torch.set_num_threads(threads)
    model = program.Classifier(*model_sizes(size))
    state = np.load(pathlib.Path(weights).with_suffix(".npz"))
    model.load_state_dict({name: torch.from_numpy(state[name]) for name in state.files})
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0)

    def step(ids, labels):
        with contextlib.nullcontext() if dtype == "float32" else torch.autocast(device, getattr(torch, dtype)):
            return program.train(model, optimizer, torch.as_tensor(ids, device=device), torch.as_tensor(labels, device=device))
    return watch(step, size)


def work_weights(size, weights):
    """The initial weights for all three, as safetensors for ours and as NumPy's file for torch."""
    import numpy as np
    import encoder_classifier as program
    model = program.Classifier(*model_sizes(size))
    model.parameters()
    model.save(weights)
    np.savez(pathlib.Path(weights).with_suffix(".npz"), **model.state_dict())
    return {}


def work_calls(count):
    import attend
    import numpy as np
    from attend import ops
    x, weight = attend.tensor(np.ones((4, 8), np.float32)), attend.tensor(np.ones((8, 8), np.float32))

    def least(call, *inputs):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(count):
                call(*inputs)
            times.append(1e6 * (time.perf_counter() - start) / count)
        return min(times)
    return {"calls": {"add": least(ops.add, x, x), "softmax": least(ops.softmax, x), "linear": least(ops.linear, x, weight)}}


def work_import():
    import numpy  # noqa: F401, its time is not ours
    start = time.perf_counter()
    import attend  # noqa: F401
    return {"seconds": time.perf_counter() - start}


WORK = {"attend": work_attend, "torch": work_torch, "weights": work_weights, "calls": work_calls, "import": work_import}


class Failed(Exception):
    pass


def printed_json(command, environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
        raise Failed(f"{pathlib.Path(str(command[0])).name}: {lines[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


class Machine:
    """The programs of a build folder, and the interpreters that have our module and torch."""

    def __init__(self, options):
        self.build, self.threads = options.build.resolve(), options.cores
        self.environment = {**os.environ, "PYTHONPATH": str(self.build / "python"), "OMP_NUM_THREADS": str(options.cores)}
        if (plugin := self.build.resolve() / "libattend_cuda.so").exists():
            self.environment["ATTEND_CUDA_PLUGIN"] = str(plugin)
        self.ours, self.torch = self.find("attend"), None if options.without_torch else self.find("torch")

    def find(self, module):
        for path in dict.fromkeys([sys.executable, "/usr/bin/python3", shutil.which("python3")]):
            if path and not subprocess.run([path, "-c", f"import {module}"], capture_output=True, env=self.environment).returncode:
                return path
        print(f"no interpreter here imports {module}")
        return None

    def work(self, python, name, **arguments):
        if python is None:
            raise Failed("no interpreter")
        return printed_json([python, HERE / "layers.py", "--work", name, json.dumps(arguments)], self.environment)

    def program(self, *switches, **flags):
        words = [*switches] + [word for name, value in flags.items() for word in (f"--{name}", value)]
        return printed_json([self.build / "bench/layers", *words], self.environment)


def two_of_different_cores(count):
    """This process and those it starts use `count` processors, none of them a second thread of another's core."""
    cores = {}
    for processor in sorted(os.sched_getaffinity(0)):
        try:
            siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list").read_text()
        except OSError:
            siblings = str(processor)
        cores.setdefault(siblings, processor)
    chosen = set(list(cores.values())[:count])
    os.sched_setaffinity(0, chosen)
    return sorted(chosen)


def code_lines(path):
    """Lines that are neither blank nor a comment nor a docstring."""
    text = path.read_text()
    text = re.sub(r'"""(.|\n)*?"""', "", text)
    return sum(bool(line.strip()) and not line.strip().startswith(("//", "#pragma", "# ")) for line in text.splitlines())


def compare_lines(machine, options):
    found = {name: code_lines(path) for name, path in PROGRAMS.items()}
    for name, lines in found.items():
        print(f"  {name:8} {lines:3} lines, {lines / found['torch']:.2f} times torch's" + (" (bar 1.2)" if name != "torch" else ""))
    return found


def compare_steps(machine, options, name, device, dtype):
    """One row of the table: three runners in rounds that alternate; the first round is for the losses and to warm up."""
    size = SIZES[name]
    with tempfile.TemporaryDirectory() as folder:
        weights = f"{folder}/weights.safetensors"
        machine.work(machine.ours, "weights", size=size, weights=weights)
        shared = dict(size=size, device=device, threads=machine.threads, weights=weights, dtype=dtype)
        flags = {**size, "device": device, "threads": machine.threads, "weights": weights, "losses": LOSSES, "blocks": BLOCKS}
        runners = {
            "C++": lambda: machine.program(*["--bf16"] * (dtype == "bfloat16"), **flags),
            "Python": lambda: machine.work(machine.ours, "attend", **shared),
            "torch": lambda: machine.work(machine.torch, "torch", **shared)}
        if options.without_torch:
            runners.pop("torch")
        losses, times = {}, {}
        for turn in range(options.rounds + 1):
            for runner in list(runners):
                try:
                    result = runners[runner]()
                except (Failed, ValueError, OSError) as error:
                    print(f"  {name:6} {device:5} {dtype:9} {runner}: {error}", flush=True)
                    del runners[runner]
                    continue
                if turn == 0:
                    losses[runner] = result["losses"]
                else:
                    times.setdefault(runner, []).append(statistics.median(result["ms"]))
    medians = {runner: statistics.median(values) for runner, values in times.items()}
    reference = losses.get("torch") or losses.get("C++") or []
    gaps = {runner: max(abs(a - b) for a, b in zip(values, reference)) for runner, values in losses.items()}
    row = f"  {name:6} {device:5} {dtype:9}"
    for runner in ("C++", "Python", "torch"):
        row += f" {medians[runner]:9.3f}" if runner in medians else f" {'-':>9}"
    for runner in ("C++", "Python"):
        row += f" {medians['torch'] / medians[runner]:7.2f}x" if runner in medians and "torch" in medians else f" {'-':>8}"
    row += f" {max(gaps.values(), default=float('nan')):9.1e}"
    print(row, flush=True)
    return {"size": name, "device": device, "dtype": dtype, "ms": medians, "rounds": times, "losses": losses, "largest_gap": gaps}


def compare_all_steps(machine, options):
    print("  milliseconds of a training step, medians of the rounds; how many times faster than torch; largest gap of 20 losses (bar 1e-4 in f32)")
    print(f"  {'size':6} {'on':5} {'in':9} {'C++':>9} {'Python':>9} {'torch':>9} {'C++':>8} {'Python':>8} {'gap':>9}")
    rows = []
    for device in options.devices:
        for name in options.sizes or (["small", "base"] if device == "cpu" else ["small", "base", "large"]):
            for dtype in ["float32"] + (["bfloat16"] if device != "cpu" else []):
                rows.append(compare_steps(machine, options, name, device, dtype))
    return rows


def compare_calls(machine, options):
    count, cpp, python = 20000, {}, {}
    for _ in range(3):
        for found, result in ((cpp, machine.program(calls=count, threads=1)), (python, machine.work(machine.ours, "calls", count=count))):
            for op, time_of in result["calls"].items():
                found[op] = min(time_of, found.get(op, time_of))
    for op in cpp:
        print(f"  {op:8} C++ {cpp[op]:6.2f} µs, Python {python[op]:6.2f} µs, beyond {python[op] - cpp[op]:6.2f} µs (bar 5)")
    return {"C++": cpp, "Python": python}


def compare_import(machine, options):
    seconds = [machine.work(machine.ours, "import")["seconds"] for _ in range(11)]
    print(f"  import attend beyond NumPy: {statistics.median(seconds):.4f} s, {min(seconds):.4f} to {max(seconds):.4f} (bar 0.15)")
    return statistics.median(seconds)


def compare_library(machine, options):
    """libattend.so linked once more, without attend::layers in the list of exports: the linker drops what nobody calls."""
    library = next(path for path in machine.build.glob("libattend.so*") if not path.is_symlink())
    commands = subprocess.run(["ninja", "-C", machine.build, "-t", "commands", library.name], capture_output=True, text=True, check=True).stdout
    link = next(line for line in reversed(commands.splitlines()) if f"-o {library.name}" in line)
    exports = re.search(r"--version-script=(\S+)", link)[1]
    with tempfile.TemporaryDirectory() as folder:
        fewer, small = pathlib.Path(folder, "exports.map"), pathlib.Path(folder, "libattend.so")
        text = pathlib.Path(machine.build, exports).read_text()
        fewer.write_text("".join(line for line in text.splitlines(True) if "attend::layers::" not in line))
        command = next(part for part in link.split("&&") if f"-o {library.name}" in part)
        subprocess.run(command.replace(exports, str(fewer)).replace(f"-o {library.name}", f"-o {small}"), shell=True, check=True,
                       cwd=machine.build, capture_output=True)
        whole = pathlib.Path(folder, "whole.so")
        subprocess.run(["strip", "-o", whole, library], check=True)
        subprocess.run(["strip", small], check=True)
        sizes = {"with": whole.stat().st_size, "without": small.stat().st_size}
    print(f"  libattend.so, stripped: {sizes['with'] / 1e6:.2f} MB, without layers {sizes['without'] / 1e6:.2f} MB: "
          f"{100 * (sizes['with'] / sizes['without'] - 1):+.1f} % (bar 15)")
    return sizes


PARTS = {"lines": compare_lines, "steps": compare_all_steps, "calls": compare_calls, "import": compare_import, "library": compare_library}


def main():
    if sys.argv[1:2] == ["--work"]:  # in a process of its own
        print(json.dumps(WORK[sys.argv[2]](**json.loads(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--devices", nargs="+", default=["cpu", "cuda"])
    parser.add_argument("--sizes", nargs="+", choices=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    print(f"processors {two_of_different_cores(options.cores)}, {options.rounds} rounds")
    machine, results = Machine(options), {}
    for name in options.parts:
        print(f"{name}:", flush=True)
        try:
            results[name] = PARTS[name](machine, options)
        except Exception as error:  # the other parts go on
            print(f"  {type(error).__name__}: {error}", flush=True)
            results[name] = {"error": str(error)}
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
