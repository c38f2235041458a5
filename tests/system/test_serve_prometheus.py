"""Others read what `assay serve` writes: a real Prometheus, a real VictoriaMetrics, dashboards' queries."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from conftest import ROOT
from serving import Server, free_port

TOUR = ROOT / "data" / "h200-tour.csv"
TOKEN = "0123456789abcdef0123456789abcdef"
# What Grafana's dashboard 12239 asks for, with what its two variables stand for.
DASHBOARD = ["DCGM_FI_DEV_GPU_TEMP{%s}", "avg(DCGM_FI_DEV_GPU_TEMP{%s})", "DCGM_FI_DEV_POWER_USAGE{%s}", "sum(DCGM_FI_DEV_POWER_USAGE{%s})",
             "DCGM_FI_DEV_SM_CLOCK{%s} * 1000000", "DCGM_FI_DEV_GPU_UTIL{%s}", "DCGM_FI_DEV_FB_USED{%s}", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{%s}"]
# For minutes where ASSAY_LONG is set.
SCRAPES, EVERY = (40, 5) if os.environ.get("ASSAY_LONG") else (5, 1)
pytestmark = pytest.mark.slow


def query(port, text):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': text})}", timeout=20) as answer:
        return json.load(answer)["data"]["result"]


def label_values(port, name, label):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/label/{label}/values?{urllib.parse.urlencode({'match[]': name})}", timeout=20) as answer:
        return json.load(answer)["data"]


class Reader:
    """A program that scrapes; its log is kept."""

    def __init__(self, folder, command):
        self.log = pathlib.Path(folder) / f"{pathlib.Path(command[0]).name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                if got := condition():
                    return got
            except OSError:
                pass
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()[-3000:]
            time.sleep(0.2)


def write_config(folder, server):
    (folder / "token").write_text(TOKEN)
    (folder / "prom.yml").write_text(f"""
global: {{scrape_interval: {EVERY}s}}
scrape_configs:
- job_name: assay
  authorization: {{credentials_file: {folder}/token}}
  static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
""")


@pytest.fixture
def server(program, tmp_path):
    (tmp_path / "t").write_text(TOKEN)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "0").write_text("4711\n4712\n")  # two jobs share a GPU
    with Server(program, tmp_path, TOUR, "--speed", "5", "--auth-token-file", tmp_path / "t", "--names", "both", "--state", tmp_path / "state",
                "--hpc-job-mapping-dir", tmp_path / "jobs") as s:
        yield s.ready()


def documented():
    """The questions of docs/SERVE.md, over seconds instead of minutes and hours."""
    found = re.findall(r"`((?:sum|rate|increase)[^`]*assay_[^`]*)`", (ROOT / "docs" / "SERVE.md").read_text())
    return [re.sub(r"\[\d[mhd]\]", f"[{10 * EVERY}s]", q) for q in found]


def check_queries(reader, port):
    instance = reader.wait(lambda: label_values(port, "DCGM_FI_DEV_GPU_TEMP", "instance"))
    gpus = reader.wait(lambda: label_values(port, "DCGM_FI_DEV_GPU_TEMP", "gpu"))
    assert gpus == ["0"] and len(instance) == 1
    for text in DASHBOARD:
        labels = f'instance=~"{instance[0]}", gpu=~"{"|".join(gpus)}"'
        reader.wait(lambda text=text, labels=labels: query(port, text % labels))
    for text in ('rate(assay_gpu_active_seconds_total{unit="sm"}[1m]) / ignoring (unit) rate(assay_gpu_observed_seconds_total[1m])',
                 "sum by (class) (rate(assay_gpu_class_seconds_total[1m]))"):
        got = reader.wait(lambda text=text: query(port, text))
        assert all(0 <= float(r["value"][1]) <= 100 for r in got), got
    assert len(documented()) >= 4
    for text in documented():
        # Nothing counts a recording's machine; the question is understood all the same.
        if "node_energy" in text:
            query(port, text)
        else:
            reader.wait(lambda text=text: query(port, text))


def prometheus(folder, port):
    return [shutil.which("prometheus"), "--config.file=prom.yml", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}"]


def victoria(folder, port):
    return [shutil.which("victoria-metrics"), f"-promscrape.config={folder}/prom.yml", f"-storageDataPath={folder}/vm", f"-httpListenAddr=127.0.0.1:{port}",
            "-search.latencyOffset=0s"]


@pytest.mark.skipif(not shutil.which("prometheus") or not shutil.which("victoria-metrics"), reason="no prometheus, no victoria-metrics")
def test_both_read_it_without_a_warning(server, tmp_path):
    write_config(tmp_path, server)
    ports = free_port(), free_port()
    with Reader(tmp_path, prometheus(tmp_path, ports[0])) as p, Reader(tmp_path, victoria(tmp_path, ports[1])) as v:
        for reader, port in ((p, ports[0]), (v, ports[1])):
            reader.wait(lambda port=port: query(port, 'up{job="assay"} == 1'))
            check_queries(reader, port)
        p.wait(lambda: float(query(ports[0], "count_over_time(up[10m])")[0]["value"][1]) >= SCRAPES, SCRAPES * EVERY + 60)
        assert float(query(ports[0], "min_over_time(up[10m])")[0]["value"][1]) == 1
        assert not re.search(r"level=(warn|error)", p.log.read_text()), p.log.read_text()[-2000:]
        assert not re.search(r"\t(warn|error)\t.*(scrap|pars)", v.log.read_text()), v.log.read_text()[-2000:]
