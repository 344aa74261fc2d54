"""Our bf16 matrix products beside PyTorch's, at GPT-2's and Transformer base's shapes, on one GPU.

    python3 bench/cuda_gemm.py build-gpu/bench/cuda_kernels [--rounds 7]

The two take turns, product by product: under load the device lowers its clock to stay within its power, by more than
the two differ, so figures from different minutes cannot be compared. Prints microseconds (medians) and PyTorch's time
over ours, the median of the rounds and their range.
"""
import argparse
import statistics
import subprocess

import torch
import torch.nn.functional as F

SHAPES = [(65536, 768, 768), (65536, 2304, 768), (65536, 3072, 768), (65536, 768, 3072), (65536, 50304, 768),
          (32768, 512, 512), (32768, 2048, 512), (32768, 512, 2048), (8192, 8192, 8192)]


def seconds(body):
    """The median of five rounds of back-to-back calls, after a warm-up: as cuda_kernels measures."""
    body()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(calls):
        begin.record()
        for _ in range(calls):
            body()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / calls

    once = timed(1)
    timed(max(1, min(1000, int(0.05 / once))))  # lets the clock settle under the load
    calls = max(1, min(200, int(0.01 / once)))
    return statistics.median(timed(calls) for _ in range(5))


def products(m, n, k):
    """Those of cuda_kernels, in its order."""
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16) * 0.02
    dy = torch.randn(m, n, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(dy)
    bias = torch.randn(n, device="cuda", dtype=torch.bfloat16)
    return {
        "y = x Wt": lambda: torch.mm(x, w.t(), out=y),
        "y = x Wt + bias": lambda: F.linear(x, w, bias),
        "dx = dy W": lambda: dy @ w,
        "dW = dyt x, bf16": lambda: dy.t() @ x,
        "dW = dyt x, f32": lambda: torch.mm(dy.t(), x, out_dtype=torch.float32),
    }


class Ours:
    def __init__(self, program):
        try:
            self.process = subprocess.Popen([program, "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise SystemExit(f"cuda_gemm: {error}; build it with make gpu-test")

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"cuda_gemm: {self.process.args[0]} ended; what it said is above")
        return float(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="build-gpu/bench/cuda_kernels")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ours = Ours(options.program)
    print(f"{'m x n x k':20}{'product':20}{'ours us':>9}{'torch us':>9}{'TFLOP/s':>9}   torch / ours")
    for m, n, k in SHAPES:
        ours.ask(f"{m} {n} {k}")
        for i, (name, body) in enumerate(products(m, n, k).items()):
            ours.ask(str(i)), seconds(body)  # both have chosen their kernels, and the device is warm
            mine, theirs = [], []
            for turn in range(options.rounds):
                if turn % 2:
                    theirs.append(seconds(body))
                mine.append(ours.ask(str(i)))
                if not turn % 2:
                    theirs.append(seconds(body))
            ratios = [b / a for a, b in zip(mine, theirs)]
            median = statistics.median(mine)
            print(f"{f'{m} x {n} x {k}':20}{name:20}{median * 1e6:9.1f}{statistics.median(theirs) * 1e6:9.1f}"
                  f"{2 * m * n * k / median / 1e12:9.0f}   {statistics.median(ratios):.2f}"
                  f"  ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
