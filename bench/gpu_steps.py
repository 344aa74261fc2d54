"""What the comparisons on a GPU share: timing torch's side, the machine's rates, its memory, and a training step's table."""
import statistics
import subprocess
import threading
import time

import torch


def torch_times(step, reps):
    times = []
    for _ in range(reps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def matrix_rate():
    """FLOP/s of a bf16 product of 8192 x 8192 x 8192 when the machine is warm: the roof of a training step."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    times = torch_times(lambda: a @ b, 60)
    return 2 * 8192**3 / (1e-3 * statistics.median(times[20:]))


def copy_rate():
    """Bytes/s of copying 2 GiB, what is read and what is written counted: the roof of reading weights."""
    a = torch.zeros(2**29, device="cuda")
    b = torch.empty_like(a)
    times = torch_times(lambda: b.copy_(a), 30)
    return 2 * a.numel() * a.element_size() / (1e-3 * statistics.median(times[10:]))


class WatchedMemory:
    """The most memory of the GPU that nvidia-smi sees within the block, above what was used before it."""

    def __enter__(self):
        self.before, self.peak_bytes, self.done = self.used(), 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.watcher.join()

    def watch(self):
        while not self.done.wait(0.1):
            self.peak_bytes = max(self.peak_bytes, self.used() - self.before)

    @staticmethod
    def used():
        query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        return 2**20 * int(subprocess.run(query, capture_output=True, text=True).stdout.split()[0])


def print_table(times, tokens, flops):
    """times: name -> medians of the rounds in ms, "ours" among them; tokens and FLOPs of a step."""
    roof, ours = matrix_rate(), statistics.median(times["ours"])
    print(f"the roof: {1e-12 * roof:.0f} TFLOP/s (8192 x 8192 x 8192, bf16); a step does {1e-12 * flops:.1f} TFLOP")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:>15}: {middle:7.2f} ms  {1e-3 * tokens / middle:6.3f} M tokens/s  {100 * flops / (1e-3 * middle) / roof:3.0f} % of the roof  "
              f"spread {min(values):.2f} to {max(values):.2f}  ours is {middle / ours:.2f}x")
