"""Our attention kernels beside torch's scaled_dot_product_attention: the same shapes, in turns, on one GPU.

    python3 bench/cuda_attention.py build-gpu/bench/cuda_attention [--preset all|long] [--window W] [--ways]

The two take turns, as in cuda_gemm.py: under load the device lowers its clock by more than they differ. Milliseconds,
medians of the rounds; bf16; torch's figure is the backend whose forward and backward together are fastest. torch has no
window: beside a windowed shape stand torch's full attention and ours. --ways times each of our kernels that can do it.
"""
import argparse
import statistics
import subprocess

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = {  # B, H, T, D, causal, window, and how many keys are global, anywhere (ops/global_attention.h)
    "all": [(64, 12, 1024, 64, 1, -1), (16, 12, 4096, 64, 1, -1), (32, 12, 1024, 64, 0, -1), (64, 12, 128, 64, 0, -1),
            (256, 12, 197, 64, 0, -1), (32, 8, 1024, 128, 1, -1)],
    "long": [(16, 12, 4096, 64, 1, -1), (32, 8, 1024, 128, 1, -1), (4, 16, 16384, 64, 1, -1),
             (4, 16, 16384, 64, 1, 512), (4, 16, 16384, 64, 0, -1), (4, 16, 16384, 64, 0, 256),
             (4, 16, 16384, 64, 0, 256, 64)],
}
PARTS = ("forward", "backward", "both")
WAYS = ("stream", "groups", "keys", "tiled")


def median_ms(body, repeats=5):
    for _ in range(2):
        body()
    times = []
    for _ in range(repeats):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        body()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return statistics.median(times)


class Ours:
    def __init__(self, program):
        try:
            self.process = subprocess.Popen([program, "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise SystemExit(f"cuda_attention: {error}; build it with make gpu-test")

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        answer = self.process.stdout.readline()
        try:
            return float(answer)
        except ValueError:
            raise SystemExit(f"cuda_attention: {self.process.args[0]} ended: {answer}")


class Torch:
    def __init__(self, batch, heads, length, width, causal):
        self.q, self.k, self.v = (torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16,
                                              requires_grad=True) for _ in range(3))
        self.dy, self.causal = torch.randn_like(self.q), bool(causal)
        self.backend, best = None, float("inf")
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
            try:
                with sdpa_kernel(backend):
                    found = median_ms(self.both, 3)
            except RuntimeError as error:
                print(f"torch {backend.name}: {str(error).splitlines()[0]}")
                continue
            if found < best:
                self.backend, best = backend, found
        with sdpa_kernel(self.backend):
            self.y = self.forward()

    def forward(self):
        return torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=self.causal)

    def backward(self):
        torch.autograd.grad(self.y, (self.q, self.k, self.v), self.dy, retain_graph=True)

    def both(self):
        torch.autograd.grad(self.forward(), (self.q, self.k, self.v), self.dy)

    def ms(self, part):
        with sdpa_kernel(self.backend):
            return median_ms(getattr(self, part))


def name_of(batch, heads, length, width, causal, window, globals_=0):
    return (f"B{batch} H{heads} T{length} D{width}{' causal' if causal else ''}"
            + (f" window {window}" if window >= 0 else "") + (f" globals {globals_}" if globals_ else ""))


def compare(ours, shape, rounds):
    ours.ask(" ".join(map(str, shape)))
    torch_side = Torch(*shape[:5])
    mine, theirs = {part: [] for part in PARTS}, {part: [] for part in PARTS}
    for turn in range(rounds):
        for part in PARTS:
            if turn % 2:
                theirs[part].append(torch_side.ms(part))
            mine[part].append(ours.ask(part))
            if not turn % 2:
                theirs[part].append(torch_side.ms(part))
    columns = []
    for part in PARTS:
        a, b = statistics.median(mine[part]), statistics.median(theirs[part])
        columns.append(f"{part} {a:8.3f} /{b:8.3f} = {a / b:5.3f}")
    print(f"{name_of(*shape):38s} {'   '.join(columns)}   torch {torch_side.backend.name}", flush=True)
    return statistics.median(mine["both"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build-gpu/bench/cuda_attention")
    parser.add_argument("--preset", choices=sorted(SHAPES), default="all")
    parser.add_argument("--window", type=int, default=-1, help="each shape again, looking only so far back")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", action="store_true")
    options = parser.parse_args()
    ours, full = Ours(options.program), {}
    shapes = list(SHAPES[options.preset])
    if options.window >= 0:
        shapes += [shape[:5] + (options.window,) for shape in shapes if shape[5] < 0]
    print("milliseconds, ours / torch's = share")
    for shape in shapes:
        found = compare(ours, shape, options.rounds)
        if shape[5] < 0:
            full[shape[:5]] = found
        elif shape[:5] in full:
            print(f"{name_of(*shape):38s} {found / full[shape[:5]]:.3f} of our full attention", flush=True)
        if options.ways:
            ways = {way: ours.ask(way) for way in WAYS
                    if not (way in ("groups", "tiled") and (shape[3] > 64 or shape[5] >= 0))}
            print("    " + "   ".join(f"{way} {ms:.3f}" for way, ms in ways.items()), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
