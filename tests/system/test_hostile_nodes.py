"""Nodes that lie, flood or stall, beside one that is fair: each is told of or cut off, and takes nothing from the others."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import clean_env, tried
from test_crafted import ESCAPE, is_quiet
from test_nodes import make_assay

HOSTILE = """#!/usr/bin/python3
import json, os, sys, time
kind, command = sys.argv[1].rstrip("0123456789"), sys.argv[2:]
escape = ESCAPE
def out(*lines):
    data = "".join((x if isinstance(x, str) else json.dumps(x)) + "\\n" for x in lines).encode()
    while data:
        data = data[os.write(1, data):]
def row(index=0, uuid="GPU-1", metrics=None, **identity):
    return {"index": index, "metrics": metrics or {"gpu_util": 0.5, "power": 100}, "identity": {"uuid": uuid, "model": "H100", **identity}}
def samples(make, pause=0.05):
    n = 0
    while True:
        out(*make(n), {"end": n, "time": time.time()})
        n += 1
        time.sleep(pause)
if kind == "fair":
    os.execvp(command[0], command)
if kind == "dies":
    os.write(2, f"assay: {escape}\\n".encode())
    sys.exit(1)
if kind == "deaf":
    os.close(0)
out({"assay": "0.2.0" if kind != "escapes" else escape, "protocol": 1})
if kind == "deaf":
    time.sleep(1)
    samples(lambda n: [row()])
if kind == "half":
    os.write(1, b'{"metrics":')
    time.sleep(99)
if kind == "later":
    time.sleep(4)
    samples(lambda n: [row(uuid="GPU-later")])
if kind == "says":
    while os.fork() == 0:
        while True:
            os.write(2, b"x" * 65536)
    samples(lambda n: [row()])
if kind == "new":
    samples(lambda n: [row(i, f"GPU-{n}-{i}") for i in range(1000)], 0)
if kind == "flood":
    samples(lambda n: [row()], 0)
if kind == "odd":
    samples(lambda n: [row(0, "GPU-a", {m: [1e308, -1e308, 5e-324, 2**62][n % 4] for m in NAMES}), json.dumps(row(1, "GPU-b")).replace("0.5", "9" * 400),
                       {"index": 65535, "gi": 65535, "ci": 65535, "flat": 65535, "metrics": {}}])
if kind == "deep":
    out("[" * 200000 + "]" * 200000, '{"metrics":' * 20000)
    samples(lambda n: [row()])
if kind == "line":
    while True:
        os.write(1, b"x" * 65536)
if kind == "clock":
    samples(lambda n: [{"clock": n, "time": 1e300 if n % 2 else -1e300}, {"clock": 1, "time": 1e9}, row()])
samples(lambda n: [row(0, **{k: escape for k in ("uuid", "model", "hostname", "pci", "driver", "pod", "namespace", "container", "job", "profile")})])
"""


@pytest.fixture
def among(program, tmp_path, assay):
    """Gives the command line and environment of assay with hosts of these kinds."""
    path = make_assay(program, tmp_path / "bin")
    names = [line.split()[0] for line in assay("metrics").stdout.splitlines() if line[:1].islower()]
    script = tmp_path / "reach"
    script.write_text(HOSTILE.replace("ESCAPE", repr(ESCAPE)).replace("NAMES", repr(names)))
    script.chmod(0o755)

    def command(hosts, *args):
        tried("hostile files")
        return [program, *map(str, args), "--hosts", hosts, "--ssh", str(script)], {**clean_env(tmp_path), "PATH": f"{path}:{os.environ['PATH']}"}

    return command


def frame_of(command, timeout=30):
    line, env = command
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=timeout)
    assert done.returncode == 0 and is_quiet(done.stdout) and is_quiet(done.stderr), done
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("kind, state", [("says", "ok"), ("new", "ok"), ("flood", "ok"), ("odd", "ok"), ("deep", "down"), ("line", "down"), ("escapes", "ok"), ("dies", "down"),
                                         ("clock", "ok"), ("deaf", "ok")])
def test_beside_one(among, kind, state):
    frame, words = frame_of(among(f"fair,{kind}", "once", "--json"))
    # One that lies about its clock may seem to be late.
    states = {n["name"]: n["state"] for n in frame["nodes"]}
    assert states == {"fair": "ok", kind: state} or (kind == "clock" and states == {"fair": "ok", "clock": "late"})
    assert [g["identity"]["hostname"] for g in frame["gpus"]].count("fair") == 1
    if kind == "odd":
        assert "could not be understood\n" in words and "line 0" not in words
    line, env = among(f"fair,{kind}", "once")
    assert is_quiet(subprocess.run(line, env=env, capture_output=True, text=True, check=True, timeout=30).stdout)


def test_the_gpu_of_another(among):
    """A node that names a GPU as another does has a GPU of its own."""
    frame, _ = frame_of(among("fair,flood1,flood2", "once", "--json"))
    assert sorted(g["identity"]["hostname"] for g in frame["gpus"]) == ["fair", "flood1", "flood2"]


@pytest.mark.slow
def test_one_that_only_greets(among):
    """Who wants one moment waits for it as long as for a login."""
    began = time.monotonic()
    frame, words = frame_of(among("fair,half", "once", "--json"))
    assert 9 < time.monotonic() - began < 20 and "half: no new sample for 10 s" in words
    assert {n["name"]: n["state"] for n in frame["nodes"]} == {"fair": "ok", "half": "late"}


def test_new_names_for_ever_take_nothing_from_a_node_that_comes_later(among, tmp_path):
    line, env = among("new,later", "export", "--format", "jsonl", "--poll", "0.1")
    out = tmp_path / "out"
    with open(out, "wb") as stdout, open(tmp_path / "said", "wb") as stderr:
        p = subprocess.Popen(line, env=env, stdout=stdout, stderr=stderr)
    try:
        end = time.monotonic() + 30
        while b"GPU-later" not in out.read_bytes():
            assert time.monotonic() < end, (tmp_path / "said").read_text()
            time.sleep(0.2)
    finally:
        p.send_signal(signal.SIGINT)
        p.wait(20)
    assert "one of the nodes named more than 1024 GPUs; its later ones are left out" in (tmp_path / "said").read_text()


def test_gpus_that_come_and_go_are_counted(assay, tmp_path):
    """More have been seen than limiters and curves are kept for, and at the end fewer are there than are kept."""
    rows = [f"{1700000000 + tick},GPU-{tick}-{i},5" for tick in range(3) for i in range(1000 if tick < 2 else 10)]
    (tmp_path / "new.csv").write_text("\n".join(["timestamp,gpu_id,gpu_util_pct", *rows]) + "\n")
    text = assay("report", tmp_path / "new.csv").stdout
    assert "limiters are known for the first 1024 GPUs only, not for 976 more" in text
    page = assay("report", tmp_path / "new.csv", "--format", "html").stdout
    assert "1844674407370955" not in text + page


@pytest.mark.parametrize("kind", ["says", "flood"])
def test_one_that_writes_without_end_costs_little(among, tmp_path, kind):
    """Its standard error and its samples have a budget: no core is lost to it, and no row of the other."""
    line, env = among(f"fair,{kind}", "export", "--format", "jsonl", "--poll", "0.2")
    with open(tmp_path / "out", "wb") as stdout:
        p = subprocess.Popen(line, env=env, stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        rows = {}
        end = time.monotonic() + 20
        while rows.get("fair", 0) < 3:
            assert time.monotonic() < end
            rows = count_rows(tmp_path / "out")
        used, before, begun = cpu_seconds(p.pid), rows, time.monotonic()
        time.sleep(5)
        passed, rows = time.monotonic() - begun, count_rows(tmp_path / "out")
        assert cpu_seconds(p.pid) - used < 0.25 * passed
        assert abs((rows["fair"] - before["fair"]) - (rows[kind] - before[kind])) <= 2
        assert rows["fair"] - before["fair"] >= 0.8 * passed
    finally:
        p.send_signal(signal.SIGINT)
        p.wait(20)


def count_rows(path):
    found = {}
    for line in path.read_text().splitlines():
        if line.startswith("{") and line.endswith("}"):
            name = json.loads(line)["identity"]["hostname"]
            found[name] = found.get(name, 0) + 1
    return found


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
