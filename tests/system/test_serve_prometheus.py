"""Others read what `assay serve` writes: a real Prometheus, a real VictoriaMetrics, dashboards' queries."""
import json
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
# Grafana's dashboard 12239 asks for these.
DASHBOARD = ["DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED",
             "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"]
pytestmark = pytest.mark.slow


def query(port, text, path="/api/v1/query"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode({'query': text})}", timeout=20) as answer:
        return json.load(answer)["data"]["result"]


class Reader:
    """A program that scrapes; its log is kept."""

    def __init__(self, folder, command):
        self.log = pathlib.Path(folder) / "reader.log"
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
global: {{scrape_interval: 1s}}
scrape_configs:
- job_name: assay
  authorization: {{credentials_file: {folder}/token}}
  static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
""")


@pytest.fixture
def server(program, tmp_path):
    (tmp_path / "t").write_text(TOKEN)
    with Server(program, tmp_path, TOUR, "--speed", "5", "--auth-token-file", tmp_path / "t", "--names", "both", "--state", tmp_path / "state") as s:
        yield s.ready()


def check_queries(reader, port):
    for name in DASHBOARD:
        reader.wait(lambda name=name: query(port, f'{name}{{instance=~".+", gpu=~"0"}}'))
    for text in ('rate(assay_gpu_active_seconds_total{unit="sm"}[10s]) / ignoring (unit) rate(assay_gpu_observed_seconds_total[10s])',
                 "sum by (class) (rate(assay_gpu_class_seconds_total[10s]))"):
        got = reader.wait(lambda text=text: query(port, text))
        assert all(0 <= float(r["value"][1]) <= 100 for r in got), got


def test_prometheus(server, tmp_path):
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus")
    write_config(tmp_path, server)
    port = free_port()
    with Reader(tmp_path, ["prometheus", "--config.file=prom.yml", f"--storage.tsdb.path={tmp_path}/tsdb", f"--web.listen-address=127.0.0.1:{port}"]) as p:
        p.wait(lambda: query(port, 'up{job="assay"} == 1'))
        check_queries(p, port)
        p.wait(lambda: float(query(port, "count_over_time(up[1m])")[0]["value"][1]) >= 10)
        assert float(query(port, "min_over_time(up[30s])")[0]["value"][1]) == 1
        log = p.log.read_text()
    assert not re.search(r"level=(warn|error)", log), log[-2000:]


def test_victoria_metrics(server, tmp_path):
    program = shutil.which("victoria-metrics")
    if not program:
        pytest.skip("no victoria-metrics")
    write_config(tmp_path, server)
    port = free_port()
    with Reader(tmp_path, [program, f"-promscrape.config={tmp_path}/prom.yml", f"-storageDataPath={tmp_path}/vm", f"-httpListenAddr=127.0.0.1:{port}",
                           "-search.latencyOffset=0s"]) as v:
        v.wait(lambda: query(port, 'up{job="assay"} == 1'))
        check_queries(v, port)
        log = v.log.read_text()
    assert not re.search(r"\t(warn|error)\t.*(scrap|pars)", log), log[-2000:]
