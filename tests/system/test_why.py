"""assay why: real jobs of a few processes that hang, or only pause, and recordings of such jobs."""
import json
import os
import subprocess
import sys
import time

import pytest

from conftest import ROOT, clean_env
from test_processes import LIBRARY, RECORDED

sys.path.insert(0, str(ROOT / "tests" / "hangs"))
import jobs  # noqa: E402

WATCH = 2
QUICK = ["lock", "stopped", "killed", "order"]


@pytest.mark.parametrize("kind", QUICK)
def test_the_rank_and_its_line_are_named(program, kind):
    seconds, right, answer = jobs.hang(program, kind, rank=1, watch=WATCH)
    assert right, json.dumps(answer, indent=1)
    assert seconds < 20 and answer["outcome"] == "found" and answer["waiting_ranks"] == 3
    node, = answer["nodes"]
    assert node["mem_total"] > node["mem_available"] > 0 and node["net_rx"] is not None, node
    if kind != "killed":
        assert answer["causes"][0]["seconds"] >= WATCH and answer["stalled_seconds"] >= WATCH


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(jobs.CAUSES) - set(QUICK)))
def test_all_kinds(program, kind):
    if kind in jobs.NEEDS_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    try:
        seconds, right, answer = jobs.hang(program, kind, rank=3, watch=WATCH)
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"not possible here: {e}")
    assert right, json.dumps(answer, indent=1)


@pytest.mark.parametrize("kind", ["compile_long", "training"])
def test_a_pause_is_no_hang(program, kind):
    found, answer = jobs.pause(program, kind, watch=WATCH)
    assert not found and answer["outcome"] == "fine", json.dumps(answer, indent=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(jobs.PAUSES) - {"compile_long", "training", "sleeps"}))
def test_other_pauses(program, kind):
    """What only computes is not told from a loop: it is pointed at, and no cause."""
    found, answer = jobs.pause(program, kind, watch=WATCH)
    assert not found and {c["cause"] for c in answer["causes"]} <= {"loop"}, json.dumps(answer, indent=1)


def test_the_page_for_people(program):
    with jobs.job("stopped", 4, (2,)) as (launcher, pids):
        done = subprocess.run([program, "why", str(launcher), "--watch", "1"], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "COLUMNS": "160"})
        page = subprocess.run([program, "why", str(launcher), "--watch", "1", "--format", "html"], capture_output=True, text=True, check=False, timeout=60)
        ticket = subprocess.run([program, "why", str(launcher), "--watch", "1", "--format", "markdown"], capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    line = jobs.lines_of("stopped")[0]
    assert done.returncode == 1 and lines[0].endswith(f": rank 2 (pid {pids[2]}) was stopped by a signal; 3 ranks wait") and lines[0].startswith("stalled for ")
    assert any(f"at train.py:{line} stopped, state T, for " in text for text in lines) and "    try: continue it: kill -CONT PID" in lines
    assert any(text.startswith("0-1, 3  3  waits in recvfrom (socket)") and "train.py:" in text for text in lines)
    assert page.stdout.startswith("<!doctype html>") and f"train.py:{line} stopped" in page.stdout and f"train.py:{line} stopped" in ticket.stdout


def test_one_process_that_waits_for_a_terminal_is_idle(program):
    main, other = os.openpty()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=other)
    time.sleep(0.5)
    status, answer = jobs.ask(program, child.pid, "--watch", 1)
    child.kill()
    child.wait()
    os.close(main)
    os.close(other)
    assert (status, answer["ranks"][0]["doing"], answer["causes"]) == (0, "idle", [])


PDB = """
import pdb
def step():
    x = 1  # LINE step
    return x
pdb.run("step()", globals())
"""


def test_a_debugger_is_named(program):
    """Of Python; and one that stops the process by ptrace."""
    inside = subprocess.Popen([sys.executable, "-c", PDB], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    held = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(1)"])
    tracer = subprocess.Popen([sys.executable, "-c", f"import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.ptrace(16, {held.pid}, 0, 0)\ntime.sleep(60)"])
    try:
        time.sleep(1.5)
        status, answer = jobs.ask(program, inside.pid, "--watch", 1)
        assert (status, answer["causes"][0]["cause"]) == (1, "debugger") and "not hung" in answer["causes"][0]["try"], answer["causes"]
        status, answer = jobs.ask(program, held.pid, "--watch", 1)
        if answer["ranks"][0]["doing"] == "moves":
            pytest.skip("nobody may trace here")
        assert (status, answer["causes"][0]["cause"], answer["causes"][0]["detail"]) == (1, "debugger", f"pid {tracer.pid}")
    finally:
        for child in (inside, tracer, held):
            child.kill()
            child.communicate()


@pytest.fixture
def gpus(tmp_path):
    """Says that the ranks hold the fake driver's GPU."""

    def env(pid, add=""):
        (tmp_path / "scenario").write_text(RECORDED.replace("437:", f"{pid}:") + add)
        return {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}

    return env


@pytest.mark.parametrize("add, cause, words", [("\n@1 * = 15\n", "gpu_lost", "GPU 0"), ("\n@0.2 xid = 79\n", "gpu_error", "XID 79: the GPU has fallen off the bus")])
def test_a_gpu_that_failed(program, gpus, add, cause, words):
    with jobs.job("data", 4, (1,)) as (launcher, pids):
        status, answer = jobs.ask(program, launcher, "--watch", WATCH, env=gpus(pids[1], add))
    first = answer["causes"][0]
    assert (status, first["cause"], first["rank"], first["gpu"]) == (1, cause, 1, "0") and words in first["detail"], json.dumps(answer, indent=1)
    assert first["line"] in jobs.lines_of("data")


STAND_IN = """#!/bin/sh
# HOST COMMAND…: one of the hosts has the job, the others do what their name says.
host=$1; shift
case $host in
gone*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
esac
program=$1; shift 2
exec "$program" stacks "$LAUNCHER" "$@"
"""


def test_a_node_that_is_gone(program, tmp_path):
    script = tmp_path / "reach"
    script.write_text(STAND_IN)
    script.chmod(0o755)
    with jobs.job("killed", 4, (3,)) as (launcher, _):
        env = {**clean_env(tmp_path), "LAUNCHER": str(launcher)}
        status, answer = jobs.ask(program, "--hosts", "node1,gone2", "--ssh", script, "--remote-assay", program, "--watch", WATCH, env=env)
    assert status == 1 and [(c["cause"], c["host"], c["rank"]) for c in answer["causes"]] == [("node_gone", "gone2", None), ("rank_missing", None, 3)]
    assert "no ssh server answers there" in answer["causes"][0]["text"] and {r["host"] for r in answer["ranks"]} == {"node1"}
    assert [n["host"] for n in answer["nodes"]] == ["node1"] and answer["nodes"][0]["mem_total"] > 0


@pytest.mark.slow
def test_a_recording_of_a_hang(program, assay, gpus, tmp_path):
    """One rank as a session: where it has been for the last seconds, and since when."""
    source = tmp_path / "train.py"
    source.write_text("import threading, time\nend = time.time() + 2\nwhile time.time() < end:\n    sum(range(1000))\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n")
    session = tmp_path / "run.assay"
    env = {**clean_env(tmp_path), "RANK": "0", "WORLD_SIZE": "1"}
    subprocess.run([program, "run", "-q", "-o", session, "--", "timeout", "8", sys.executable, source], check=False, timeout=60, env=env, capture_output=True)
    status, answer = jobs.ask(program, session, "--watch", 3)
    first = answer["causes"][0]
    assert status == 1 and answer["recorded"] and (first["cause"], first["line"]) == ("lock", 7) and 2 < first["seconds"] < 7, json.dumps(answer, indent=1)
    status, answer = jobs.ask(program, session, "--watch", 2, "--at", 1)
    assert status == 0 and answer["causes"] == []


@pytest.mark.slow
def test_older_recordings_of_a_node_are_left_out(program, tmp_path):
    """A folder of dumps has several of one node: that the older ones end before is no sign of a node that is gone."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    for name in ("old", "new"):
        source = "import time\nend = time.time() + 2.5\nwhile time.time() < end: sum(range(1000))"
        subprocess.run([program, "run", "-q", "-o", folder / f"{name}.assay", "--", sys.executable, "-c", source + f" # {name}"], check=True, timeout=60, env=clean_env(tmp_path),
                       capture_output=True)
    status, answer = jobs.ask(program, folder, "--watch", 2)
    assert status == 0 and answer["causes"] == [] and answer["n_ranks"] == 1, json.dumps(answer, indent=1)


def test_mistakes(program, tmp_path):
    def why(*args):
        done = subprocess.run([program, "why", *map(str, args)], capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stderr

    assert why(tmp_path / "nothing") == (3, f"assay: no such file: '{tmp_path}/nothing'\n       give the number of a process, a session or a folder of them\n")
    status, text = why("1", "2")
    assert status == 2 and "unexpected argument '2'" in text
    status, text = why(os.getpid(), "--at", "3")
    assert status == 2 and "--at" in text
    status, text = why("--hosts", "a", "4711")
    assert status == 2 and "other hosts, and '4711'" in text
