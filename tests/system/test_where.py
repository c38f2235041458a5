"""Where the time goes: a program whose lines are known, a GPU that waits for it, and the lines in the report."""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import FIXTURES, ROOT

sys.path.insert(0, str(ROOT / "tests" / "stacks"))
import kinds  # noqa: E402

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
IDLE = (FIXTURES / "nvml" / "h200-idle.scn").read_text()
HELD = """
nvmlDeviceGetComputeRunningProcesses_v3 = 0 {pid}:1073741824
nvmlDeviceGetMemoryInfo_v2 = 0 150754820096 644939776 149036399616 1073741824
nvmlDeviceGetUtilizationRates = 0 3 1
gpm/1 = 0 3
gpm/2 = 0 3
"""

CODE = """
import json, sys, time
TEXT = [json.dumps({"a": list(range(60)), "b": "x" * 90})] * 40

def parse(texts):
    return [json.loads(t) for t in texts]  # LINE parse

def squares(n):
    return sum([i * i for i in range(n)])  # LINE squares

# Without system calls, at which a crowded machine takes the CPU away.
def burn(work, times):
    for _ in range(times):
        work()

def main():
    sys.stdin.readline()
    end = time.time() + float(sys.argv[1])
    while time.time() < end:
        burn(lambda: parse(TEXT), 60)
        burn(lambda: squares(400), 300)

main()
"""

WAITS = """
import sys, threading, time
lock = threading.Lock()

def hold():
    with lock:
        time.sleep(float(sys.argv[1]) + 1)

def main():
    sys.stdin.readline()
    threading.Thread(target=hold, daemon=True).start()
    time.sleep(0.2)
    lock.acquire(timeout=float(sys.argv[1]))  # LINE lock

main()
"""

WORKERS = """
import multiprocessing, queue, sys, time
def work(n, q):
    while True:
        s = 0
        for i in range(30000):
            s += i * i  # LINE work
        q.put(s)

def main():
    sys.stdin.readline()
    q = multiprocessing.Queue(2)
    workers = [multiprocessing.Process(target=work, args=(i, q), daemon=True) for i in range(2)]
    for w in workers:
        w.start()
    end = time.time() + float(sys.argv[1])
    while time.time() < end:
        q.get()  # LINE get
        time.sleep(0.05)  # LINE sleep
    for w in workers:
        w.kill()

if __name__ == "__main__":
    main()
"""


def line_of(code, name):
    return next(i for i, line in enumerate(code.splitlines(), 1) if f"# LINE {name}" in line)


def wait_for(path):
    """Until the recorder reads the host."""
    for _ in range(600):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                if db.execute("select 1 from evidence where cpu_main is not null limit 1").fetchall():
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.05)
    raise AssertionError("nothing is recorded")


def apart():
    """The network's counters are of the machine, on which other tests send: a network of its own where that may be had."""
    alone = ["unshare", "--net"]
    try:
        return alone if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0 else []
    except OSError:
        return []


@pytest.fixture
def recorded(program, tmp_path):
    """Records a program that holds a GPU, which has next to nothing to do."""

    def run(code, *more, seconds=6, cpus=None):
        path, scenario, script = tmp_path / "run.assay", tmp_path / "scenario", tmp_path / "train.py"
        script.write_text(code)
        env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
        with subprocess.Popen([sys.executable, script, str(seconds)], stdin=subprocess.PIPE, text=True) as child:
            os.sched_setaffinity(child.pid, cpus or os.sched_getaffinity(0))
            scenario.write_text(IDLE + HELD.format(pid=child.pid))
            recorder = subprocess.Popen([*apart(), program, "record", "-q", "--poll", "0.1", *more, "-o", path], env=env)
            try:
                wait_for(path)
                child.stdin.write("go\n")
                child.stdin.close()
                assert child.wait(60) == 0
            finally:
                recorder.terminate()
                recorder.wait(20)
                child.kill()
        return path, script

    return run


def parts_of(report):
    """The parts of the first finding."""
    finding = report["findings"][0]
    if finding["limiter"] == "host.network":
        pytest.skip("other programs of this machine use its network")
    return finding, {part["what"]: part for part in finding["where"]}


def test_the_line_of_a_busy_thread(assay, recorded):
    path, script = recorded(CODE)
    report = json.loads(assay("report", path, "--format", "json").stdout)
    finding, parts = parts_of(report)
    place = parts["code"]["places"][0]
    assert (place["own"]["file"], place["own"]["line"]) == (str(script), line_of(CODE, "parse"))
    assert place["inner"]["file"].endswith(("json/decoder.py", "json/__init__.py"))
    assert 0.45 < place["share"] < 0.95  # three quarters of its CPU time
    assert "parse it once" in finding["try"] or "ask for more cores" in finding["try"]
    text = " ".join(assay("report", path).stdout.split())
    assert f"train.py:{line_of(CODE, 'parse')} parse" in text and "where:" in text
    assert f"train.py:{line_of(CODE, 'parse')} parse" in assay("report", path, "--format", "html").stdout


@pytest.fixture
def crowded_cpu():
    """A CPU that four others want all the time; None where the kernel does not count who waits for it."""
    if not os.path.exists("/proc/self/schedstat"):
        pytest.skip("this kernel does not count the time that threads wait for a CPU")
    cpu = {min(os.sched_getaffinity(0))}
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    for burner in burners:
        os.sched_setaffinity(burner.pid, cpu)
    yield cpu
    for burner in burners:
        burner.kill()
        burner.wait()


def test_a_thread_that_others_keep_off_its_cpu(assay, recorded, crowded_cpu):
    """It is busy, although it has a fifth of a core, and its line is the one that it is in."""
    path, script = recorded(CODE, cpus=crowded_cpu)
    report = json.loads(assay("report", path, "--format", "json").stdout)
    finding, parts = parts_of(report)
    assert finding["limiter"] == "host.code", finding
    evidence = report["stretches"][finding["stretch"]]["evidence"]
    assert evidence["cpu_main"] < 0.5 < evidence["cpu_queued"]
    assert "ask for more cores" in finding["try"]
    place = parts["code"]["places"][0]
    assert (place["own"]["file"], place["own"]["line"]) == (str(script), line_of(CODE, "parse"))
    assert place["share"] > 0.45
    text = " ".join(assay("report", path).stdout.split())
    assert "waited for a CPU" in text and "% of the time, as others used them" in text
    with sqlite3.connect(path) as db:
        assert db.execute("select max(cpu_queued) from evidence").fetchone()[0] > 0.5


def test_the_line_a_thread_waits_in(assay, recorded):
    path, _ = recorded(WAITS)
    finding, parts = parts_of(json.loads(assay("report", path, "--format", "json").stdout))
    place = parts["waiting"]["places"][0]
    assert finding["limiter"] in ("host.waiting", "idle.allocated")
    assert place["own"]["line"] == line_of(WAITS, "lock") and place["share"] > 0.8


def test_the_lines_of_workers_and_of_who_waits_for_them(assay, recorded):
    path, _ = recorded(WORKERS)
    _, parts = parts_of(json.loads(assay("report", path, "--format", "json").stdout))
    if "workers" in parts:
        place = parts["workers"]["places"][0]["own"]
        assert abs(place["line"] - line_of(WORKERS, "work")) <= 1 and place["function"] == "work"
    main = (parts.get("main") or parts["waiting"])["places"][0]["own"]
    assert main["line"] in (line_of(WORKERS, "get"), line_of(WORKERS, "sleep"))


def test_workers_are_counted(assay, recorded):
    """Two that prepare all the time, and one that rests."""
    path, _ = recorded(WORKERS.replace("for i in range(30000)", "for i in range(1000000)").replace("time.sleep(0.05)", "pass")
                       .replace("    end = ", "    multiprocessing.Process(target=time.sleep, args=(99,), daemon=True).start()\n    end = "))
    with sqlite3.connect(path) as db:
        assert db.execute("select max(workers), max(children) from evidence").fetchone() == (2, 3)


@pytest.mark.parametrize("cores, cpus, engine, says, never", [
    (7.9, 16, 0.0133, ("7.9 cores busy in 8 workers (99 % each), 16 CPUs may be used", "more workers: at most 2.0 × before all CPUs are busy",
                       "a full GPU needs 75 × as many samples"), "num_workers"),
    (7.9, 8.4, 0.3, ("(99 % each), 8.4 CPUs may be used", "no CPU is left for more workers", "more workers do not help"), "at most"),
    (2.4, 16, 0.1, ("2.4 cores busy in 8 workers (30 % each)", "the workers compute only part of the time"), "more workers:"),
])
def test_what_more_workers_can_give(assay, program, tmp_path, cores, cpus, engine, says, never):
    weave, base, path = pathlib.Path(program).parent / "tests" / "weave", ROOT / "tests/truth/loader_workers.assay", tmp_path / "out.assay"
    if not weave.exists():
        pytest.skip("no weave in this build")
    lines = ["start 1700000000000000000"]
    for i in range(150):
        lines += [f"tick {i / 10}", f"row 0 150 gr_active={engine} sm_active={engine / 2} pid=9", f"host {i / 10} 150 cpu_main=0.3 cpu_first=0.3 cpu_thread=0.3 "
                  f"cpu_children={cores} cpus={cpus} workers=8 children=11 io_wait=0 io_read=0 io_write=0 net_rx=0 net_tx=0 net_loopback=0"]
    subprocess.run([weave, base, path], input="\n".join(lines) + "\n", text=True, check=True)
    text = " ".join(assay("report", path).stdout.split())
    assert all(words in text for words in says) and never not in text, text


def test_no_lines_when_they_are_not_wanted(assay, recorded):
    path, _ = recorded(CODE, "--stacks", "off", seconds=3)
    report = json.loads(assay("report", path, "--format", "json").stdout)
    assert all(finding["where"] == [] for finding in report["findings"])
    assert "where:" not in assay("report", path).stdout


@pytest.mark.parametrize("value", ["0", "-1", "x", "1e9", "20x", "nan", ""])
def test_rates_that_make_no_sense(assay, tmp_path, value):
    done = assay("run", "--stacks", value, "-o", tmp_path / "x.assay", "--", "true")
    assert done.returncode == 125 and "--stacks" in done.stderr


@pytest.mark.parametrize("name", ["json_lines", "lzma_blocks", "polling", "shared_lock", "tokenizer"])
def test_programs_of_known_kinds(program, name):
    """Those whose line does not depend on how much of a CPU they get; ./dev bench stacks has all."""
    right, said = kinds.judge(program, name, seconds=5)
    assert right, said
