"""All that want to know which processes there are share one listing of /proc a tick."""
import collections
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import FIXTURES, clean_env

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
END_OF_LISTING = re.compile(r"^(\d+) +getdents64\(\d+</proc>, .* = 0$", re.M)
WANTED = 12


@pytest.fixture
def traced(program, tmp_path):
    """Runs a command under strace on a GPU that a process holds, until /proc was listed often enough; gives the listings by thread."""
    if not LIBRARY.exists():
        pytest.skip("no fake NVML here")
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = tmp_path / "strace"

    def trace(*args):
        scenario = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
        with subprocess.Popen(["sleep", "60"]) as holder:
            (tmp_path / "scenario").write_text(scenario.replace("437:", f"{holder.pid}:"))
            env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY), "TERM": "xterm-256color"}
            main, terminal = pty.openpty()
            threading.Thread(target=drain, args=(main,), daemon=True).start()
            line = ["strace", "-f", "-y", "-e", "trace=getdents64", "-o", str(log), program, *args]
            with subprocess.Popen(line, env=env, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as p:
                os.close(terminal)
                end = time.monotonic() + 40
                while len(found := listings(log)) < WANTED and time.monotonic() < end and p.poll() is None:
                    time.sleep(0.1)
                if p.poll() is None:
                    os.killpg(p.pid, signal.SIGTERM)
            holder.terminate()
        return collections.Counter(found)

    return trace


def drain(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass


def listings(log):
    return END_OF_LISTING.findall(log.read_text()) if log.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("args", [
    ["top", "--interval", "0.5"],
    ["run", "-q", "--interval", "0.25", "-o", "x.assay", "--", "sleep", "60"],
    ["serve", "--listen", "127.0.0.1:0", "--interval", "0.5"],
], ids=lambda args: args[0])
def test_proc_is_listed_once_a_tick(traced, tmp_path, monkeypatch, args):
    """By the host's thread. Another lists only where it comes before the host's first tick, or where that is late."""
    monkeypatch.chdir(tmp_path)
    count = traced(*args)
    assert count.total() >= WANTED, count
    (_, most), *others = count.most_common()
    assert 4 * most >= 3 * count.total(), (count, others)  # half of them, were it not shared
