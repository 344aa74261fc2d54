"""The peer of bench/cuda_attention.cu: torch's scaled_dot_product_attention with each backend, same shapes, events."""
import statistics
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = [  # B, H, T, D, causal
    (64, 12, 1024, 64, True), (16, 12, 4096, 64, True), (32, 12, 1024, 64, False), (64, 12, 128, 64, False),
    (256, 12, 197, 64, False), (32, 8, 1024, 128, True)]


def median_ms(body, repeats=20):
    for _ in range(3):
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


for batch, heads, length, width, causal in SHAPES:
    pairs = length * (length + 1) / 2 if causal else length * length
    flops = 4.0 * batch * heads * width * pairs
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        q, k, v = (torch.randn(batch, heads, length, width, device="cuda", dtype=torch.bfloat16, requires_grad=True)
                   for _ in range(3))
        dy = torch.randn_like(q)
        try:
            with sdpa_kernel(backend):
                forward = median_ms(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))
                y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                backward = median_ms(lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True))
        except RuntimeError as error:
            print(f"torch {backend.name}: {str(error).splitlines()[0]}")
            continue
        print(f"torch {backend.name:20s} B{batch} H{heads} T{length} D{width} {'causal' if causal else 'full':6s} "
              f"forward {forward:8.4f} ms {flops / forward * 1e-9:6.1f} TFLOP/s   backward {backward:8.4f} ms "
              f"{2.5 * flops / backward * 1e-9:6.1f} TFLOP/s   both {forward + backward:8.4f}", flush=True)
