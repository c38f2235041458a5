"""A running `assay serve`, and plain HTTP to it, for the tests around it."""
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from conftest import clean_env


class Server:
    """Use it with `with`. Listens on a port of its own unless an address is given."""

    def __init__(self, program, home, *args, listen="127.0.0.1:0", env=None):
        self.command = [program, "serve", *map(str, args)] + (["--listen", listen] if listen else [])
        self.env = {**clean_env(home), **(env or {})}
        self.home = pathlib.Path(home)
        self.log = self.home / f"serve-{time.monotonic_ns()}.log"

    def __enter__(self):
        return self.start()

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stderr=log, stdout=subprocess.DEVNULL)
        match = self.wait(lambda: re.search(r"serving (https?)://([^ ]+?):(\d+)(\S*)/;|serving unix:(\S+)/;", self.text()))
        self.scheme, self.port = match.group(1), int(match.group(3) or 0)
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(timeout=20)
        return self.process.returncode

    def text(self):
        return self.log.read_text(errors="replace")

    def wait(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not (got := condition()):
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, f"waited in vain: {self.text()}"
            time.sleep(0.02)
        return got

    def ask(self, path="/metrics", method="GET", headers=None, host=None, body=None):
        """Status, headers and body."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            c.putheader("Host", f"127.0.0.1:{self.port}" if host is None else host)
            for name, value in (headers or {}).items():
                c.putheader(name, value)
            if body is not None:
                c.putheader("Content-Length", str(len(body)))
            c.endheaders()
            if body:
                c.send(body)
            answer = c.getresponse()
            data = answer.read()
        finally:
            c.close()
        if answer.getheader("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return answer.status, dict(answer.getheaders()), data.decode()

    def metrics(self, **headers):
        status, _, text = self.ask(headers=headers)
        assert status == 200
        return text

    def json(self, path):
        status, _, text = self.ask(path)
        assert status == 200, text
        return json.loads(text)

    def ready(self):
        self.wait(lambda: self.ask("/-/ready")[0] == 200)
        return self


def samples(text):
    """{(name, labels as text): value} of an exposition."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            assert name not in found, f"twice: {name}"
            found[name] = float(value)
    return found


def total(text, family, **labels):
    """The sum of a family's series that have these labels."""
    found = 0.0
    for name, value in samples(text).items():
        if name.split("{")[0] == family and all(f'{k}="{v}"' in name for k, v in labels.items()):
            found += value
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
