"""Clients that mean ill: each keeps a server busy in a way of its own until it is ended.

    flood.py KIND PORT [PATH]

The last line of standard output tells how many connections it made when it gets SIGTERM.
"""
import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time

HELD = 300
PIPELINED = 700


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


class Flood:
    """Connections to one port, and what is done with them."""

    def __init__(self, port, path):
        self.port, self.path = port, path
        self.made = 0
        self.held = []

    def connect(self, receive=0):
        s = socket.socket()
        if receive:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        s.settimeout(5)
        s.connect(("127.0.0.1", self.port))
        s.setblocking(False)
        self.made += 1
        return s

    def hold(self, first, step, receive=0, pause=0.0):
        """Keeps as many connections as it may: each sends `first`; `step` goes on with it, False when the server ended it."""
        while True:
            while len(self.held) < HELD:
                try:
                    s = self.connect(receive)
                    with contextlib.suppress(BlockingIOError):
                        s.send(first)
                    self.held.append(s)
                except OSError:
                    break
            kept = []
            for s in self.held:
                if step(s):
                    kept.append(s)
                else:
                    s.close()
            self.held = kept
            time.sleep(pause)

    @staticmethod
    def is_open(s):
        """Whether the server has not ended it; nothing is read."""
        poll = select.poll()
        poll.register(s, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        return not poll.poll(0)

    def not_reading(self):
        self.hold(request(self.path) * PIPELINED, self.is_open, pause=0.02)

    def a_byte_a_second(self):
        def step(s):
            try:
                return bool(s.recv(1))
            except BlockingIOError:
                return True
            except OSError:
                return False
        self.hold(request(self.path) * PIPELINED, step, receive=4096, pause=1.0)

    def half_requests(self):
        def step(s):
            with contextlib.suppress(BlockingIOError):
                try:
                    s.send(b"x")
                except OSError:
                    return False
            return self.is_open(s)
        self.hold(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ", step, pause=0.2)

    def handshakes(self):
        """The first bytes of a TLS record, and no more."""
        self.hold(bytes.fromhex("16030102000100"), self.is_open, pause=0.02)

    def short(self):
        """As fast as it can, at most 10,000 a second."""
        begun, n = time.monotonic(), 0
        data = request("/metrics") if self.path == "/metrics" else b""
        while True:
            for _ in range(50):
                with contextlib.suppress(OSError), socket.socket() as s:
                    s.settimeout(0.5)
                    s.connect(("127.0.0.1", self.port))
                    if data:
                        s.send(data)
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    n += 1
            self.made = n
            time.sleep(max(0.0, begun + n / 10_000 - time.monotonic()))

    def greedy(self):
        """Reads all it gets, and always asks for more."""
        def step(s):
            try:
                for _ in range(4):
                    if not s.recv(1 << 20):
                        return False
            except BlockingIOError:
                with contextlib.suppress(OSError):
                    s.send(request(self.path) * 20)
            except OSError:
                return False
            return True
        self.hold(request(self.path) * 20, step)


def main():
    flood = Flood(int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "/page.js")

    def end(*_):
        try:
            os.write(1, f"{flood.made}\n".encode())
        finally:
            os._exit(0)
    signal.signal(signal.SIGTERM, end)
    print("begun", flush=True)
    getattr(flood, sys.argv[1])()


if __name__ == "__main__":
    main()
