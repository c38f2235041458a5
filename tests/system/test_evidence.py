"""What the host does for a GPU: real processes that a fake driver says hold it."""
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

from conftest import FIXTURES

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()

# Waits for a line, works as its words say, tells what it and its children used, waits for the end of its input.
TRAINER = """
import os, resource, sys, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))
sys.stdin.readline()
if "children" in sys.argv:
    pids = [os.fork() for _ in range(1)]
    if 0 in pids:
        burn(1.5); os._exit(0)
if "thread" in sys.argv:
    t = threading.Thread(target=burn, args=(1.5,)); t.start(); t.join()
if "idle" in sys.argv:
    time.sleep(1.5)
if "children" in sys.argv:
    os.waitpid(pids[0], 0)
own, kids = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
print(own.ru_utime + own.ru_stime, kids.ru_utime + kids.ru_stime, flush=True)
sys.stdin.read()
"""


def ask(path, query):
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchall()


def record(program, tmp_path, *words):
    """A session of the trainer, from before its work to after it, and what it says that it used."""
    if not LIBRARY.exists():
        pytest.skip("no fake NVML here")
    path, scenario = tmp_path / "x.assay", tmp_path / "scenario"
    with subprocess.Popen([sys.executable, "-c", TRAINER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trainer:
        scenario.write_text(RECORDED.replace("437:", f"{trainer.pid}:"))
        env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
        recorder = subprocess.Popen([program, "record", "-q", "--interval", "0.1", "-o", str(path)], env=env)
        try:
            wait_for(path, "select 1 from evidence where cpu_main is not null limit 1")
            print("go", file=trainer.stdin, flush=True)
            used = [float(word) for word in trainer.stdout.readline().split()]
            last = ask(path, "select max(id) from host_tick")[0][0]
            wait_for(path, f"select 1 from host_tick where id > {last + 8}")
            recorder.terminate()
            assert recorder.wait(10) == 0
        finally:
            recorder.kill()
            recorder.wait()
            trainer.stdin.close()
    return path, trainer.pid, used


def wait_for(path, query):
    for _ in range(300):
        try:
            if path.exists() and ask(path, query):
                return
        except sqlite3.OperationalError:
            pass
        subprocess.run(["sleep", "0.1"], check=True)
    raise AssertionError(f"nothing came of {query}")


def seconds(path, column):
    """The rates times their windows."""
    return ask(path, f"select sum(e.{column} * t.window) from evidence e join host_ticks t on t.tick = e.tick")[0][0]


def test_children_are_apart_from_the_main_process(program, tmp_path):
    path, pid, (own, kids) = record(program, tmp_path, "children")
    assert kids > 1
    assert seconds(path, "cpu_children") == pytest.approx(kids, abs=0.15)
    assert seconds(path, "cpu_main") < own + 0.1
    assert ask(path, "select max(holders), max(holders_hidden), max(children) from evidence") == [(1, 0, 1)]
    assert ask(path, f"select distinct child, gpu from processes where ppid = {pid}") == [(1, "0")]
    assert ask(path, "select distinct framework from evidence where framework is not null") == [("none",)]


def test_a_busy_thread_is_seen(program, tmp_path):
    path, _, (own, _) = record(program, tmp_path, "thread")
    assert seconds(path, "cpu_main") == pytest.approx(own, abs=0.3)
    # As busy as this machine let it be: others use it too.
    assert 0.3 < ask(path, "select max(cpu_thread) from evidence")[0][0] <= 1
    mean = ask(path, "select avg(cpu_thread), avg(cpu_main) from evidence where cpu_thread > 0")[0]
    assert mean[0] > mean[1] / 3
    assert ask(path, "select max(cpu_children), min(cpus) from evidence")[0][0] == 0
    # The main thread waited for it: of all that time hardly any is its own.
    assert ask(path, "select avg(cpu_first) < avg(cpu_thread) / 2 from evidence where cpu_thread > 0.3") == [(1,)]


def test_a_holder_that_waits_is_quiet(program, tmp_path):
    path, _, _ = record(program, tmp_path, "idle")
    assert ask(path, "select max(cpu_thread) < 0.1, max(cpu_children) from evidence") == [(1, 0)]


def test_a_holder_that_cannot_be_seen(program, tmp_path):
    """A process of another container: it is counted, and what it does is missing."""
    if not LIBRARY.exists():
        pytest.skip("no fake NVML here")
    path, scenario = tmp_path / "x.assay", tmp_path / "scenario"
    scenario.write_text(RECORDED.replace("437:", "4194303:"))
    env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
    subprocess.run([program, "record", "-q", "--interval", "0.2", "--duration", "2", "-o", str(path)], check=True, env=env)
    assert ask(path, "select max(holders), max(holders_hidden), max(cpu_main), max(io_wait) from evidence") == [(1, 1, None, None)]


FORKS = """
import os, time
block = bytearray(os.urandom(1) * (64 << 20))
pids = [os.fork() for _ in range(4)]
time.sleep(3.5)
if 0 not in pids:
    for pid in pids: os.waitpid(pid, 0)
"""


def test_shared_pages_count_once(program, tmp_path):
    """Sixteen processes that share 64 MiB use little more than that, and reach no limit."""
    path = tmp_path / "x.assay"
    subprocess.run([program, "run", "-q", "--interval", "0.1", "-o", str(path), "--", sys.executable, "-c", FORKS], check=True)
    level = "from levels where level = 'process' and processes >= 16"
    rss, = ask(path, f"select max(rss) {level}")[0]
    known = ask(path, f"select max(memory), max(pss), max(memory_share) {level} and memory_is_bound = 0")[0]
    assert rss > 16 * 64 * 2**20
    assert known[0] is not None, "sixteen small processes are measured within seconds"
    assert known[1] <= known[0] * 1.1 and 64 * 2**20 < known[0] < rss / 3 and known[2] is not None
    assert ask(path, f"select max(memory_share) {level} and memory_is_bound = 1") == [(None,)]
