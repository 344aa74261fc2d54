#!/usr/bin/env python3
"""/embed of attend serve beside ONNX Runtime, clients in processes of their own, medians of interleaved rounds.

    bench/serve_peers.py --program build/attend --tokenizer FILE [--threads 2] [--rounds 3] [--seconds 6]

BERT-base (random weights), 32 clients, texts of 5 to 120 words. The peer is ONNX Runtime (the Python package) behind a loop
that takes what waits, up to 32 texts, pads it to the longest and runs it, on as many threads; it gets ids, without a network, and
no mask, which is in its favour. Then one client alone: what the server adds to the time of the same texts in `attend embed`.
FILE is a tokenizer.json with BERT's words. Text generation is compared by bench/serve_load.py.
"""
import argparse
import http.client
import json
import multiprocessing
import pathlib
import queue
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from serve import Server, exchange, quantile, request, texts  # noqa: E402


def folder_of(path, model, tokenizer):
    model.save_pretrained(path)
    shutil.copy(tokenizer, path / "tokenizer.json")
    return path


def embed_clients(port, first, count, seconds, results):
    """Clients of one process, in threads: texts, tokens and times."""
    times, tokens = [], [0] * count

    def work(i):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        end = time.perf_counter() + seconds
        for text in texts(first + i):
            begun = time.perf_counter()
            if begun > end:
                return
            connection.request("POST", "/embed", json.dumps({"inputs": text}), {"content-type": "application/json"})
            response = connection.getresponse()
            response.read()
            times.append(time.perf_counter() - begun)
            tokens[i] += int(response.headers["x-compute-tokens"])
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((sum(tokens), times))


def in_processes(target, processes, *arguments):
    results = multiprocessing.Queue()
    started = [multiprocessing.Process(target=target, args=(*[a(i) if callable(a) else a for a in arguments], results))
               for i in range(processes)]
    begun = time.perf_counter()
    for process in started:
        process.start()
    answers = [results.get() for _ in started]
    return time.perf_counter() - begun, answers


class OnnxLoop:
    """ONNX Runtime behind a queue: texts wait, a thread takes up to 32 of them, pads and runs."""

    def __init__(self, folder, threads):
        import onnxruntime
        from peers.onnxruntime import bert
        from side_by_side import read_safetensors
        from tokenizers import Tokenizer
        path = folder / "f32.onnx"
        bert(json.loads((folder / "config.json").read_text()), read_safetensors(folder / "model.safetensors"), False).write(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.name = f"ONNX Runtime {onnxruntime.__version__}"

    def tokens_per_second(self, clients, seconds):
        import numpy
        waiting, stop, done = queue.Queue(), threading.Event(), [0] * clients

        def loop():
            while not stop.is_set():
                try:
                    batch = [waiting.get(timeout=0.1)]
                except queue.Empty:
                    continue
                while len(batch) < 32:
                    try:
                        batch.append(waiting.get_nowait())
                    except queue.Empty:
                        break
                longest = max(len(ids) for ids, _ in batch)
                padded = numpy.zeros((len(batch), longest), numpy.int64)
                for row, (ids, _) in zip(padded, batch):
                    row[:len(ids)] = ids
                states = self.session.run(["states"], {"ids": padded})[0]
                for state, (ids, answer) in zip(states, batch):
                    answer.put(state[:len(ids)].mean(0))

        def client(i):
            answer = queue.Queue()
            for text in texts(i):
                if time.perf_counter() > end:
                    return
                ids = self.tokenizer.encode(text).ids
                waiting.put((ids, answer))
                answer.get()
                done[i] += len(ids)
        end = time.perf_counter() + seconds
        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        worker = threading.Thread(target=loop)
        begun = time.perf_counter()
        for thread in [worker, *threads]:
            thread.start()
        for thread in threads:
            thread.join()
        taken = time.perf_counter() - begun
        stop.set()
        worker.join()
        return sum(done) / taken


def alone(options, server, folder):
    """One client: mean times of a text by the server and by attend embed, one at a time on as many threads; the start of the
    program goes away in the difference of two runs."""
    source = texts(1)
    lines = [next(source) for _ in range(60)]

    def program(turns):
        begun = time.perf_counter()
        subprocess.run([options.program, "embed", "--model", str(folder), "--batch", "1", "--threads", str(options.threads)],
                       input="\n".join(lines * turns) + "\n", text=True, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    requests = [request("/embed", {"inputs": line}) for line in lines]

    def served():
        return exchange(server, requests, 1)[0] / len(lines)
    ours, own = [], []
    for _ in range(options.rounds):
        ours.append(served())
        own.append((program(3) - program(1)) / (2 * len(lines)))
    return 1e3 * statistics.median(ours), 1e3 * statistics.median(own)


def embed(options, scratch):
    import torch
    from transformers import BertConfig, BertModel
    torch.manual_seed(1)
    folder = folder_of(scratch / "bert", BertModel(BertConfig()), options.tokenizer)
    peer = OnnxLoop(folder, options.threads)
    with Server(options.program, "--model", f"bert={folder}", "--threads", str(options.threads), "--no-look") as server:
        ours, theirs, times = [], [], []
        for _ in range(options.rounds):
            seconds, answers = in_processes(embed_clients, 4, server.port, lambda i: 8 * i, 8, options.seconds)
            ours.append(sum(tokens for tokens, _ in answers) / seconds)
            times += [each for _, list_ in answers for each in list_]
            theirs.append(peer.tokens_per_second(32, options.seconds))
        print(f"embed, BERT-base f32, 32 clients, {options.threads} threads: attend serve {statistics.median(ours):.0f} tokens/s "
              f"(p50 {1e3 * quantile(times, .5):.0f} ms, p95 {1e3 * quantile(times, .95):.0f}), {peer.name} padded "
              f"{statistics.median(theirs):.0f}: {statistics.median(ours) / statistics.median(theirs):.2f}x", flush=True)
        ours, own = alone(options, server, folder)
        print(f"embed, one client: {ours:.2f} ms a text, attend embed {own:.2f}: {ours - own:.2f} ms more", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/attend")
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        embed(options, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
