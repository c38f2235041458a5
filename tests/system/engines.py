"""A real Prometheus and a real VictoriaMetrics for the tests, on ports of their own."""
import json
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from serving import free_port


class Engine:
    """A program that stores series. Use it with `with`; stop() and start() keep its data and its port."""

    kind = ""

    def __init__(self, folder, config="", more=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self.more, self.process = free_port(), list(more), None
        self.log = self.folder / "engine.log"
        self.url = f"http://127.0.0.1:{self.port}"
        (self.folder / "engine.yml").write_text(config or "global: {scrape_interval: 1s}\n")

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder)
        return self.wait(lambda: self.query("vector(1)")) and self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=30)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def ask(self, path, **arguments):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(arguments)}", timeout=20) as answer:
            return json.load(answer)

    def query(self, text, **more):
        return self.ask("/api/v1/query", query=text, **more)["data"]["result"]

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                if got := condition():
                    return got
            except urllib.error.HTTPError as error:
                assert error.code >= 500, error.read()
            except OSError:
                pass
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < end, f"waited in vain: {self.log.read_text()[-3000:]}"
            time.sleep(0.05)


class Prometheus(Engine):
    kind, push = "prometheus", ""

    def command(self):
        return ["prometheus", f"--config.file={self.folder}/engine.yml", f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{self.port}",
                "--web.enable-remote-write-receiver", "--web.enable-lifecycle", *self.more]


class VictoriaMetrics(Engine):
    kind, push = "victoria-metrics", "/api/v1/import/prometheus"

    def command(self):
        return ["victoria-metrics", f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}", "-search.latencyOffset=0s", "-retentionPeriod=100y",
                "-search.disableCache", "-memory.allowedPercent=5", *self.more]

    def query(self, text, **more):
        """What was written is seen after seconds, unless it is asked for."""
        with urllib.request.urlopen(f"{self.url}/internal/force_flush", timeout=20):
            return super().query(text, **more)


def need(name):
    if not shutil.which(name):
        pytest.skip(f"no {name}")
