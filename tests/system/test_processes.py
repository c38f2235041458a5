"""Who uses the GPUs: the driver's list joined with what the host knows of each process."""
import csv
import io
import os
import pathlib
import subprocess

import pytest

from conftest import FIXTURES
from test_top import Terminal

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()


@pytest.fixture
def worker():
    """A process that the fake driver says holds the GPU."""
    child = subprocess.Popen(["sleep", "77.25"])
    yield child
    child.terminate()
    child.wait()


@pytest.fixture
def env(tmp_path, worker):
    scenario = tmp_path / "scenario"
    scenario.write_text(RECORDED.replace("437:", f"{worker.pid}:"))
    return {"FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}


def test_levels_have_their_processes_gpu_use(assay, env, worker):
    done = assay("export", "--host", "--levels", "process,user,system", "--pid", worker.pid, "--count", "8",
                 "--poll", "0.5", env=env)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    last = {r["level"]: r for r in rows}
    assert float(last["process"]["gpu_mem_0_gib"]) == pytest.approx(916455424 / 2**30, rel=1e-3)
    assert float(last["process"]["gpu_util_0_pct"]) == 95
    assert float(last["user"]["gpu_band_0_pct"]) == 21
    assert float(last["system"]["gpu_util_0_pct"]) == 99, "the system level is the device's own figure"


@pytest.mark.slow
def test_another_process_uses_nothing(assay, env):
    done = assay("export", "--host", "--levels", "process", "--pid", os.getpid(), "--count", "5", "--poll", "0.5",
                 env=env)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    # This test is the worker's parent, so the worker is one of its own; a stranger is not.
    assert float(rows[-1]["gpu_util_0_pct"]) == 95
    stranger = subprocess.Popen(["sleep", "60"])
    done = assay("export", "--host", "--levels", "process", "--pid", stranger.pid, "--count", "5", "--poll", "0.5",
                 env=env)
    stranger.terminate()
    stranger.wait()
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[-1]["gpu_util_0_pct"] == "" and rows[-1]["gpu_mem_0_gib"] == ""


def test_job_view_names_them(program, tmp_path, env, worker):
    t = Terminal(program, tmp_path, width=140, height=30, env=env)
    try:
        t.type(f"{program} top --view job")
        screen = t.wait("sleep 77.25")
        row = next(line for line in screen.splitlines() if "sleep 77.25" in line)
        assert str(worker.pid) in row and "874M" in row and "tensor cores" in row
        assert "root" in row or os.getuid() != 0
        t.keys("q")
    finally:
        t.close()


def test_recorded_processes_are_shown_and_never_signalled(program, assay, tmp_path, env, worker):
    """The pid of a recording may be anybody's by now."""
    path = tmp_path / "x.assay"
    assert assay("record", "-q", "--interval", "0.2", "--duration", "2", "-o", path, env=env).returncode == 0
    t = Terminal(program, tmp_path, width=140, height=30)
    try:
        t.type(f"{program} top --view job --source {path}")
        screen = t.wait("sleep 77.25")
        row = next(line for line in screen.splitlines() if "sleep 77.25" in line)
        assert str(worker.pid) in row and "874M" in row
        t.keys("x")
        t.wait("recorded, not running")
        t.keys("y")
        t.keys("5")
        assert "Threads" in t.wait("system"), "the host as it was then"
        t.keys("q")
    finally:
        t.close()
    assert worker.poll() is None
