"""One answer on every surface: what a GPU is called, and what is said of it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT
from endpoints import Endpoints, well
from serving import Server, samples
from test_top import Terminal

NODES = [f"gpu-frankfurt-row7-node{i:02d}.dc1.example.com" for i in range(8)]
NAMES = [f"node{i:02d}:0" for i in range(8)]


@pytest.fixture(scope="module")
def eight():
    """Eight exporters of one GPU each, on nodes whose names begin and end alike."""
    e = Endpoints([well(name, i) for i, name in enumerate(NODES)])
    yield e
    e.stop()


def first_words(text):
    return [line.split()[0].lstrip("▶") for line in text.splitlines() if line.split()]


def test_names_in_the_table(assay, eight):
    done = assay("once", "--source", eight.list)
    assert done.returncode == 0, done.stderr
    words = first_words(done.stdout)
    for name in NAMES:
        assert words.count(name) == 3, done.stdout  # its row, why it is what it is, and its clocks
    # each way to say which one is meant
    for which in ("node03:0", f"{NODES[3]}:0"):
        done = assay("once", "--source", eight.list, "--focus-gpu", which)
        assert done.returncode == 0 and "sm_active " in done.stdout, done.stderr


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
@pytest.mark.parametrize("width", [80, 140])
def test_names_in_the_dashboard(program, tmp_path, eight, width):
    terminal = Terminal(program, tmp_path, width=width, height=24)
    try:
        terminal.start(f"--layout lines --source {eight.list}")
        screen = terminal.wait("node07:0")
        assert [w for w in first_words(screen) if ":0" in w] == NAMES, screen
        terminal.keys("Down", "2")
        assert "GPU node01:0 " in terminal.wait("GPU node01:0")
        terminal.keys("3")
        assert "GPU node01:0 ·" in terminal.wait(" · activity")
    finally:
        terminal.close()


def test_names_that_are_served(program, tmp_path, eight):
    with Server(program, tmp_path, "--source", eight.list) as s:
        s.ready()
        s.wait(lambda: len(s.json("/api/v1/now")["gpus"]) == 8)
        now = s.json("/api/v1/now")
        assert [g["name"] for g in now["gpus"]] == NAMES and {g["gpu"] for g in now["gpus"]} == {"0"}
        assert [g["identity"]["hostname"] for g in now["gpus"]] == NODES
        # each has a past of its own, by name and by label
        for name, node in zip(NAMES, NODES):
            for which in (name, f"{node}:0"):
                assert s.json(f"/api/v1/history?gpu={which}&span=60")["series"]["sm_active"], which
        up = {k: v for k, v in samples(s.metrics()).items() if k.startswith("assay_gpu_up")}
        assert len(up) == 8 and all(f'hostname="{node}"' in "".join(up) for node in NODES)


def test_series_of_several_nodes_without_uuids(program, tmp_path):
    """Nothing but the node makes them different."""
    lines = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",Hostname="n{i}"}} 5{i}\n' for i in range(2)]
    e = Endpoints([lambda t, line=line: t.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(line)}\r\n\r\n{line}".encode()) for line in lines])
    try:
        with Server(program, tmp_path, "--source", e.list) as s:
            s.wait(lambda: len(s.json("/api/v1/now")["gpus"]) == 2)
            got = samples(s.metrics())  # complains of a series that is there twice
            assert len([k for k in got if k.startswith("assay_gpu_up{")]) == 2, got
    finally:
        e.stop()


def test_one_node_has_no_host_in_its_series(program, tmp_path):
    e = Endpoints([well("n0", 0)])
    try:
        with Server(program, tmp_path, "--source", e.list) as s:
            s.ready()
            assert [g["name"] for g in s.json("/api/v1/now")["gpus"]] == ["0"]
            assert not [k for k in samples(s.metrics()) if k.startswith("assay_gpu_") and "hostname=" in k]
    finally:
        e.stop()


def test_names_in_report_and_plot(assay, tmp_path, eight):
    run = tmp_path / "run.assay"
    assert assay("record", "-o", run, "--source", eight.list, "--duration", "4", timeout=60).returncode == 0
    text = assay("report", "--all", run).stdout
    page = assay("report", run, "--format", "html").stdout
    report = json.loads(assay("report", run, "--format", "json").stdout)
    assay("plot", run, "-o", tmp_path / "run.svg", "--metrics", "sm_active", "--per-gpu")
    picture = (tmp_path / "run.svg").read_text()
    for name in NAMES:
        assert re.search(rf"^GPU {name} NVIDIA", text, re.M) and re.search(rf"^ .* {name} .* tensor cores$", text, re.M), text
        assert name in page and name in picture
    report = json.loads(assay("report", run, "--format", "json").stdout)
    assert report["findings"][0]["gpus"] == [g["gpu"] for g in report["run"]["gpus"]] == NAMES
    for which in (text, page, picture):
        assert "frankfurt" not in re.sub(r"\"hostname\":\"[^\"]*\"", "", which)


# --- what is played ---------------------------------------------------------------------------------

LOADER = ROOT / "tests/truth/loader_workers.assay"  # 16 CPUs, one process on the GPU, 15 s
TOUR = ROOT / "data/h200-tour.csv"


def first_finding(assay, path):
    return json.loads(assay("report", path, "--format", "json").stdout)["findings"][0]


def held(text):
    return {k: v for k, v in samples(text).items() if k.startswith("assay_gpu_held_seconds")}


def test_a_served_recording_brings_its_host_and_processes(program, assay, tmp_path):
    said = []

    def limiter():
        now = s.json("/api/v1/now")
        gpu = now["gpus"][0] if now["gpus"] else None
        if gpu and gpu["up"] and now["host"]:
            said.append((gpu["limiter"], now["host"], now["owners"]))
        return now["status"]["ended"]

    with Server(program, tmp_path, LOADER, "--speed", "3") as s:
        s.wait(limiter, 30)
        # as the report of it says, of the same time
        assert "host.input" in [l for l, _, _ in said] and "unknown" not in [l for l, _, _ in said], [l for l, _, _ in said]
        system = [level for level in said[-1][1]["levels"] if level["level"] == "system"][0]
        assert system["figures"]["cpus"] == 16
        assert "root" in [o.get("user") for _, _, owners in said for o in owners]
        # it is over, and says so
        text = s.metrics()
        got = samples(text)
        assert [v for k, v in got.items() if k.startswith("assay_gpu_up")] == [0] and got['assay_up{source="session"}'] == 0
        assert not [k for k in got if k.startswith(("assay_gpu_power_watts", "DCGM_FI_DEV_"))]
        now = s.json("/api/v1/now")
        gpu = now["gpus"][0]
        assert not gpu["up"] and gpu["limiter"] == "unknown" and gpu["verdict"]["class"] == "unknown"
        assert not [v for v in gpu["metrics"].values() if v is not None]
        assert "host" not in now and now["owners"] == []
        assert s.ask("/-/ready")[0] == 503
        # what happened in it happened then, not now
        log = s.json("/api/v1/findings")["log"]
        assert [e for e in log if e["kind"] == "owner"] and {time.strftime("%F %H", time.gmtime(e["time"])) for e in log} <= {"2026-11-16 11"}, log
        # and no time passes in it any more: 15 s, however fast it was played
        before = held(s.wait(lambda: (t := s.metrics()) and held(t) and t))
        time.sleep(1.5)
        assert held(s.metrics()) == before and 3 < max(before.values()) < 15


def test_a_served_capture_has_nothing_of_this_machine(program, tmp_path):
    with Server(program, tmp_path, TOUR, "--speed", "5") as s:
        s.ready()
        time.sleep(1.5)
        now = s.json("/api/v1/now")
        assert "host" not in now and now["owners"] == []


def test_once_has_the_host_of_a_recording(assay):
    done = assay("once", "--source", LOADER, "--at", "10")
    assert re.search(r"^host \S+  16 CPUs ", done.stdout, re.M) and "python3 programs.py loader_workers" in done.stdout, done.stdout
    host = json.loads(assay("once", "--json", "--source", LOADER, "--at", "10").stdout)["host"]
    assert {level["level"] for level in host["levels"]} == {"process", "user", "cgroup", "system"}
    assert "host" not in assay("once", "--source", TOUR).stdout.lower()


def test_a_recording_of_a_recording_is_the_same(assay, tmp_path):
    again = tmp_path / "again.assay"
    assert assay("record", "--source", LOADER, "-o", again).returncode == 0
    assert first_finding(assay, again) == first_finding(assay, LOADER)
    hosts = [set(assay("export", "--host", "--source", path).stdout.splitlines()) for path in (again, LOADER)]
    assert len(hosts[0]) > 500 and not hosts[0] - hosts[1]
    report = json.loads(assay("report", again, "--format", "json").stdout)
    assert report["user"] is None and report["command"] is None


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="the interpreter has no sanitizer")
def test_the_library_plays_a_recording_with_its_host(assay, program, tmp_path):
    code = """if True:
        import assay, json, sys
        with assay.Monitor(source=sys.argv[1], speed=0, session=sys.argv[2]) as m:
            for frame in m.frames():
                pass
        print(json.dumps([frame["host"]["levels"][-1]["figures"]["cpus"], frame["gpus"][0]["limiter"]]))
    """
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "ASSAY_LIB": str(pathlib.Path(program).parent / "libassay.so.0")}
    played = tmp_path / "played.assay"
    done = subprocess.run([sys.executable, "-c", code, LOADER, played], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    cpus, limiter = json.loads(done.stdout)
    assert cpus == 16 and limiter != "unknown"
    assert first_finding(assay, played)["limiter"] == "host.input"
