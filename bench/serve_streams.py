#!/usr/bin/env python3
"""Many streaming clients of /v1/completions that cost little themselves: bytes are counted, nothing is parsed but the end of a stream.

    bench/serve_streams.py --port 8080 [--model NAME] [--streams 64] [--tokens 256] [--turns 4] [--processes 8] [--ceiling]

Every client asks --turns times, one after another on its connection, greedily. Prints tokens a second from the moment all are connected
to the end of the last (tokens as the server's usage says, so that each text counts whole), the first token's time, and the time between
events. --ceiling: how many events a second the same clients take from senders that only send, one write an event.
"""
import argparse
import json
import multiprocessing
import re
import selectors
import socket
import time

EVENT = b'"finish_reason":null'
END = b"\r\n0\r\n\r\n"
CHUNK = (b"11c\r\ndata: " + b'{"choices":[{"text":" word","index":0,"logprobs":null,"finish_reason":null}]}'.ljust(276) + b"\n\n\r\n")


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def request_of(options, client):
    body = json.dumps({"model": options.model, "prompt": "the old man and the sea " * 2, "max_tokens": options.tokens, "temperature": 0,
                       "seed": client, "stream": True, "stream_options": {"include_usage": True}}).encode()
    return (b"POST /v1/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)) + body


class Client:
    """One connection. took(): what recv gave; True when the stream is at its end."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tail, self.events, self.begun, self.first, self.turns = b"", 0, 0.0, None, 0

    def ask(self, request):
        self.tail, self.first, self.begun = b"", None, time.perf_counter()
        self.socket.sendall(request)

    def took(self, data):
        whole = self.tail + data
        new = whole.count(EVENT) - self.tail.count(EVENT)
        if new and self.first is None:
            self.first = time.perf_counter() - self.begun
        self.events += new
        self.tail = whole[-1024:]
        return whole.endswith(END)


def work(options, first, count, ready, results):
    """Some of the clients, in one process; its numbers go to results."""
    clients = [Client(options.port) for _ in range(count)]
    selector = selectors.EpollSelector()
    for i, client in enumerate(clients):
        client.request = request_of(options, first + i)
        selector.register(client.socket, selectors.EVENT_READ, client)
    ready.wait()
    begun, left, tokens, firsts, reads, why = time.perf_counter(), count, 0, [], 0, ""
    for client in clients:
        client.ask(client.request)
    while left:
        for key, _ in selector.select():
            client = key.data
            data = client.socket.recv(1 << 18)
            reads += 1
            if data and not client.took(data):
                continue
            said = re.search(rb'"completion_tokens": ?(\d+)', client.tail)
            if said:
                tokens += int(said[1])
                firsts.append(client.first if client.first is not None else float("inf"))
            else:
                why = (client.tail + data)[-300:].decode(errors="replace")
            client.turns += 1
            if said and client.turns < options.turns:
                client.ask(client.request)
            else:
                selector.unregister(client.socket)
                left -= 1
    results.put({"begun": begun, "ended": time.perf_counter(), "tokens": tokens, "firsts": firsts, "reads": reads, "why": why,
                 "events": sum(client.events for client in clients), "cpu": time.process_time()})


def share(count, parts):
    return [count // parts + (i < count % parts) for i in range(parts)]


def streams(options):
    """All clients; a dictionary of what they saw."""
    counts = share(options.streams, min(options.processes, options.streams))
    ready, results = multiprocessing.Barrier(len(counts)), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(options, sum(counts[:i]), count, ready, results)) for i, count in enumerate(counts)]
    for process in processes:
        process.start()
    seen = [results.get() for _ in processes]
    for process in processes:
        process.join()
    for one in seen:
        if one["why"]:
            raise SystemExit(f"a stream ended without its usage: ..{one['why']}")
    seconds = max(one["ended"] for one in seen) - min(one["begun"] for one in seen)
    total = {name: sum(one[name] for one in seen) for name in ("tokens", "events", "reads", "cpu")}
    firsts = [each for one in seen for each in one["firsts"]]
    return {"seconds": seconds, "rate": total["tokens"] / seconds, "firsts": firsts, **total}


def report(seen):
    return (f"{seen['rate']:.0f} tokens/s ({seen['tokens']} in {seen['seconds']:.2f} s, {seen['events'] / seen['reads']:.2f} events a read, the "
            f"clients' {seen['cpu'] / seen['seconds']:.1f} cores), first token p50 {1e3 * quantile(seen['firsts'], .5):.1f} ms, "
            f"p95 {1e3 * quantile(seen['firsts'], .95):.1f}")


def send_only(listener, count, until, gate):
    sockets = [listener.accept()[0] for _ in range(count)]
    for one in sockets:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    gate.wait()
    end = time.perf_counter() + until
    while time.perf_counter() < end:
        for one in sockets:
            one.sendall(CHUNK)
    for one in sockets:
        one.close()


def count_only(port, count, gate, results):
    clients = [Client(port) for _ in range(count)]
    selector = selectors.EpollSelector()
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    gate.wait()
    begun, left = time.perf_counter(), count
    while left:
        for key, _ in selector.select():
            data = key.data.socket.recv(1 << 18)
            key.data.took(data)
            if not data:
                selector.unregister(key.data.socket)
                left -= 1
    results.put((sum(client.events for client in clients), time.perf_counter() - begun))


def ceiling(options, seconds=1.0):
    """Events a second that the clients take when somebody only sends."""
    counts = share(options.streams, min(options.processes, options.streams))
    gate, results = multiprocessing.Barrier(2 * len(counts)), multiprocessing.Queue()
    processes = []
    for count in counts:
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        processes += [multiprocessing.Process(target=send_only, args=(listener, count, seconds, gate)),
                      multiprocessing.Process(target=count_only, args=(listener.getsockname()[1], count, gate, results))]
    for process in processes:
        process.start()
    seen = [results.get() for _ in counts]
    for process in processes:
        process.join()
    return sum(events for events, _ in seen) / max(taken for _, taken in seen)


def add_options(parser):
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--processes", type=int, default=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--model", default="")
    parser.add_argument("--ceiling", action="store_true")
    add_options(parser)
    options = parser.parse_args()
    if options.ceiling:
        print(f"the clients alone: {ceiling(options):.0f} events/s", flush=True)
    else:
        print(report(streams(options)), flush=True)


if __name__ == "__main__":
    main()
