"""PyTorch's bf16 matrix products on the shapes of bench/cuda_kernels.cu, in TFLOP/s: the peer figure.

    python3 bench/cuda_gemm.py
"""
import statistics

import torch
import torch.nn.functional as F

SHAPES = [(65536, 768, 768), (65536, 2304, 768), (65536, 3072, 768), (65536, 768, 3072), (65536, 50304, 768),
          (32768, 512, 512), (32768, 2048, 512), (32768, 512, 2048), (8192, 8192, 8192)]


def seconds(body):
    """The median of five rounds of back-to-back calls, after a warm-up."""
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


def main():
    for m, n, k in SHAPES:
        x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16) * 0.02
        y = torch.randn(m, n, device="cuda", dtype=torch.bfloat16)
        bias = torch.randn(n, device="cuda", dtype=torch.bfloat16)
        flops = 2.0 * m * n * k
        products = {
            "y = x Wt": lambda: torch.mm(x, w.t(), out=y),
            "y = x Wt + bias": lambda: F.linear(x, w, bias),
            "dx = dy W": lambda: y @ w,
            "dW = dyt x": lambda: y.t() @ x,
            "dW = dyt x, in f32": lambda: torch.mm(y.t(), x, out_dtype=torch.float32),
        }
        for name, body in products.items():
            time = seconds(body)
            rate = flops / time / 1e12
            print(f"{m}x{n}x{k} {name}".ljust(58), f"{time * 1e6:9.1f} us {rate:7.0f} TFLOP/s", flush=True)
        del x, w, y


if __name__ == "__main__":
    main()
