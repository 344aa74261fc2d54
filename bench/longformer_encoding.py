#!/usr/bin/env python3
"""Longformer-base reading texts of 4,096 tokens with global tokens anywhere: ours beside transformers, same weights,
interleaved, in one run.

    ninja -C build bench_bert_encoding
    bench/longformer_encoding.py build/bench/bert_encoding --device cuda [--batches 1 8] [--globals 32] [--rounds 5]

Weights are random, written once to --folder by transformers, whose answer in f32 on the same device is what both are compared with (the
largest difference of a state, relative to the largest state). bf16 on a GPU; the peer is transformers, eager and compiled. On
the CPU f32, and eager alone.
"""
import argparse
import pathlib

import torch

from bert_encoding import HIDDEN, LAYERS, WIDTH, Ours, timed
from side_by_side import Apart, Cpu, Gpu, Group, Measure


class Transformers:
    def __init__(self, folder, device, dtype, compiled):
        from transformers import LongformerModel
        torch.set_grad_enabled(False)
        self.device = device
        self.model = LongformerModel.from_pretrained(folder, add_pooling_layer=False).to(dtype).to(device).eval()
        if compiled:
            self.model = torch.compile(self.model)

    def run(self, ids, globals_, reps):
        ids, globals_ = ids.to(self.device), globals_.to(self.device)
        return timed(lambda ids: self.model(ids, torch.ones_like(ids), globals_).last_hidden_state, ids, reps)


class OursMarked(Ours):
    def run(self, ids, _, reps):
        return self.read(*ids.shape, reps)


def write_model(folder):
    from transformers import LongformerConfig, LongformerForMaskedLM
    torch.manual_seed(1)
    LongformerForMaskedLM(LongformerConfig(vocab_size=50265, max_position_embeddings=4098, type_vocab_size=1, pad_token_id=1,
                                           bos_token_id=0, eos_token_id=2, attention_window=512,
                                           layer_norm_eps=1e-5)).save_pretrained(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/attend-longformer-bench"))
    parser.add_argument("--threads", type=int, default=2, help="CPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--globals", type=int, default=32)
    parser.add_argument("--batches", type=int, nargs="+", help="1 and 8 on a GPU, 1 on the CPU")
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    torch.set_num_threads(options.threads)
    gpu = options.device != "cpu"
    if not (options.folder / "model.safetensors").exists():
        write_model(options.folder)
    marked = ("--globals", options.globals)
    ours = OursMarked(options, *(("--dtype", "bf16") if gpu else ("--threads", options.threads)), *marked)
    dtype = torch.bfloat16 if gpu else torch.float32
    peers = [Apart(f"transformers {how}", Transformers, options.folder, options.device, dtype, how == "compiled")
             for how in (("eager", "compiled") if gpu else ("eager",))]
    group = Group([ours, *peers], Gpu() if gpu else Cpu(options, "f32"))
    exact_model = Apart("exact", Transformers, options.folder, options.device, torch.float32, False)
    for batch in options.batches or ([1, 8] if gpu else [1]):
        read = ours.read(batch, options.length, 0)
        ids, globals_ = read["ids"], read["globals"]
        exact = torch.as_tensor(exact_model.run(ids, globals_, 0)["states"])

        def error(result, _):
            off = float((torch.as_tensor(result["states"]) - exact).abs().max() / exact.abs().max())
            if not off < 0.1:
                raise SystemExit(f"states are off by {off:.1e}: the two sides do not compute the same")
            return f"off by {off:.1e}"
        reads = 6 * WIDTH**2 + 2 * WIDTH * HIDDEN + 2 * WIDTH * (513 + options.globals)  # of each token
        operations = 2 * LAYERS * (ids.numel() * reads + 2 * batch * options.globals * options.length * WIDTH)
        print(f"{batch} x {options.length} tokens, {options.globals} of each global, {'bf16' if gpu else 'f32'}, torch "
              f"{torch.__version__}; medians of {options.rounds} rounds")
        time_ = Measure("seconds", lambda s: f"{1e3 * s:8.2f} ms", lambda machine, _: operations / machine.operations)
        group.compare(options.rounds, [time_], error, ids, globals_, 10 if gpu else 2)


if __name__ == "__main__":
    main()
