"""torch as a peer of gpt2_generation.py, as fast as it is known to decode: a static cache of keys and values, whose shapes never
change, and a step that is launched as one CUDA graph.

Everything that a step reads and writes stays on the device: the newest tokens [B, 1], their position [1], keys and values, and the
tokens written so far [B, room]. It attends to the whole cache under a mask, chooses the likeliest token and moves on, so the host
only launches it, and never waits. Three ways to make that step:

    eager            torch's own kernels, captured as a CUDA graph
    reduce-overhead  torch.compile, which fuses kernels and captures them itself
    max-autotune     torch.compile that tries out kernels (one row: products become fused reductions), captured as a CUDA graph

The prompt is read by torch's own kernels, captured too. On the CPU there are no graphs, and `default` compiles the step.
"""
import json
import math
import time

import torch
from torch.nn import functional as F

from side_by_side import read_safetensors


class GPT2(torch.nn.Module):
    """The weights of a folder. A class made of it keeps the keys and values: attend(layer, q, k, v, where)."""

    def __init__(self, folder, device, dtype):
        super().__init__()
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads, self.width = config["n_layer"], config["n_head"], config["n_embd"]
        self.vocabulary, self.longest = config["vocab_size"], config["n_positions"]
        for name, array in read_safetensors(folder / "model.safetensors").items():
            name = name.removeprefix("transformer.")
            weight = array.t() if name.startswith("h.") and array.ndim == 2 else array  # [in, out] in the file
            if name == "wte.weight":  # whole tiles: products with an odd number of columns are slow
                weight = F.pad(weight, (0, 0, 0, -self.vocabulary % 64))
            self.register_buffer(name.replace(".", "_"), weight.to(device, dtype).contiguous())

    def state(self, name, *shape, of=torch.long):
        self.register_buffer(name, torch.zeros(shape, device=self.wte_weight.device, dtype=of))

    def caches(self, rows, room):
        for i in range(self.layers):
            for part in ("keys", "values"):
                self.state(f"{part}_{i}", rows, self.heads, room, self.width // self.heads, of=self.wte_weight.dtype)
        self.register_buffer("places", torch.arange(room, device=self.wte_weight.device))

    def norm(self, x, name):
        return F.layer_norm(x, (self.width,), getattr(self, name + "_weight"), getattr(self, name + "_bias"))

    def linear(self, x, name):
        weight, bias = getattr(self, name + "_weight"), getattr(self, name + "_bias")
        if torch.compiler.is_compiling():  # a sum by itself can be fused with what follows
            return F.linear(x, weight) + bias
        return F.linear(x, weight, bias)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.width // self.heads).transpose(1, 2)

    def states(self, ids, positions, where):
        """ids [B, T] at positions [T] or [B, T] -> [B, T, C]; where: what attend() is to know."""
        x = self.wte_weight[ids] + self.wpe_weight[positions]
        for i in range(self.layers):
            q, k, v = self.linear(self.norm(x, f"h_{i}_ln_1"), f"h_{i}_attn_c_attn").split(self.width, -1)
            mixed = self.attend(i, self.split(q), self.split(k), self.split(v), where)
            x = x + self.linear(mixed.transpose(1, 2).reshape(x.shape), f"h_{i}_attn_c_proj")
            hidden = F.gelu(self.linear(self.norm(x, f"h_{i}_ln_2"), f"h_{i}_mlp_c_fc"), approximate="tanh")
            x = x + self.linear(hidden, f"h_{i}_mlp_c_proj")
        return x

    def logits(self, x):
        """[B, C] -> [B, V]."""
        return F.linear(self.norm(x, "ln_f"), self.wte_weight)[:, :self.vocabulary]


class StaticGPT2(GPT2):
    """Prompts of one length, and the tokens after them."""

    def __init__(self, folder, device, dtype, batch, length, tokens):
        super().__init__(folder, device, dtype)
        room = math.ceil((length + tokens) / 16) * 16
        self.length = length
        self.caches(batch, room)
        self.state("prompt", batch, length)
        self.state("first_logits", batch, self.vocabulary, of=dtype)
        self.state("newest", batch, 1)
        self.state("position", 1)
        self.state("written", batch, room)

    def attend(self, i, q, k, v, where):
        positions, mask = where  # [T], [T, room]
        keys, values = getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")
        keys[:, :, positions] = k
        values[:, :, positions] = v
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

    def forward(self, ids, positions):
        """ids [B, T] at positions [T] -> logits of the token after the last [B, V]."""
        mask = self.places[None, :] <= positions[:, None]
        return self.logits(self.states(ids, positions, (positions, mask))[:, -1])

    def choose(self, logits):
        self.newest.copy_(logits.argmax(-1, keepdim=True))
        self.position.add_(1)
        self.written[:, self.position] = self.newest

    def read(self):
        """The prompts, and the first token after them."""
        logits = self(self.prompt, self.places[:self.length])
        self.first_logits.copy_(logits)
        self.position.fill_(self.length - 1)
        self.choose(logits)

    def step(self):
        self.choose(self(self.newest, self.position))


def captured(function):
    """The function as one CUDA graph: called until nothing is left to compile or to set up, then recorded."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay


def made(step, how):
    """A step that is ready to be called; it is called a few times."""
    if how == "eager":
        return captured(step)
    if how == "max-autotune":
        from torch._inductor import config
        config.autotune_num_choices_displayed = 0
        return captured(torch.compile(step, mode="max-autotune-no-cudagraphs", fullgraph=True))
    compiled = torch.compile(step, mode=how, fullgraph=True)
    for _ in range(4):  # compiles, then records the graph, then replays it
        compiled()
    return compiled


class Static:
    """One step for each batch and length, kept from run to run."""

    def __init__(self, options, dtype, how):
        self.folder, self.device, self.dtype, self.how = options.folder, options.device, dtype, how
        self.kept = {}

    def prepared(self, batch, length, tokens):
        key = batch, length, tokens
        if key not in self.kept:
            model = StaticGPT2(self.folder, self.device, self.dtype, batch, length, max(tokens, 8)).eval()
            read = model.read if self.device == "cpu" else captured(model.read)
            read()  # a position with room behind it
            self.kept[key] = model, read, made(model.step, self.how)
        return self.kept[key]

    def wait(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    @torch.no_grad()
    def generate(self, prompts, tokens):
        """-> the tokens [B, tokens], the logits after the prompts, and the seconds of the prompt and of the tokens after the
        first."""
        batch, length = prompts.shape
        model, read, step = self.prepared(batch, length, tokens)
        model.prompt.copy_(prompts)
        self.wait()
        start = time.perf_counter()
        read()
        self.wait()
        middle = time.perf_counter()
        for _ in range(tokens - 1):
            step()
        written = model.written[:, length:length + tokens].cpu()
        return written, model.first_logits, middle - start, time.perf_counter() - middle


class StaticSearch(Static):
    """On a GPU, in bf16."""

    def __init__(self, options, how):
        super().__init__(options, torch.bfloat16, how)

    def run(self, prompts, tokens):
        results = [self.generate(prompts, tokens) for _ in range(6)][1:]  # the first is not counted
        return {"search": [prefill + decode for _, _, prefill, decode in results], "tokens": results[-1][0][0].tolist()}


class StaticTorch(Static):
    """On the CPU: prompt and tokens apart."""

    def __init__(self, options, kind):
        torch.set_num_threads(options.threads)
        super().__init__(options, {"f32": torch.float32, "bf16": torch.bfloat16}[kind], "default")

    def run(self, prompt, tokens):
        # One step more: the others time `tokens` steps after the prompt.
        written, logits, prefill, decode = self.generate(torch.tensor([prompt]), tokens + 1)
        return {"prefill": [prefill], "decode": [decode], "logits": logits[0].float(), "tokens": written[0, :tokens].tolist()}
