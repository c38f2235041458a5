"""`assay serve` while the machine misbehaves: a clock that is set, a full disk, a storm of readers. /health answers, sampling goes on."""
import contextlib
import os
import pathlib
import re
import resource
import socket
import threading
import time

import pytest

from conftest import FIXTURES, tried
from serving import Server, samples, total

PARTS = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests"
OTHER = "[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-22222222-0000-0000-0000-000000000000\n"
pytestmark = pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer must be loaded first")


def two_gpus(folder, **more):
    """Environment of a fake driver with two GPUs."""
    (folder / "scn").write_text((FIXTURES / "nvml" / "h200-bf16.scn").read_text() + "\n" + OTHER)
    return {"FAKE_NVML": str(folder / "scn"), "ASSAY_NVML_LIB": str(PARTS / "libnvidia-ml-fake.so"), **more}


def observed(server, gpu=0):
    return total(server.metrics(), "assay_gpu_observed_seconds_total", gpu=gpu)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [7200, -7200])
def test_a_clock_that_is_set(program, tmp_path, seconds):
    """Counters go by the clock that nobody sets: no leap, no pause, and no record that ends before it begins."""
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "0").write_text("4711\n")
    at = time.monotonic() + 1.5
    env = two_gpus(tmp_path, LD_PRELOAD=str(PARTS / "libstep-clock.so"), STEP_AT=str(at), STEP_SECONDS=str(seconds))
    with Server(program, tmp_path, "--backend", "nvml", "--state", tmp_path / "state", "--hpc-job-mapping-dir", tmp_path / "map", env=env) as s:
        s.ready()
        begun, before = time.monotonic(), observed(s)
        s.wait(lambda: time.monotonic() > at + 1 and observed(s) > before + 1)
        grown, passed = observed(s) - before, time.monotonic() - begun
        assert grown <= passed + 0.5
        assert s.ask("/health")[0] == 200 and total(s.metrics(), "assay_gpu_up") == 2
        known = [v for v in s.json("/api/v1/history?gpu=0&span=60")["series"]["power"]["mean"] if v is not None]
        assert 2 <= len(known) <= 60
        (tmp_path / "map" / "0").unlink()
        job = s.wait(lambda: next((j for j in s.json("/api/v1/jobs")["jobs"] if j["final"]), None))
        assert 0 <= job["end"] - job["start"] < 30 and 0 < job["gpu_seconds"] < 30


def test_a_disk_that_fills(program, tmp_path):
    """It is told once, nothing that was told goes back, and the next one starts at 0 with a later created time."""
    state = tmp_path / "state"
    env = two_gpus(tmp_path, LD_PRELOAD=str(PARTS / "libfail.so"), FAIL_WRITE="40", FAIL_EVERY="1")
    om = {"Accept": "application/openmetrics-text;version=1.0.0"}

    def created(s):
        return max(v for k, v in samples(s.ask(headers=om)[2]).items() if k.startswith("assay_gpu_observed_seconds_created"))

    with Server(program, tmp_path, "--backend", "nvml", "--state", state, env=env) as s:
        s.ready()
        s.wait(lambda: any(e["kind"] == "state" for e in s.json("/api/v1/findings")["log"]))
        full = observed(s)
        s.wait(lambda: observed(s) > full + 0.5)
        assert s.ask("/health")[0] == 200 and observed(s, 1) > 0
        told, began = observed(s), created(s)
    with Server(program, tmp_path, "--backend", "nvml", "--state", state, env=two_gpus(tmp_path)) as s:
        s.ready()
        assert observed(s) >= told or created(s) > began


def test_a_limit_on_the_size_of_files(program, tmp_path):
    """It is a full disk: told, and no death."""
    with Server(program, tmp_path, "--backend", "nvml", "--state", tmp_path / "state", env=two_gpus(tmp_path)) as s:
        s.ready()
        resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, (100, 100))
        s.wait(lambda: any(e["kind"] == "state" for e in s.json("/api/v1/findings")["log"]))
        told = observed(s)
        s.wait(lambda: observed(s) > told)


def kept_or_new(program, folder, faults):
    """What was told of a server whose state folder fails, which is killed then, and what the next one tells: (told, created) of both."""
    om = {"Accept": "application/openmetrics-text;version=1.0.0"}
    told = (0.0, 0.0)

    def ask(s):
        found = samples(s.ask(headers=om)[2])
        return (total_of(found, "assay_gpu_observed_seconds_total", 'gpu="0"'), total_of(found, "assay_gpu_observed_seconds_created", 'gpu="0"'))

    with Server(program, folder, "--backend", "nvml", "--state", folder / "state", env=two_gpus(folder, **faults)) as s:
        s.ready()
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            now = ask(s)
            assert now >= told or now == (0.0, 0.0), "it goes back while it runs"
            told = max(told, now)
            time.sleep(0.05)
        s.stop(9)
    with Server(program, folder, "--backend", "nvml", "--state", folder / "state", env=two_gpus(folder)) as s:
        s.ready()
        s.wait(lambda: ask(s)[0] > 0)
        return told, ask(s)


def total_of(found, family, label):
    return sum(v for k, v in found.items() if k.startswith(family) and label in k)


@pytest.mark.parametrize("code,more", [("30", {"FAIL_TRUNCATE": "1"}), ("5", {"FAIL_TRUNCATE": "1"}), ("28", {}), ("28", {"FAIL_TRUNCATE": "1"}),
                                       ("28", {"FAIL_SHORT": "1", "FAIL_TRUNCATE": "1"})],
                         ids=["read-only", "io-error", "full", "full-and-stuck", "short"])
@pytest.mark.parametrize("write", [1, 4, 7, pytest.param(2, marks=pytest.mark.long), pytest.param(3, marks=pytest.mark.long),
                                   *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 40, 3))])
def test_counters_never_go_back(program, tmp_path, code, more, write):
    """Whichever write fails, and whatever else does: after kill -9 a counter goes on from what was told, or begins with a later created time."""
    for again in range(2):  # the second one finds what the first left
        told, after = kept_or_new(program, tmp_path, {"LD_PRELOAD": str(PARTS / "libfail.so"), "FAIL_WRITE": str(write), "FAIL_ERRNO": code, "FAIL_EVERY": "1", **more})
        assert after[1] > told[1] or after[0] >= told[0], (again, told, after)
    tried("kills", 2)
    tried("faults", 2)


def test_a_storm_of_readers(program, tmp_path):
    """64 streams that read nothing and four that scrape as fast as they can: the sampler keeps on, /health answers."""
    with Server(program, tmp_path, "--backend", "nvml", env=two_gpus(tmp_path)) as s, contextlib.ExitStack() as stack:
        s.ready()
        for _ in range(64):
            c = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=20))
            c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in c.recv(64)
        over, done = threading.Event(), []

        def scrape():
            while not over.is_set():
                done.append(s.ask("/metrics")[0])

        threads = [threading.Thread(target=scrape) for _ in range(4)]
        begun, before = time.monotonic(), observed(s)
        for t in threads:
            t.start()
        try:
            s.wait(lambda: observed(s) > before + 1.5)
            assert s.ask("/health")[0] == 200
            passed = time.monotonic() - begun
        finally:
            over.set()
            for t in threads:
                t.join()
        assert len(done) > 20 and set(done) == {200}
        ticks = {k: float(v) for k, v in re.findall(r'assay_sampler_ticks_total\{result="(\w+)"\} (\S+)', s.metrics())}
        assert sum(ticks.values()) > 5 * min(passed, 1.5), ticks
