#!/usr/bin/env python3
"""attend serve under load, on loopback, with clients of the standard library: bench/serve.py [--program build/attend] [--seconds 10] [CASE..]

Cases, each a line (all when none is named):
  embed      models/bert /embed, 1 and 32 clients, texts of 5 to 120 words: requests and tokens a second, median and p99
  translate  models/en-fr /translate, 32 clients, a sentence each, beside `attend translate --batch 32` with the same lines
  generate   models/shakespeare /v1/completions, 16 streams: tokens a second, first token, and the time between tokens
  idle       --connections (1000) idle connections and as many streams at once, /health meanwhile
  mixed      --requests (100000) of all kinds from 32 clients: statuses, answers, and the server's memory by quarters
  start      from the command to the first answered request, with the shipped models
Figures hold for the machine they were taken on; those of one run are to be compared, not those of two."""
import argparse
import http.client
import json
import os
import pathlib
import random
import re
import resource
import selectors
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = "the a cat dog sat on mat and then went home with an old friend who knew many things about time music water fire".split()
SENTENCES = ["I am a student.", "Where is the station?", "The old man reads a book in the garden.", "My brother lives in a small house.",
             "Thank you very much.", "He said that he would come tomorrow.", "We have no time.", "The weather is fine today."]


class Server:
    def __init__(self, program, *flags):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--access-log", "none", *flags], stdout=subprocess.PIPE,
                                        text=True, cwd=ROOT)
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline())[1])

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) / 1024

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def post(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


def clients(count, work):
    """work(client) in so many threads; the seconds it took."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def texts(seed):
    draw = random.Random(seed)
    while True:
        yield " ".join(draw.choice(WORDS) for _ in range(draw.randint(5, 120)))


def embed(options):
    with Server(options.program, "--model", "models/bert") as server:
        for count in (1, 32):
            times, tokens = [], [0] * count
            end = time.perf_counter() + options.seconds

            def work(i):
                connection = server.connect()
                for text in texts(i):
                    if time.perf_counter() > end:
                        return
                    begun = time.perf_counter()
                    connection.request("POST", "/embed", json.dumps({"inputs": text}), {"content-type": "application/json"})
                    response = connection.getresponse()
                    response.read()
                    times.append(time.perf_counter() - begun)
                    tokens[i] += int(response.headers["x-compute-tokens"])
            seconds = clients(count, work)
            print(f"embed, {count} clients: {len(times) / seconds:.0f} requests/s, {sum(tokens) / seconds:.0f} tokens/s, "
                  f"median {1e3 * statistics.median(times):.2f} ms, p99 {1e3 * quantile(times, .99):.2f} ms", flush=True)


def request(path, value):
    body = json.dumps(value)
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def exchange(server, requests, connections):
    """All requests (bytes) over so many connections, each sending its next when it has its answer; a thread that parses next to
    nothing, because clients take the server's processors. -> seconds, and for each (seconds, status, body)."""
    selector, waiting, answers = selectors.DefaultSelector(), iter(enumerate(requests)), [None] * len(requests)
    under_way = {}

    def send(link):
        number, request = next(waiting, (None, b""))
        if request:
            under_way[link] = [number, time.perf_counter(), b""]
            link.sendall(request)
        else:
            selector.unregister(link)
    links = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(connections)]
    begun = time.perf_counter()
    for link in links:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(link, selectors.EVENT_READ)
        send(link)
    while selector.get_map():
        for key, _ in selector.select():
            state = under_way[key.fileobj]
            state[2] += key.fileobj.recv(65536)
            head, gap, body = state[2].partition(b"\r\n\r\n")
            if gap and len(body) >= int(re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)[1]):
                answers[state[0]] = (time.perf_counter() - state[1], int(head[9:12]), body)
                send(key.fileobj)
    seconds = time.perf_counter() - begun
    for link in links:
        link.close()
    return seconds, answers


def translate(options):
    draw = random.Random(1)
    lines = [draw.choice(SENTENCES) for _ in range(256 * int(options.seconds))]
    requests = [request("/translate", {"q": line, "source": "en", "target": "fr"}) for line in lines]
    with tempfile.NamedTemporaryFile("w", suffix=".en") as file, Server(options.program, "--model", "models/en-fr") as server:
        file.write("\n".join(lines) + "\n")
        file.flush()
        alone, served = [], []
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run([options.program, "translate", "--batch", "32", file.name], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
            alone.append(time.perf_counter() - begun)
            seconds, answers = exchange(server, requests, 32)
            served.append(seconds)
            assert all(status == 200 for _, status, _ in answers)
    texts_of = "\n".join(json.loads(body)["translatedText"] for _, _, body in answers) + "\n"
    tokens = subprocess.run([options.program, "tokenize", "--tokenizer", "models/en-fr"], input=texts_of, text=True, check=True,
                            capture_output=True, cwd=ROOT).stdout.splitlines()
    times = [took for took, _, _ in answers]
    each = [took / len(line.split()) for took, line in zip(times, tokens)]
    ours, own = statistics.median(served), statistics.median(alone)
    print(f"translate, 32 clients: {len(lines) / ours:.0f} sentences/s, p50 {1e3 * quantile(times, .5):.0f} ms, p95 {1e3 * quantile(times, .95):.0f} ms, "
          f"of an output token p50 {1e3 * quantile(each, .5):.1f}, p95 {1e3 * quantile(each, .95):.1f}; "
          f"attend translate --batch 32: {len(lines) / own:.0f}/s; ratio {own / ours:.2f}")


def generate(options):
    with Server(options.program, "--model", "models/shakespeare") as server:
        first, between, tokens = [], [], [0] * 16

        def work(i):
            connection = server.connect()
            end = time.perf_counter() + options.seconds
            while time.perf_counter() < end:
                begun = last = time.perf_counter()
                connection.request("POST", "/v1/completions", json.dumps({"prompt": "ROMEO:", "max_tokens": 64, "seed": i, "stream": True}),
                                   {"content-type": "application/json"})
                response = connection.getresponse()
                seen = 0
                while line := response.readline():
                    if b'"text"' not in line:
                        continue
                    now = time.perf_counter()
                    (between if seen else first).append(now - (last if seen else begun))
                    last, seen = now, seen + 1
                tokens[i] += seen - 1
        seconds = clients(16, work)
    print(f"generate, 16 streams: {sum(tokens) / seconds:.0f} tokens/s, first token p50 {1e3 * quantile(first, .5):.1f} ms, "
          f"between tokens p50 {1e3 * quantile(between, .5):.2f} ms, p95 {1e3 * quantile(between, .95):.2f} ms")


def idle(options):
    count = options.connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * count + 100), hard))
    with Server(options.program, "--model", "models/shakespeare", "--max-connections", str(4 * count), "--max-concurrent",
                str(2 * count), "--idle-timeout", "600", "--request-timeout", "600") as server:
        begun = server.memory()
        waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        streams = []
        body = json.dumps({"prompt": "ROMEO:", "max_tokens": 200, "stream": True})
        for _ in range(count):
            stream = socket.create_connection(("127.0.0.1", server.port))
            stream.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            streams.append(stream)
        connection, times = server.connect(), []
        end = time.perf_counter() + options.seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            connection.request("GET", "/health")
            assert connection.getresponse().read()
            times.append(time.perf_counter() - start)
            time.sleep(0.01)
        print(f"idle, {count} idle and {count} streaming: /health p50 {1e3 * quantile(times, .5):.2f} ms, p99 {1e3 * quantile(times, .99):.2f} ms, "
              f"{server.memory() - begun:.0f} MB more")
        for one in waiting + streams:
            one.close()


def mixed(options):
    with Server(options.program, "--model", "models/bert", "--model", "models/bert-sst2", "--model", "models/en-fr", "--model",
                "models/shakespeare", "--max-concurrent", "24") as server:
        lock, statuses, done, memory = threading.Lock(), {}, [0], []
        kinds = [("/embed", {"inputs": "a text of some words"}), ("/predict", {"inputs": "a fine film"}),
                 ("/translate", {"q": "Yes.", "source": "en", "target": "fr"}), ("/tokenize", {"inputs": "a b c"}),
                 ("/v1/completions", {"model": "shakespeare", "prompt": "O", "max_tokens": 3, "seed": 1, "temperature": 0})]
        answers = {}

        def work(i):
            connection, draw = server.connect(), random.Random(i)
            while True:
                with lock:
                    if done[0] >= options.requests:
                        return
                    done[0] += 1
                    if done[0] % max(1, options.requests // 100) == 0:
                        memory.append(server.memory())
                kind = draw.randrange(len(kinds))
                status, body = post(connection, *kinds[kind])
                if status == 429:
                    time.sleep(0.02)
                with lock:
                    statuses[status] = statuses.get(status, 0) + 1
                    if status == 200:
                        body = re.sub(rb'"(id|created)":("[^"]*"|\d+)', b"", body)
                        assert answers.setdefault(kind, body) == body, f"two answers to {kinds[kind]}"
        seconds = clients(32, work)
        quarters = [statistics.mean(memory[len(memory) * i // 4:len(memory) * (i + 1) // 4] or [0]) for i in range(4)]
    print(f"mixed: {options.requests / seconds:.0f} requests/s, statuses {dict(sorted(statuses.items()))}, "
          f"memory by quarters {', '.join(f'{one:.1f}' for one in quarters)} MB")


def start(options):
    times = []
    for _ in range(5):
        with Server(options.program) as server:
            connection = server.connect()
            connection.request("GET", "/ready")
            connection.getresponse().read()
            times.append(time.perf_counter() - server.begun)
    print(f"start to ready: median {statistics.median(times):.2f} s")


CASES = {"embed": embed, "translate": translate, "generate": generate, "idle": idle, "mixed": mixed, "start": start}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/attend"))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=100000)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    for case in options.cases or CASES:
        CASES[case](options)


if __name__ == "__main__":
    main()
