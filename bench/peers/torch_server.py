#!/usr/bin/env python3
"""torch behind a thin HTTP server, a peer of attend serve: continuous batching over the static cache of torch_static.py.

    bench/peers/torch_server.py --model FOLDER [--port 8090] [--rows 64] [--room 512] [--device cuda] [--how max-autotune]

GPT-2, greedy, streamed as /v1/completions does it. Two CUDA graphs: one reads pieces of up to 16 tokens of up to 8 prompts, so a
long prompt is read in chunks between the steps of others, and one writes a token in every row. The next step is launched before
the tokens of the last are sent. There is no tokenizer: a word of the prompt is a token, and a token is answered as its number.
It prints a line with its address when it is ready.
"""
import argparse
import http.server
import json
import pathlib
import queue
import sys
import threading
import zlib

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from peers.torch_static import GPT2, captured, made  # noqa: E402

PROMPTS, PIECE = 8, 16  # of one reading


class ServedGPT2(GPT2):
    """Rows with positions of their own; a last row takes what belongs to nobody."""

    def __init__(self, folder, device, dtype, rows, room):
        super().__init__(folder, device, dtype)
        self.last_place = room - 1
        self.caches(rows + 1, room)
        self.state("newest", rows + 1, 1)
        self.state("positions", rows + 1, 1)
        self.register_buffer("all_rows", torch.arange(rows + 1, device=device)[:, None])
        self.state("read_ids", PROMPTS, PIECE)
        self.state("read_positions", PROMPTS, PIECE)
        self.state("read_rows", PROMPTS, 1)
        self.state("read_last", PROMPTS)  # the last token of each piece
        self.state("read_next", PROMPTS, 1)  # where a whole prompt is at its end: the row it is written in, else the spare one
        self.read_rows.fill_(rows)
        self.read_next.fill_(rows)

    def attend(self, i, q, k, v, where):
        rows, positions, mask, some = where  # [n, 1], [n, T], [n, 1, T, room], and whether they are not all rows
        keys, values = getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")
        keys[rows, :, positions] = k.transpose(1, 2)
        values[rows, :, positions] = v.transpose(1, 2)
        if some:
            keys, values = keys[rows[:, 0]], values[rows[:, 0]]
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)

    def run(self, ids, positions, rows, some):
        mask = self.places <= positions[:, None, :, None]
        return self.states(ids, positions, (rows, positions, mask, some))

    def read(self):
        x = self.run(self.read_ids, self.read_positions, self.read_rows, True)
        x = x[self.places[:PROMPTS], self.read_last]
        ends = self.read_next[:, 0]
        self.newest[ends] = self.logits(x).argmax(-1, keepdim=True)
        # Steps go through rows that are still read, too: what they write there goes to the last place.
        self.positions.index_fill_(0, self.read_rows[:, 0], self.last_place)
        self.positions[ends] = self.read_positions.gather(1, self.read_last[:, None]) + 1

    def step(self):
        x = self.run(self.newest, self.positions, self.all_rows, False)
        self.newest.copy_(self.logits(x[:, -1]).argmax(-1, keepdim=True))
        self.positions.copy_((self.positions + 1).clamp(max=self.last_place))


class Text:
    """One stream. The thread that computes writes to the client itself."""

    def __init__(self, prompt, tokens, connection):
        self.prompt, self.tokens, self.connection = prompt, tokens, connection
        self.read, self.sent, self.done = 0, 0, threading.Event()

    def send(self, data):
        try:
            self.connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
        except OSError:
            self.sent = self.tokens  # nobody listens any more

    def take(self, token):
        self.sent += 1
        self.send(b'data: {"id":"cmpl-0","object":"text_completion","created":0,"model":"torch","choices":[{"text":" %d","index":0,'
                  b'"logprobs":null,"finish_reason":null}],"usage":null}\n\n' % token)
        if self.sent >= self.tokens:
            self.send(b'data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}]}\n\n')
            self.send(b'data: {"choices":[],"usage":{"completion_tokens":%d}}\n\n' % self.tokens)
            self.send(b"data: [DONE]\n\n")
            self.send(b"")
            self.done.set()


class Loop:
    """Prompts enter free rows, a piece at a time; steps write a token in every row."""

    def __init__(self, model, how, rows):
        self.model, self.rows = model, [None] * rows
        self.waiting = queue.Queue()
        self.reading = {}  # row -> a text whose prompt is not read yet
        self.launched = []  # of the last step: (row, text)
        on_gpu = model.wte_weight.is_cuda
        self.read = captured(model.read) if on_gpu else model.read
        self.step = made(model.step, how if on_gpu else "default")
        self.ready = torch.cuda.Event() if on_gpu else None
        self.tokens = torch.zeros(rows + 1, 1, dtype=torch.long, pin_memory=on_gpu)

    def admit(self):
        idle = not self.reading and not any(self.rows)
        while None in self.rows and (idle or not self.waiting.empty()):
            row, idle = self.rows.index(None), False
            self.rows[row] = self.reading[row] = self.waiting.get()

    def read_pieces(self):
        """A piece of up to PROMPTS prompts. -> the texts that are read to their end."""
        model, spare = self.model, len(self.rows)
        ids, positions = torch.zeros(PROMPTS, PIECE, dtype=torch.long), torch.arange(PIECE).repeat(PROMPTS, 1)
        rows, last, ends = [spare] * PROMPTS, [0] * PROMPTS, [spare] * PROMPTS
        ended = []
        for i, (row, text) in enumerate(list(self.reading.items())[:PROMPTS]):
            piece = text.prompt[text.read:text.read + PIECE]
            ids[i, :len(piece)] = torch.tensor(piece)
            positions[i] += text.read
            rows[i], last[i] = row, len(piece) - 1
            text.read += len(piece)
            if text.read == len(text.prompt):
                ends[i] = row
                ended.append((row, text))
                del self.reading[row]
        model.read_ids.copy_(ids)
        model.read_positions.copy_(positions.clamp(max=model.last_place))
        model.read_rows.copy_(torch.tensor(rows)[:, None])
        model.read_last.copy_(torch.tensor(last))
        model.read_next.copy_(torch.tensor(ends)[:, None])
        self.read()
        return ended

    def hand_out(self, texts):
        """The newest token of these rows, once it is there."""
        for row, text in texts:
            if text.sent < text.tokens:
                text.take(self.host[row])
            if text.sent >= text.tokens:
                text.done.set()
                if self.rows[row] is text:
                    self.rows[row] = None

    def copy(self):
        self.tokens.copy_(self.model.newest, non_blocking=True)
        if self.ready:
            self.ready.record()

    def fetch(self):
        if self.ready:
            self.ready.synchronize()
        self.host = self.tokens[:, 0].tolist()

    @torch.no_grad()
    def run(self):
        ahead = []  # texts whose tokens are on their way to the host
        while True:
            self.admit()
            if self.reading:
                if ahead:  # tokens of the step before, which reading would overwrite
                    self.fetch()
                    self.hand_out(ahead)
                    ahead = []
                ended = self.read_pieces()
                self.copy()
                self.fetch()
                self.hand_out(ended)
            texts = [(row, text) for row, text in enumerate(self.rows) if text and row not in self.reading and text.sent < text.tokens]
            if ahead:
                self.fetch()
            if texts:
                self.step()
            if ahead:
                self.hand_out(ahead)
            if texts:
                self.copy()
            ahead = texts


def serve(options):
    dtype = torch.bfloat16 if options.device != "cpu" else torch.float32
    model = ServedGPT2(options.model, options.device, dtype, options.rows, options.room).eval()
    with torch.no_grad():
        loop = Loop(model, options.how, options.rows)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            tokens, prompt = int(body["max_tokens"]), body["prompt"]
            if isinstance(prompt, str):
                prompt = [zlib.crc32(word.encode()) % model.vocabulary for word in prompt.split()] or [0]
            if len(prompt) + tokens >= options.room:
                return self.send_error(400, f"{len(prompt)} + {tokens} tokens, and there is room for {options.room - 1}")
            self.send_response(200)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            text = Text(prompt, tokens, self.connection)
            loop.waiting.put(text)
            text.done.wait()

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads, request_queue_size = True, 1024
    server = Server(("127.0.0.1", options.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
    loop.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--room", type=int, default=512, help="tokens of a prompt and its text")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--how", default="max-autotune", choices=["eager", "reduce-overhead", "max-autotune"])
    serve(parser.parse_args())


if __name__ == "__main__":
    main()
