"""Steps that a program marks: none is lost or doubled, whoever is killed; what a report says of them."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import test_schema

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"

PROGRAM = """
import ctypes, os, signal, sys, threading, time
lib = ctypes.CDLL(os.environ["ASSAY_LIB"])
lib.assay_step.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_double]
lib.assay_mark_metric.argtypes = [ctypes.c_char_p, ctypes.c_double]
lib.assay_mark_begin.argtypes = lib.assay_mark_end.argtypes = [ctypes.c_char_p]
def step(n=1, seconds=-1.0, waited=-1.0, name=None):
    return sum(lib.assay_step(name, seconds, waited) for _ in range(n))
"""


@pytest.fixture(autouse=True)
def library(program, monkeypatch):
    if os.environ.get("SANITIZED"):
        pytest.skip("a library with a sanitizer inside cannot be loaded into an interpreter")
    monkeypatch.setenv("ASSAY_LIB", str(pathlib.Path(program).parent / "libassay.so.0"))
    monkeypatch.delenv("ASSAY_SESSION", raising=False)


@pytest.fixture
def run(program, tmp_path):
    """Runs a program of Python under assay run: the session."""
    def do(code, *flags, status=0):
        path = tmp_path / "run.assay"
        done = subprocess.run([program, "run", "-q", "--interval", "0.1", *flags, "-o", path, "--", sys.executable, "-c", PROGRAM + code],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done.stderr
        return path
    return do


@pytest.fixture
def live(program, tmp_path):
    """A session that is being recorded."""
    path = tmp_path / "live.assay"
    with subprocess.Popen([program, "record", "-q", "--interval", "0.1", "-o", str(path)], stderr=subprocess.DEVNULL) as p:
        while not path.exists():
            time.sleep(0.01)
        yield path, p
        p.kill()


def ask(path, sql):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def spool(path):
    return pathlib.Path(f"{path}-marks")


def report(assay, path):
    done = assay("report", "--format", "json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_kinds(run, assay):
    path = run("""
lib.assay_mark_begin(b"eval"); assert step(3, 0.25, 0.1) == 3; lib.assay_mark_end(b"eval")
lib.assay_mark_metric(b"loss", 0.5); assert lib.assay_mark_metric(b"loss", float("nan")) < 0
assert step(2, name=b"inner") == 2 and step(name=b"x" * 128) < 0 and lib.assay_mark_begin(None) < 0
""")
    assert ask(path, "select name, seconds, waited from steps where name = 'step'") == [("step", 0.25, 0.1)] * 3
    first, second = ask(path, "select seconds, waited from steps where name = 'inner'")
    assert first == (None, None) and 0 < second[0] < 1, "the first has no step before it"
    assert ask(path, "select name, open from phases") == [("eval", 0)]
    assert ask(path, "select name, value from user_metrics") == [("loss", 0.5)]
    assert not spool(path).exists()


def test_a_program_that_is_killed_loses_none(run):
    path = run("step(20000, 0.001); os.kill(os.getpid(), signal.SIGKILL)", status=-signal.SIGKILL)
    assert ask(path, "select count(*), sum(seconds) from steps")[0] == (20000, pytest.approx(20))


def test_a_recorder_that_is_killed_loses_none(live, assay):
    path, recorder = live
    program = subprocess.Popen([sys.executable, "-c", PROGRAM + """
for line in sys.stdin:
    print(step(int(line)), flush=True)
"""], env={**os.environ, "ASSAY_SESSION": str(path)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def mark(n):
        program.stdin.write(f"{n}\n")
        program.stdin.flush()
        assert int(program.stdout.readline()) == n
    mark(10000)
    while ask(path, "select count(*) from mark")[0][0] < 10000:
        time.sleep(0.05)
    mark(100)
    recorder.kill()
    recorder.wait()
    mark(10000)
    assert report(assay, path)["steps"][0]["steps"] == 20100 - 1, "what waits is read; the first has no length"
    assert assay("report", path, "--recover").returncode == 0
    assert ask(path, "select count(*), count(distinct mono_ns) > 20000 from mark where type = 'step'") == [(20100, 1)]
    assert report(assay, path)["steps"][0]["steps"] == 20100 - 1
    program.stdin.write("5\n")
    program.stdin.flush()
    assert program.stdout.readline() == "0\n", "nobody records any more"
    program.stdin.close()
    assert program.wait(10) == 0 and not spool(path).exists()


def test_many_threads_and_children(run):
    path = run("""
threads = [threading.Thread(target=step, args=(6000, 0.5)) for _ in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
child = os.fork()
step(3000, 0.5)
if child == 0: os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""")
    counts = [n for _, n in ask(path, "select pid, count(*) from steps group by pid order by 2")]
    assert counts == [3000, 39000]


def test_without_a_recording_it_does_nothing(tmp_path):
    code = PROGRAM + "assert step(1000) == 0 and lib.assay_mark_recording() == 0"
    for env in ({}, {"ASSAY_SESSION": ""}, {"ASSAY_SESSION": str(tmp_path / "gone.assay")}):
        assert subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, check=False).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_a_recording_ends_the_marks(live):
    path, recorder = live
    code = PROGRAM + """
assert step(5) == 5
print("ready", flush=True); sys.stdin.readline()
assert step(5) == 0
"""
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "ASSAY_SESSION": str(path)}, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as p:
        p.stdout.readline()
        recorder.terminate()
        assert recorder.wait(10) == 0
        p.communicate("\n")
    assert p.returncode == 0 and ask(path, "select count(*) from steps") == [(5,)] and not spool(path).exists()


def test_a_copy_has_what_waits(live, assay, tmp_path):
    path, recorder = live
    recorder.send_signal(signal.SIGSTOP)
    subprocess.run([sys.executable, "-c", PROGRAM + "step(300, 1.0)"], env={**os.environ, "ASSAY_SESSION": str(path)}, check=True)
    assert assay("baseline", "add", "x", path, "--baselines", tmp_path / "b").returncode == 0
    recorder.send_signal(signal.SIGCONT)
    copy = next((tmp_path / "b").rglob("*.assay"))
    assert ask(copy, "select count(*) from steps") == [(300,)]


@pytest.mark.parametrize("corpus", sorted((ROOT / "tests/fuzz/corpus/tape").iterdir()), ids=lambda p: p.name)
def test_a_tape_that_harms_nobody(corpus, assay, tmp_path):
    path = tmp_path / "old.assay"
    shutil.copy(FIXTURES / "session" / "schema1.assay", path)
    spool(path).mkdir(mode=0o700)
    shutil.copy(corpus, spool(path) / "tape-1")
    (spool(path) / "tape-2").symlink_to("/etc/passwd")
    known = {"whole": 1, "hole": 2, "many": 300, "bad-type": 1, "escape": 1, "late": 1}.get(corpus.name, 0)
    found = report(assay, path)["steps"]
    assert sum(s["steps"] for s in found) == known
    assert "\x1b" not in assay("report", path).stdout
    assert assay("report", path, "--recover").returncode == 0
    assert ask(path, "select count(*) from mark where type = 'step'") == [(known,)]
    # What is no tape is somebody's file: it stays. A tape that was taken goes.
    assert sorted(p.name for p in spool(path).iterdir()) == (["tape-1"] if corpus.name in ("empty", "magic", "size", "slots") else []) + ["tape-2"]
    assert pathlib.Path("/etc/passwd").exists()


def test_shell(assay, live):
    path, recorder = live
    env = {"ASSAY_SESSION": str(path)}
    assert assay("mark", "step", env=env).returncode == 0
    assert assay("mark", "step", "--seconds", "0.5", env=env).returncode == 0
    assert assay("mark", "step", "batch", env=env).returncode == 0
    for words, what in ((["--begin"], "--begin is not for a step"), (["a", "b"], "unexpected argument 'b'"), (["--seconds", "1e10"], "0 to 1e9")):
        done = assay("mark", "step", *words, env=env)
        assert done.returncode == 2 and what in done.stderr, done.stderr
    recorder.terminate()
    recorder.wait()
    assert ask(path, "select name, seconds from steps") == [("step", None), ("step", 0.5), ("batch", None)]


def test_the_log_has_steps(assay, tmp_path):
    log = tmp_path / "run.jsonl"
    assert assay("mark", "step", "--seconds", "0.5", "--log", log).returncode == 0
    line = json.loads(log.read_text())
    assert (line["type"], line["name"], line["seconds"]) == ("step", "step", 0.5)
    log.write_text(log.read_text() * 10)
    assert report(assay, log)["steps"][0]["steps"] == 10


LOOP = """
for i in range(60):
    if i == 30:
        lib.assay_mark_begin(b"checkpoint"); time.sleep(0.3); lib.assay_mark_end(b"checkpoint")
    if i == 45:
        time.sleep(0.2)
    time.sleep(0.01)
    step(1, 0.31 if i == 30 else 0.21 if i == 45 else 0.01, 0.2 if i == 45 else 0.002)
"""


def test_report(run, assay, program):
    path = run(LOOP)
    steps = report(assay, path)["steps"][0]
    test_schema.check(test_schema.schema_of(program, "report"), [report(assay, path)], "run_report")
    assert (steps["steps"], steps["slow_steps"]) == (60, 2)
    assert steps["p50"] == pytest.approx(0.01) and steps["mean"] == pytest.approx((58 * 0.01 + 0.52) / 60) and steps["max"] == pytest.approx(0.31)
    assert steps["waited"] == pytest.approx(59 * 0.002 + 0.2) and steps["slow_seconds"] == pytest.approx(0.5) and steps["jitter"] < 1e-6
    first, second = steps["slow"]
    assert (first["step"], first["phase"]) == (31, "checkpoint") and (second["step"], second["phase"]) == (46, None)
    assert "phase checkpoint for" in first["text"] and "it waited 200 ms for data instead of 2 ms" in second["text"]
    text = assay("report", path).stdout
    assert "step: 60 steps: mean 18.3 ms, p50 10 ms" in text and "2 slow (over 1.5 times the p50)" in text


def test_what_was_different(tmp_path, assay):
    """Steps in the recording of a real GPU: one of them lies where it did nothing."""
    path = tmp_path / "tour.assay"
    shutil.copy(ROOT / "docs/example/tour.assay", path)
    db = sqlite3.connect(path)
    first, last = db.execute("select min(time), max(time) from ticks").fetchone()
    idle = db.execute("select time from gpus where gpu_util = 0 and time > ? order by 1 limit 1", (first + 3,)).fetchone()[0]
    at = first + 1
    while at < last:
        took = 2.5 if at <= idle < at + 1 else 0.5
        at += took
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values(?, 0, 'h', 1, 'step', 'step', ?)", (int(at * 1e9), took))
    db.commit()
    db.close()
    slow = report(assay, path)["steps"][0]["slow"][0]
    assert slow["seconds"] == 2.5 and "GPU busy" in slow["text"] and slow["figures"]["gpu_util"]["own"] < slow["figures"]["gpu_util"]["usual"]


def test_diff_and_ranks_take_them(run, assay, tmp_path):
    for name, seconds in (("a", 0.01), ("b", 0.02)):
        shutil.move(run(f"for i in range(40): time.sleep({seconds}); step()"), tmp_path / f"{name}.assay")
    done = json.loads(assay("diff", tmp_path / "a.assay", tmp_path / "b.assay", "--format", "json").stdout)
    row = next(r for r in done["rows"] if r["name"] == "step")
    assert done["evidence"] == "steps" and 0.5 < row["change"] < 1.5, "the runs are too short for a verdict"


def test_ranks_have_the_steps_of_their_tapes(program, assay, tmp_path):
    """Two ranks of a job, each with a tape of its own: the job's report has the steps of both."""
    job = tmp_path / "job"
    code = PROGRAM + "import os\nfor i in range(40): time.sleep(0.02 * (1 + int(os.environ['RANK']))); step()"
    ranks = [subprocess.Popen([program, "run", "-q", "--interval", "0.1", "-o", f"{job}/", "--", sys.executable, "-c", code],
                              env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "here", "MASTER_PORT": "1"}) for rank in range(2)]
    assert [r.wait(timeout=60) for r in ranks] == [0, 0]
    done = assay("report", job, "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    late = {row["rank"]: row["late_seconds"] for row in told["ranks"]}
    assert told["step"] == "step" and told["steps"] == 39 and late[0] < 0 < late[1], "the second is slower"
    for file in job.glob("*.assay"):
        assert ask(file, "select count(*) from steps") == [(40,)]


def test_messages_name_the_call(assay, tmp_path):
    for name in "ab":
        assert assay("record", "-q", "--duration", "0.3", "--interval", "0.1", "-o", tmp_path / f"{name}.assay").returncode == 0
    assert "mark steps (assay.step_end(), assay mark step)" in " ".join(assay("diff", tmp_path / "a.assay", tmp_path / "b.assay").stdout.split())


@pytest.mark.quiet
def test_a_step_costs_less_than_two_microseconds(run):
    """A call of C from Python, the recording included: the best of ten thousands."""
    path = run("""
best = 1e9
lib = ctypes.PyDLL(os.environ["ASSAY_LIB"])
lib.assay_step.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_double]
for _ in range(10):
    began = time.perf_counter()
    for _ in range(1000): lib.assay_step(None, -1.0, -1.0)
    best = min(best, time.perf_counter() - began)
assert best < 2e-3, best
""")
    assert ask(path, "select count(*) from steps") == [(10000,)]
