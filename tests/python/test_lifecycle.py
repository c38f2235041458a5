"""fork, exec, spawn, Ctrl-C and the end of the interpreter, with a monitor that runs."""
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

import assay

# Each program prints what it finds; the folder for temporary files must be empty in the end.
FORK = """
import assay, os, sys, time
m = assay.Monitor(interval=0.1).start()
log = assay.RunLog()
m.wait(5)
pid = os.fork()
if pid == 0:
    codes = set()
    for ask in (m.latest, m.stop, m.report, m.describe, lambda: m.counts, lambda: m.columns("system"), lambda: m.save("x.assay")):
        try:
            ask()
        except assay.AssayError as e:
            codes.add(e.code)
    fresh = assay.Monitor(interval=0.1, levels="system").start()
    ok = fresh.wait(5) and codes == {assay.E_FORKED} and not m.running
    m.close()
    sys.exit(0 if ok else 1)
print("child", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
before = m.counts.taken
time.sleep(0.5)
print("goes on", m.running and m.counts.taken > before, os.path.exists(m.path), os.path.exists(log.path))
m.stop()
print("rows", len(m.columns("system")["time"]) >= 3)
"""

CHILDREN = """
import assay, multiprocessing, subprocess, sys, time
def work(n):
    with assay.Monitor(interval=0.1, levels="process") as mine:
        mine.wait(5)
    return n * n
def plain(n):
    return n + 1
if __name__ == "__main__":
    with assay.Monitor(interval=0.1) as m:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            print(pool.map(plain, range(4)), pool.map(work, range(2)))
        print(subprocess.run(["echo", "ran"], capture_output=True, text=True).stdout.strip())
        time.sleep(0.3)
    print(len(m.columns("process")["time"]) > 2)
"""


def run(code, *args, **env):
    return subprocess.run([sys.executable, "-c", code, *args], env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=60, check=False)


def test_fork(scratch):
    done = run(FORK)
    assert done.stdout.splitlines() == ["child 0", "goes on True True True", "rows True"], done.stderr
    assert done.returncode == 0 and not list(scratch.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children(tmp_path, method):
    path = tmp_path / "children.py"
    path.write_text(CHILDREN)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # the fork server's socket must fit into 107 bytes
        done = subprocess.run([sys.executable, path, method], env={**os.environ, "TMPDIR": short}, capture_output=True, text=True, timeout=60, check=False)
        left = [p for p in os.listdir(short) if p.startswith("assay")]
    assert done.stdout.splitlines() == ["[1, 2, 3, 4] [0, 1]", "ran", "True"], done.stderr
    assert done.returncode == 0 and not left


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise RuntimeError('boom')", "os.kill(os.getpid(), signal.SIGINT)"])
def test_exit_while_it_runs(scratch, end):
    """The interpreter ends promptly, with its own status, and nothing is left behind."""
    code = f"import assay, os, signal, sys, time\nm = assay.Monitor(interval=0.1).start()\nlog = assay.RunLog()\nm.wait(5)\n{end}"
    start = time.monotonic()
    done = run(code)
    assert time.monotonic() - start < 10
    assert done.returncode == {"pass": 0, "sys.exit(3)": 3, "raise RuntimeError('boom')": 1}.get(end, -signal.SIGINT), done.stderr
    assert not list(scratch.iterdir())


def test_ctrl_c_in_a_wait(scratch):
    """Ctrl-C reaches Python while it sleeps, and while it waits in the library."""
    for wait in ("time.sleep(60)", "[f for f in m.frames()]"):
        code = f"import assay, time\nm = assay.Monitor(interval=0.1).start()\nm.wait(5)\nprint('ready', flush=True)\n{wait}"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
        assert time.monotonic() - start < 3
        assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert not list(scratch.iterdir())


def test_exec(scratch):
    """A program that becomes another one: no thread, no descriptor goes along, and the next monitor sweeps."""
    done = run("import assay, os\nm = assay.Monitor(interval=0.1).start()\nm.wait(5)\n"
               "os.execv('/bin/ls', ['ls', '/proc/self/fd'])")
    assert done.returncode == 0 and len(done.stdout.split()) <= 4, done.stdout
    left, = scratch.iterdir()
    with assay.Monitor(interval=0.1):
        assert left.exists(), "it may be a moment old only"
    os.utime(left, (time.time() - 100, time.time() - 100))
    with assay.Monitor(interval=0.1):
        assert not left.exists()


def test_sweeping_spares_the_living(scratch):
    with assay.Monitor(interval=0.1) as one:
        folder = one.path.parent
        os.utime(folder, (time.time() - 100, time.time() - 100))
        done = run("import assay\nwith assay.Monitor(interval=0.1): pass")
        assert done.returncode == 0, done.stderr
        assert folder.exists() and one.running


THREADS = "threads = lambda: len(os.listdir('/proc/self/task'))\n"


def test_nobody_holds_it(scratch):
    """A monitor that is dropped ends, with its threads and its temporary session."""
    done = run("import assay, gc, os\n" + THREADS + "before = threads()\n"
               "for _ in range(5):\n    assay.Monitor(interval=0.1).start()\n"
               "gc.collect()\n"
               "import time\nend = time.monotonic() + 25\n"
               "while threads() > before and time.monotonic() < end:\n    time.sleep(0.02)\n"
               "print(threads() - before, assay.monitor.running_session())")
    assert done.stdout == "0 None\n", done.stderr
    assert not list(scratch.iterdir())


def test_starts_at_once_start_one(scratch):
    """Eight threads start the same monitor: one run, and nothing is left of others."""
    done = run("import assay, gc, os, threading, time\n" + THREADS +
               "for _ in range(5):\n"
               "    before = threads()\n"
               "    m = assay.Monitor(interval=0.1)\n"
               "    gate = threading.Barrier(8)\n"
               "    go = [threading.Thread(target=lambda: (gate.wait(), m.start())) for _ in range(8)]\n"
               "    [t.start() for t in go]; [t.join() for t in go]\n"
               "    assert m.running\n"
               "    m.close()\n"
               "    end = time.monotonic() + 10\n"
               "    while threads() > before and time.monotonic() < end:\n        time.sleep(0.02)\n"
               "    print(threads() - before)")
    assert done.stdout == "0\n" * 5, done.stderr
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("asked", [0.01, 0.02, 0.5])
def test_the_interval_is_the_one_that_is_kept(asked):
    with assay.Monitor(asked, levels="system") as one:
        assert one.interval == max(asked, 0.1)
        notice = one.describe().get("notice") or ""
        assert ("raised to 0.1" in notice) == (asked < 0.1), notice


def test_threads_while_it_comes_and_goes():
    """Threads that ask while the monitor is stopped, closed and started again get answers or errors, never a crash."""
    code = """
import assay, threading, time
m = assay.Monitor(interval=0.1, levels="process")
done = threading.Event()
told = set()
def ask():
    while not done.is_set():
        for question in (m.latest, m.describe, lambda: m.counts, lambda: m.wait(0.05), lambda: m.columns("process")):
            try:
                question()
                told.add("answer")
            except assay.AssayError as e:
                told.add(e.code)
threads = [threading.Thread(target=ask) for _ in range(4)]
[t.start() for t in threads]
for i in range(6):
    m.start()
    time.sleep(0.15)
    m.stop()
    m.close()
done.set()
[t.join() for t in threads]
print("answer" in told, assay.E_STOPPED in told)
"""
    done = run(code)
    assert done.returncode == 0 and done.stdout == "True True\n", done.stdout + done.stderr


def test_kill(scratch, tmp_path):
    """A session of one's own survives SIGKILL."""
    path = tmp_path / "run.assay"
    code = f"import assay, time\nm = assay.Monitor(interval=0.1, session={str(path)!r}).start()\ntime.sleep(2.5)\nprint('x', flush=True)\ntime.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.kill()
    child.wait()
    assert len(assay.open_session(path).columns("system")["time"]) >= 10


def test_the_lock_is_not_held():
    """While the library works, Python does too: a thread counts during a long wait."""
    import threading
    count = [0]
    done = threading.Event()

    def work():
        while not done.is_set():
            count[0] += 1

    with assay.Monitor(interval=5) as monitor:
        thread = threading.Thread(target=work)
        thread.start()
        before = count[0]
        start = time.monotonic()
        monitor._wait(10**6, 0.5)
        assert time.monotonic() - start >= 0.45
        gained = count[0] - before
        done.set()
        thread.join()
    assert gained > 10_000
