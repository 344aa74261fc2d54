"""torch as a peer of gpt2_generation.py, as fast as it is known to decode: a static cache of keys and values, whose shapes never
change, and a step that torch.compile turns into fused kernels, on a GPU replayed as one CUDA graph (reduce-overhead).

The prompt is read eagerly and fills the cache. A step takes the newest tokens [B, 1] and their position [1], both on the device,
writes keys and values at that position, attends to the whole cache under a mask and chooses the likeliest token. The host copies
it into the buffer that the next step reads and never waits for it.
"""
import json
import math
import time

import torch
from torch.nn import functional as F

from side_by_side import read_safetensors


class StaticGPT2(torch.nn.Module):
    def __init__(self, folder, device, dtype, batch, room):
        super().__init__()
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads, self.width = config["n_layer"], config["n_head"], config["n_embd"]
        for name, array in read_safetensors(folder / "model.safetensors").items():
            name = name.removeprefix("transformer.")
            weight = array.t() if name.startswith("h.") and array.ndim == 2 else array  # [in, out] in the file
            self.register_buffer(name.replace(".", "_"), weight.to(device, dtype).contiguous())
        for i in range(self.layers):
            for part in ("keys", "values"):
                shape = batch, self.heads, room, self.width // self.heads
                self.register_buffer(f"{part}_{i}", torch.zeros(shape, device=device, dtype=dtype))
        self.register_buffer("places", torch.arange(room, device=device))

    def get(self, *names):
        return (getattr(self, "_".join(map(str, names)) + end) for end in ("_weight", "_bias"))

    def norm(self, x, *names):
        return F.layer_norm(x, (self.width,), *self.get(*names))

    def forward(self, ids, positions):
        """ids [B, T] at positions [T] -> logits of the token after the last [B, V]."""
        batch, count = ids.shape
        x = self.wte_weight[ids] + self.wpe_weight[positions]
        mask = self.places[None, :] <= positions[:, None]  # [T, room]
        for i in range(self.layers):
            qkv = F.linear(self.norm(x, "h", i, "ln_1"), *self.get("h", i, "attn_c_attn"))
            q, k, v = (part.view(batch, count, self.heads, -1).transpose(1, 2) for part in qkv.split(self.width, -1))
            keys, values = getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")
            keys[:, :, positions], values[:, :, positions] = k, v
            mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
            x = x + F.linear(mixed.transpose(1, 2).reshape(x.shape), *self.get("h", i, "attn_c_proj"))
            hidden = F.gelu(F.linear(self.norm(x, "h", i, "ln_2"), *self.get("h", i, "mlp_c_fc")), approximate="tanh")
            x = x + F.linear(hidden, *self.get("h", i, "mlp_c_proj"))
        return F.linear(self.norm(x[:, -1], "ln_f"), self.wte_weight)


class Static:
    """One compiled step for each batch and room, kept from run to run."""

    def __init__(self, options, dtype):
        self.folder, self.device, self.dtype = options.folder, options.device, dtype
        self.kept = {}

    def prepared(self, batch, room):
        room = math.ceil(room / 64) * 64
        if (batch, room) not in self.kept:
            model = StaticGPT2(self.folder, self.device, self.dtype, batch, room).eval()

            def step(ids, position):
                return model(ids, position).argmax(-1, keepdim=True)
            mode = "reduce-overhead" if self.device != "cpu" else "default"
            compiled = torch.compile(step, mode=mode, fullgraph=True)
            ids = torch.zeros(batch, 1, dtype=torch.long, device=self.device)
            position = torch.zeros(1, dtype=torch.long, device=self.device)
            for _ in range(4):  # compiles, then records the graph, then replays it
                compiled(ids, position)
            self.kept[batch, room] = model, compiled, ids, position
        return self.kept[batch, room]

    def wait(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    @torch.inference_mode()
    def generate(self, prompts, tokens):
        """-> the tokens [B, tokens], the logits after the prompts, and the seconds of the prompt and of the tokens after the
        first."""
        batch, length = prompts.shape
        model, step, ids, position = self.prepared(batch, length + tokens)
        self.wait()
        start = time.perf_counter()
        logits = model(prompts, torch.arange(length, device=self.device))
        ids.copy_(logits.argmax(-1, keepdim=True))
        self.wait()
        middle, written = time.perf_counter(), [ids.clone()]
        for at in range(length, length + tokens - 1):
            position.fill_(at)
            ids.copy_(step(ids, position))
            written.append(ids.clone())
        written = torch.cat(written, 1)
        self.wait()
        return written.cpu(), logits, middle - start, time.perf_counter() - middle


class StaticSearch(Static):
    """On a GPU, in bf16."""

    def __init__(self, options):
        super().__init__(options, torch.bfloat16)

    def run(self, prompts, tokens):
        written, _, prefill, decode = self.generate(prompts.to(self.device), tokens)
        return {"search": [prefill + decode], "tokens": written[0].tolist()}


class StaticTorch(Static):
    """On the CPU: prompt and tokens apart."""

    def __init__(self, options, kind):
        torch.set_num_threads(options.threads)
        super().__init__(options, {"f32": torch.float32, "bf16": torch.bfloat16}[kind])

    def run(self, prompt, tokens):
        # One step more: the others time `tokens` steps after the prompt.
        written, logits, prefill, decode = self.generate(torch.tensor([prompt]), tokens + 1)
        return {"prefill": [prefill], "decode": [decode], "logits": logits[0].float(), "tokens": written[0, :tokens].tolist()}
