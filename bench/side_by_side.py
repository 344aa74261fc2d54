"""Ours and its peers side by side: who takes part, the rounds, the machine's roofs, and the table.

One that takes part has a `name` and a `run(*work)` that gives a dict: seconds (a list under each measure's key), results to
compare, and `peak_mb`, the largest memory of the process that did the work. It is a program started anew in every round, or
a Python object in a process of its own (Apart), so that everyone's memory is their own.
"""
import ctypes
import dataclasses
import json
import mmap
import multiprocessing
import pathlib
import statistics
import struct
import subprocess
import traceback

import torch

from gpu_steps import WatchedMemory, copy_rate, matrix_rate

DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "I64": torch.int64}


def read_safetensors(path):
    """name -> tensor; pages of the file, not a copy of it."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)

    def tensor(entry):
        dtype, (begin, end) = DTYPES[entry["dtype"]], entry["data_offsets"]
        width = torch.empty(0, dtype=dtype).element_size()
        values = torch.frombuffer(data, dtype=dtype, count=(end - begin) // width, offset=8 + size + begin)
        return values.reshape(entry["shape"])
    return {name: tensor(entry) for name, entry in header.items()}


def bytes_of(tensor):
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def write_safetensors(path, tensors):
    """name -> tensor, all of f32."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(bytes_of(tensor))


def run_program(*command, ids=()):
    """What a program prints, a JSON object, when it is given ids."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, input=" ".join(map(str, ids)))
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def linked(path, folder, compile_into):
    """A peer's program: the path itself, or what compile_into(program) makes of the folder that it names."""
    if not path.exists():
        raise SystemExit(f"{path}: there is no such program or folder")
    if not path.is_dir():
        return path.resolve()
    program = folder / compile_into.__name__
    if not program.exists():
        compile_into(path.resolve(), program)
    return program


class Unable(Exception):
    """A peer that this machine, or the version of it here, does not do the work with."""


class Apart:
    """An object of Python in a process of its own, made there when it is first asked to run. One that fails, or takes more than
    `patience` seconds, is Unable: the others go on without it."""
    patience = 600

    def __init__(self, name, make, *arguments):
        self.name, self.make, self.arguments, self.pipe = name, make, arguments, None

    def run(self, *work):
        if self.pipe is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other, self.make, self.arguments), daemon=True)
            self.process.start()
            other.close()
        result = self.answer(work)
        if isinstance(result, Unable):
            self.end()
            raise result
        return result

    def answer(self, work):
        try:
            self.pipe.send(work)
            return self.pipe.recv() if self.pipe.poll(self.patience) else Unable(f"no result after {self.patience} s")
        except (EOFError, OSError):
            return Unable("its process ended")

    def end(self):
        self.pipe.close()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
        self.pipe = None


def serve(pipe, make, arguments):
    torch.set_grad_enabled(False)
    runner = None
    while True:
        try:
            work = pipe.recv()
        except EOFError:
            return
        try:
            runner = runner or make(*arguments)
            result = runner.run(*work)
        except Exception as error:  # where torch has no kernel, a package is missing, or nothing compiles
            traceback.print_exc()
            pipe.send(Unable(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"))
            continue
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        result["peak_mb"] = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
        pipe.send({key: value.float().cpu().numpy() if torch.is_tensor(value) else value for key, value in result.items()})


def ours_in(form):
    """Our flags for a form of weights. bf16x3 keeps them as f32, and its peers are those of f32: see peers_in."""
    return ("--weights", "f32", "--dtype", "bf16x3") if form == "bf16x3" else ("--weights", form)


def peers_in(form):
    return "f32" if form == "bf16x3" else form


class Cpu:
    """The cores: operations and bytes of weights per second at best, in one form of weights."""
    unit = "the largest resident memory"

    def __init__(self, options, weights):
        self.program = pathlib.Path(options.program).with_name("cpu_roof")
        if not self.program.exists():
            raise SystemExit(f"there is no {self.program}: ninja -C build bench_cpu_roof")
        self.flags = ["--threads", options.threads, "--weights", weights]
        self.operations = self.bytes = 0

    def measure(self, megabytes):
        now = run_program(self.program, *self.flags, "--megabytes", megabytes)
        self.operations, self.bytes = max(self.operations, now["operations"]), max(self.bytes, now["bytes"])

    def watched(self, run, *work):
        return run(*work)


class Gpu:
    """A GPU in bf16. Processes do not see their memory there: nvidia-smi is asked while a new one runs."""
    unit = "the most memory of the GPU, its driver's share included"

    def __init__(self):
        self.operations = self.bytes = 0

    def measure(self, megabytes):
        if not self.operations:
            self.operations, self.bytes = matrix_rate(), copy_rate()

    def watched(self, run, *work):
        with WatchedMemory() as memory:
            result = run(*work)
        return {**result, "peak_mb": memory.peak_bytes / 1e6}


@dataclasses.dataclass
class Measure:
    """Of what a run gives: the seconds under a key, how they are written, and what they would be at the roof."""
    key: str
    text: "a function of seconds"
    floor: "a function of the machine and of megabytes of weights"


@dataclasses.dataclass
class Group:
    """Ours first, then its peers of the same precision, and the machine they run on."""
    runners: list
    machine: object

    def interleave(self, rounds, *work):
        """name -> what its rounds gave; a first round warms up and tells the memory."""
        peaks, able = {}, []
        for runner in self.runners:
            try:
                peaks[runner.name] = self.machine.watched(runner.run, *work)["peak_mb"]
                able.append(runner)
            except Unable as error:
                print(f"  {runner.name:22} cannot here: {error}", flush=True)
        results = {runner.name: [] for runner in able}
        for _ in range(rounds):
            for runner in list(able):
                try:
                    results[runner.name].append(runner.run(*work))
                except Unable as error:
                    print(f"  {runner.name:22} failed later: {error}", flush=True)
                    able.remove(runner)
                    del results[runner.name]
            self.machine.measure(results[self.runners[0].name][0]["weights_mb"])
        for runner in able:
            if isinstance(runner, Apart):
                runner.end()
        return results, peaks

    def compare(self, rounds, measures, remark, *work):
        """Runs and prints the table; remark: a function of a run's results and of ours."""
        results, peaks = self.interleave(rounds, *work)
        ours = results[self.runners[0].name]
        print(f"  the roof here: {1e-9 * self.machine.operations:.0f} G operations/s, {1e-9 * self.machine.bytes:.1f} GB/s; "
              f"{ours[0]['weights_mb']:.0f} MB of weights; last, {self.machine.unit}")
        for name, rounds_ in results.items():
            line = f"  {name:22} {remark(rounds_[0], ours[0])}"
            for measure in measures:
                mine, times = ([statistics.median(result[measure.key]) for result in each] for each in (ours, rounds_))
                middle, floor = statistics.median(times), measure.floor(self.machine, ours[0]["weights_mb"])
                spread = 50 * (max(times) - min(times)) / middle
                line += (f"  {measure.text(middle)} +-{spread:3.0f} %, {100 * floor / middle:3.0f} % of the roof, "
                         f"ours x{middle / statistics.median(mine):5.2f}")
            print(f"{line}  {peaks[name]:5.0f} MB", flush=True)
