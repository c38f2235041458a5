"""Whatever state assay is in, `assay run` gives the command its signals and ends when it has ended."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from conftest import FIXTURES, ROOT, clean_env

DCGMI = ROOT / "tests" / "fakes" / "dcgmi"
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
SOON = 15  # seconds: what hung before hung for 18 s or for ever; a loaded machine needs its time


@pytest.fixture
def start(program, tmp_path):
    """Starts `assay run`; what is still there at the end is killed."""
    begun = []

    def run(*words, options=(), env=None, scenario=None, **more):
        extra = {}
        if scenario is not None:
            (tmp_path / "scenario").write_text(scenario)
            extra = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
        begun.append(subprocess.Popen([program, "run", "-o", str(tmp_path / "x.assay"), *map(str, options), "--", *words],
                                      env={**clean_env(tmp_path), **extra, **(env or {})}, cwd=tmp_path,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more))
        return begun[-1]

    yield run
    for p in begun:
        p.kill()
        try:
            p.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # a command that goes on without its recorder holds the pipes
            pass


@pytest.mark.parametrize("backend", ["dcgm", "auto"])
def test_its_own_dcgmi_is_no_descendant_of_the_command(start, tmp_path, backend):
    """With auto where NVML has no counters and dcgmi is on the PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dcgmi").symlink_to(DCGMI)
    log = tmp_path / "calls"
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FAKE_DCGMI": json.dumps({"log": str(log)}),
           "ASSAY_NVML_LIB": "/nonexistent"}
    p = start("sh", "-c", f"i=0; until grep -q dmon {log} || [ $((i += 1)) -gt 600 ]; do sleep 0.05; done; sleep 0.7; exit 4", options=("--backend", backend, "--interval", "0.2"), env=env)
    _, said = p.communicate(timeout=SOON)
    assert p.returncode == 4, said
    assert b"Real Utilization" in said or b"GPU" in said, said


@pytest.mark.parametrize("where", ["flag", "variable", "config"])
@pytest.mark.parametrize("option", [("--gpus", "0"), ("--weights", "hpc"), ("--missing", "zero")])
def test_the_closing_summary_opens_no_source(start, tmp_path, where, option):
    options, env = list(option), {}
    if where == "flag":
        options += ["--backend", "nvml"]
    elif where == "variable":
        env = {"ASSAY_BACKEND": "nvml"}
    else:
        (tmp_path / ".config" / "assay").mkdir(parents=True)
        (tmp_path / ".config" / "assay" / "config").write_text("backend = nvml\n")
    p = start("sh", "-c", "sleep 0.6; exit 5", options=(*options, "--interval", "0.1"), env=env, scenario=RECORDED)
    _, said = p.communicate(timeout=SOON)
    assert p.returncode == 5 and b"recorded in" in said, said


def test_a_session_that_was_removed_is_told_and_not_waited_for(start, tmp_path):
    p = start("sh", "-c", "sleep 0.3; rm -r x.assay*", options=("--backend", "nvml"), scenario=RECORDED)
    _, said = p.communicate(timeout=SOON)
    assert p.returncode == 0
    assert b"was removed" in said and b"recorded in" not in said, said


@pytest.mark.parametrize("to", ["y.assay", "sub/x.assay"])
def test_a_session_that_was_moved_is_found(start, tmp_path, to):
    p = start("sh", "-c", f"sleep 0.3; mkdir sub; mv x.assay {to}", options=("--backend", "nvml"), scenario=RECORDED)
    _, said = p.communicate(timeout=SOON)
    place = str(tmp_path / to).encode()
    assert p.returncode == 0
    assert b"x.assay' was moved to '" + place + b"' while it was recorded" in said and b"recorded in '" + place in said and b"removed" not in said, said
    assert sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*.assay*")) == [to]


@pytest.mark.parametrize("call", ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"])
def test_a_driver_that_hangs_at_once_delays_nothing(start, call):
    began = time.monotonic()
    p = start("sh", "-c", "exit 6", options=("--backend", "nvml"), scenario=f"{call} = hang\n{RECORDED}")
    p.communicate(timeout=SOON)
    assert p.returncode == 6 and time.monotonic() - began < SOON


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer has a handler of its own")
@pytest.mark.parametrize("line, said", [
    ("nvmlInit_v2 = crash segv", b"crashed in 'libnvidia-ml-fake.so' (signal 11)"),
    ("nvmlInit_v2 = crash abort", b"crashed in 'a library' (signal 6)"),
    ("nvmlInit_v2 = crash exit", b"this program was to end, says 'a library'"),
    ("nvmlDeviceGetCount_v2 = crash segv", b"(signal 11)"),
    ("@0.3 * = crash segv", b"(signal 11)"),
], ids=["init crashes", "init aborts", "init exits", "count crashes", "a call crashes later"])
@pytest.mark.parametrize("end, status", [("exit 4", 4), ("kill -9 $$", -signal.SIGKILL)])
@pytest.mark.parametrize("seconds", [0, 0.8])
def test_a_driver_that_crashes_takes_neither_the_command_nor_its_status(start, assay, tmp_path, line, said, end, status, seconds):
    p = start("sh", "-c", f"sleep {seconds}; echo done; {end}", options=("--backend", "nvml", "--interval", "0.1"), scenario=f"{line}\n{RECORDED}")
    out, words = p.communicate(timeout=SOON)
    assert (p.returncode, out) == (status, b"done\n"), words
    assert words.count(said) == 1 or (seconds == 0 and "@" in line), words
    assert b"recorded in" in words, words
    told = json.loads(assay("report", "--format", "json", tmp_path / "x.assay").stdout)
    assert told["exit_status"] == (status if status > 0 else None)
    assert not list(tmp_path.glob("x.assay-*"))


@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer has a handler of its own")
def test_a_signal_that_somebody_sends_is_no_crash(start):
    p = start("sleep", "3", options=("--backend", "nvml"), scenario=RECORDED)
    time.sleep(0.5)
    p.send_signal(signal.SIGABRT)
    _, words = p.communicate(timeout=SOON)
    assert p.returncode == -signal.SIGABRT and b"crashed" not in words, words


def test_signals_reach_the_command_while_the_driver_hangs(start):
    script = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: exit(9)); print('ready', flush=True); time.sleep(60)"
    p = start(sys.executable, "-c", script, options=("--backend", "nvml"), scenario=f"nvmlInit_v2 = hang\n{RECORDED}")
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGUSR1)
    assert p.wait(SOON) == 9


def full_pipe():
    """The writing end of a pipe that takes nothing more, and the reading one."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
        return read, write


FLUSHES = pytest.mark.skipif(os.environ.get("SANITIZED") == "thread", reason="its _exit flushes the standard error first, which is stuck")


@pytest.mark.parametrize("script", [pytest.param("exit 3", marks=FLUSHES), "kill -TERM $$"])
def test_nobody_reads_what_it_says(program, tmp_path, script):
    """The end of the recording blocks, for 2 s and no longer; the status is the command's all the same."""
    read, write = full_pipe()
    p = subprocess.Popen([program, "run", "-o", str(tmp_path / "x.assay"), "--", "sh", "-c", script], stderr=write,
                         env=clean_env(tmp_path))
    try:
        assert p.wait(SOON) == (3 if "exit" in script else -signal.SIGTERM)
    finally:
        p.kill()
        p.wait()
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGRTMIN])
def test_every_signal_ends_what_only_waits_for_a_daemon(start, tmp_path, sig):
    p = start("sh", "-c", "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!; exit 4", start_new_session=True,
              preexec_fn=lambda: signal.signal(sig, signal.SIG_DFL))  # a shell's background jobs ignore some
    daemon = int(p.stdout.readline())
    try:
        assert any(b"what it started has not" in line for line in p.stderr)
        p.send_signal(sig)
        assert p.wait(SOON) == 4
    finally:
        os.kill(daemon, signal.SIGKILL)


@pytest.mark.parametrize("sig", [signal.SIGWINCH, signal.SIGURG, signal.SIGCHLD])
def test_a_signal_that_ends_nothing_does_not_end_the_wait(start, tmp_path, sig):
    """Such as that of a terminal which changes its size."""
    p = start("sh", "-c", "setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $!; exit 4", start_new_session=True)
    daemon = int(p.stdout.readline())
    try:
        assert any(b"what it started has not" in line for line in p.stderr)
        for _ in range(3):
            p.send_signal(sig)
            time.sleep(0.1)
        assert p.poll() is None
    finally:
        os.kill(daemon, signal.SIGKILL)
    assert p.wait(SOON) == 4


COUNT = """
import os, signal, sys, time
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.signal(signal.SIGUSR2, lambda *_: (print(len(got), flush=True), os._exit(0)))
print('ready', flush=True)
while True:
    time.sleep(10)
"""


@pytest.mark.parametrize("to_group", [True, False])
def test_a_signal_arrives_as_often_as_it_was_sent(start, to_group):
    """A signal for the whole group reaches the command without us; one for us alone is passed on."""
    p = start(sys.executable, "-c", COUNT, options=("-q",), start_new_session=True)
    assert p.stdout.readline() == b"ready\n"
    send = os.killpg if to_group else os.kill
    for _ in range(3):
        send(p.pid, signal.SIGUSR1)
        time.sleep(0.3)  # signals that come together are one
    send(p.pid, signal.SIGUSR2)
    assert p.stdout.readline() == b"3\n"
    assert p.wait(SOON) == 0


@pytest.mark.parametrize("files", [4, 5, 8, 12])
def test_few_descriptors_cost_the_recording_and_not_the_command(program, tmp_path, files):
    done = subprocess.run(["sh", "-c", f"ulimit -n {files}; exec {program} run -o x.assay -- sh -c 'ulimit -n; exit 7'"], cwd=tmp_path,
                          env=clean_env(tmp_path), capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 7 and done.stdout == f"{files}\n", done.stderr
    assert "running without a recording" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("SANITIZED" in os.environ, reason="a sanitizer needs more stack itself")
@pytest.mark.parametrize("stack", [64, 128, 256])
def test_little_stack_costs_the_recording_and_not_the_command(program, tmp_path, stack):
    done = subprocess.run(["sh", "-c", f"ulimit -s {stack}; exec {program} run -o x.assay -- sh -c 'ulimit -s; exit 7'"], cwd=tmp_path,
                          env=clean_env(tmp_path), capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == 7 and done.stdout == f"{stack}\n", done.stderr
    assert "running without a recording" in done.stderr and list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="takes a user without processes")
@pytest.mark.parametrize("processes", [1, 2, 3, 6, 20])
def test_few_processes_cost_the_recording_and_not_the_command(program, tmp_path, processes):
    """Threads of ours count, too: where no process can be started beside us, the command takes our place."""
    copy, folder = tmp_path / "assay", tmp_path / "theirs"
    shutil.copy(program, copy)
    copy.chmod(0o755)
    for parent in [tmp_path, *tmp_path.parents][:-2]:
        if parent.stat().st_uid == 0:
            parent.chmod(parent.stat().st_mode | 0o011)
    folder.mkdir()
    os.chown(folder, 54321, 54321)
    user = ["prlimit", f"--nproc={processes}", "setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    said = "echo $PPID $$ ${ASSAY_SESSION:-none}; exit 7"
    done = subprocess.run([*user, copy, "run", "-o", "x.assay", "--", "sh", "-c", said], cwd=folder, env=clean_env(folder),
                          capture_output=True, text=True, timeout=SOON, check=False)
    assert done.returncode == 7 and len(done.stdout.split()) == 3, done.stderr
    if processes < 3:
        assert done.stdout.endswith(" none\n") and "running without a recording" in done.stderr and list(folder.iterdir()) == []


def test_a_low_soft_limit_stays_the_commands(program, tmp_path):
    done = subprocess.run(["sh", "-c", f"ulimit -S -n 10; exec {program} run -q -o x.assay -- sh -c 'ulimit -S -n'"], cwd=tmp_path,
                          env=clean_env(tmp_path), capture_output=True, text=True, timeout=SOON)
    assert done.stdout == "10\n" and done.stderr == "" and (tmp_path / "x.assay").exists()


def test_a_second_signal_ends_a_recording_that_nobody_reads(program, tmp_path):
    """The first completes the file; what it says then waits for a reader."""
    read, write = full_pipe()
    p = subprocess.Popen([program, "record", "-o", str(tmp_path / "x.assay"), "--source", str(ROOT / "data" / "h200-tour.csv"), "--speed", "1"],
                         stderr=write, env=clean_env(tmp_path))
    try:
        while not (tmp_path / "x.assay").exists():
            time.sleep(0.01)
        p.terminate()
        for _ in range(SOON * 10):
            if p.poll() is not None:
                break
            p.terminate()
            time.sleep(0.1)
        assert p.returncode == -signal.SIGTERM
    finally:
        p.kill()
        p.wait()
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("write", [1, 2, 6, 20])
def test_a_disk_that_hangs_keeps_no_command_waiting(start, tmp_path, write):
    """Every write from one on never ends: the command starts, says what it says, gets its signals and ends."""
    env = {"LD_PRELOAD": str(LIBRARY.parent / "libfail.so"), "FAIL_WRITE": str(write), "FAIL_EVERY": "1", "FAIL_HANG": "1"}
    p = start("sh", "-c", "trap 'exit 7' TERM; echo begun; while :; do sleep 0.05; done", options=("--log", tmp_path / "log"), env=env)
    reader, line = threading.Thread(target=lambda: line.append(p.stdout.readline())), []
    reader.start()
    reader.join(SOON)
    assert line == [b"begun\n"], "the command waits for the disk"
    p.terminate()
    _, said = p.communicate(timeout=SOON)
    assert p.returncode == 7, said
    if write == 1:
        assert b"the disk does not answer; running the command" in said and b"nothing was recorded" in said, said


def test_a_command_that_is_not_there_while_the_disk_hangs(start):
    env = {"LD_PRELOAD": str(LIBRARY.parent / "libfail.so"), "FAIL_WRITE": "1", "FAIL_EVERY": "1", "FAIL_HANG": "1"}
    p = start("/nonexistent/command", env=env)
    _, said = p.communicate(timeout=SOON)
    assert p.returncode == 127 and b"/nonexistent/command" in said, said
