"""assay run leaves the command alone."""
import json
import os
import pty
import pwd
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import ROOT

TOUR = ROOT / "data" / "h200-tour.csv"


def facts(path):
    with sqlite3.connect(path) as db:
        return dict(db.execute("select * from manifest"))


def start(program, path, *command, options=(), **more):
    return subprocess.Popen([program, "run", "-o", str(path), *options, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("status", [0, 1, 3, 124, 255])
def test_exit_status_is_the_commands(assay, tmp_path, status):
    path = tmp_path / "x.assay"
    assert assay("run", "-o", path, "--", "sh", "-c", f"exit {status}").returncode == status
    assert facts(path)["exit_status"] == status


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_death_by_signal_is_the_commands(assay, tmp_path, sig):
    path = tmp_path / "x.assay"
    assert assay("run", "-o", path, "--", "sh", "-c", f"kill -{int(sig)} $$").returncode == -sig
    assert facts(path)["exit_signal"] == sig


@pytest.mark.parametrize("command, status", [(["no-such-program"], 127), (["/etc/passwd"], 126), (["/"], 126), ([], 125)])
def test_own_failures(assay, tmp_path, command, status):
    done = assay("run", "-o", tmp_path / "x.assay", "--", *command)
    assert done.returncode == status and done.stderr.startswith("assay: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["run", "--", "sh", "-c", "echo mine >&2"], ["record", "--duration", "0.2s"]], ids=lambda w: w[0])
def test_a_machine_without_a_gpu_says_so_first(assay, tmp_path, words):
    """Whoever records a night without its GPUs learns it before the command says anything."""
    if os.path.exists("/dev/nvidiactl"):
        pytest.skip("this machine has a driver")
    done = assay(words[0], "-o", tmp_path / "x.assay", *words[1:])
    first, *rest = done.stderr.splitlines()
    assert first.startswith("assay: no GPU seen (NVIDIA's library 'libnvidia-ml.so.1' cannot be loaded") and first.endswith("); recording the host only")
    assert words[0] == "record" or rest[0] == "mine"


def test_streams_are_untouched(assay, tmp_path):
    data = bytes(range(256)) * 1000
    done = assay("run", "--quiet", "-o", tmp_path / "x.assay", "--", "sh", "-c", "cat; echo no >&2", stdin=data, text=False)
    assert done.stdout == data and done.stderr == b"no\n"


def test_words_after_the_dashes_are_the_commands(assay, tmp_path):
    done = assay("run", "-q", "-o", tmp_path / "x.assay", "--", "echo", "--help", "-o", "--", "a b")
    assert done.stdout == "--help -o -- a b\n"
    assert json.loads(facts(tmp_path / "x.assay")["command"]) == ["echo", "--help", "-o", "--", "a b"]


def test_the_summary_is_short_and_on_stderr(assay, tmp_path):
    done = assay("run", "-o", tmp_path / "x.assay", "--", "true")
    assert done.stdout == "" and "ended with 0" in done.stderr and len(done.stderr.splitlines()) < 8


def test_signals_are_passed_on(program, tmp_path):
    script = "trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.05; done"
    with start(program, tmp_path / "x.assay", "sh", "-c", script) as p:
        assert p.stdout.readline() == b"ready\n"
        p.send_signal(signal.SIGUSR1)
        assert p.wait(5) == 9
        assert p.stdout.read() == b"got\n"


def test_termination_is_passed_on(program, tmp_path):
    with start(program, tmp_path / "x.assay", "sh", "-c", "echo ready; exec sleep 30") as p:
        assert p.stdout.readline() == b"ready\n"
        p.terminate()
        assert p.wait(5) == -signal.SIGTERM
    assert facts(tmp_path / "x.assay")["exit_signal"] == signal.SIGTERM


def test_ignored_signals_and_mask_reach_the_command(program, tmp_path):
    """The command finds the same signal mask and dispositions as without us."""
    look = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    alone = subprocess.run(["sh", "-c", look], capture_output=True, check=True).stdout
    with start(program, tmp_path / "x.assay", "sh", "-c", look) as p:
        assert p.stdout.read() == alone


@pytest.mark.parametrize("sig", [signal.SIGXCPU, signal.SIGPWR, signal.SIGRTMIN + 3, signal.SIGWINCH])
def test_rare_signals_are_passed_on_too(program, tmp_path, sig):
    """Queueing systems warn by some of them; one that ended the recorder would leave the command alone."""
    script = ("import signal, time; signal.signal(%d, lambda *_: exit(9)); print('ready', flush=True); time.sleep(20)"
              % sig)
    with start(program, tmp_path / "x.assay", "python3", "-c", script) as p:
        assert p.stdout.readline() == b"ready\n"
        p.send_signal(sig)
        assert p.wait(5) == 9


@pytest.mark.parametrize("before", [("run", "-q", "-o", "x.assay"), ("mark", "--log", "x.jsonl")])
def test_a_parent_that_ignores_its_children(program, tmp_path, before):
    """A server that ignores SIGCHLD hands that down; the status is told all the same."""
    look = "grep SigIgn /proc/self/status; exit 5"
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    alone = subprocess.run(["sh", "-c", look], capture_output=True, preexec_fn=ignore)
    done = subprocess.run([program, *before, "--", "sh", "-c", look], capture_output=True, preexec_fn=ignore,
                          cwd=tmp_path, timeout=10)
    assert done.returncode == 5 and done.stdout == alone.stdout, done.stderr


def test_a_hangup_that_is_ignored_ends_nothing(program, tmp_path):
    """As under nohup, when only a descendant is left."""
    path = tmp_path / "x.assay"
    with start(program, path, "sh", "-c", "setsid sleep 2 >/dev/null 2>&1 </dev/null & exit 4",
               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as p:
        assert any(b"what it started has not" in line for line in p.stderr)
        p.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(0.3)
        assert p.wait(5) == 4


@pytest.mark.parametrize("kib", [1, 40])
def test_a_limit_on_the_size_of_files(program, tmp_path, kib):
    """ulimit -f is a disk that is full: the command runs on, and finds the signal as it was."""
    script = "trap 'exit 8' XFSZ; grep -q 'SigIgn:.*1......$' /proc/self/status && exit 7; sleep 1; exit 9"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kib * 1024, kib * 1024))
    with start(program, tmp_path / "x.assay", "sh", "-c", script, options=("--interval", "0.02"),
               preexec_fn=limit) as p:
        said = p.stderr.read()
        assert p.wait(5) == 9, said
        assert b"recording" in said


def first_of(path, key):
    """What stands behind the first "key : value" of a file in /proc."""
    return next((line.partition(":")[2].strip() for line in open(path) if line.startswith(key)), None)


def test_the_machine_and_the_place_are_in_the_session(program, tmp_path):
    """Whoever opens a recording years later learns where it was made, of whom, and with which limits."""
    path, limit = tmp_path / "x.assay", 1 << 40
    cpu = max(os.sched_getaffinity(0))
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "2,3", "SLURM_JOB_ID": "4711", "XLA_FLAGS": "--x=1", "TORCHELASTIC_RESTART_COUNT": "2", "RANK": "3", "LOCAL_RANK": "1",
           "GROUP_RANK": "1", "WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "r7", "SECRET": "hidden"}
    env.pop("OMP_NUM_THREADS", None)

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.sched_setaffinity(0, {cpu})

    run = start(program, path, "true", options=("-q", "--interval", "0.25"), cwd=tmp_path, env=env, preexec_fn=limits)
    run.communicate(timeout=60)
    told, name = facts(path), os.uname()
    assert told["host"] == name.nodename and told["os"] == f"{name.sysname} {name.release} {name.machine}"
    assert told.get("cpu_model") == first_of("/proc/cpuinfo", "model name")
    assert told["memory_bytes"] == int(first_of("/proc/meminfo", "MemTotal").split()[0]) * 1024
    assert (told["cpus_online"], told["cpus_usable"]) == (os.sysconf("SC_NPROCESSORS_ONLN"), 1)
    assert told["memory_limit_bytes"] == limit
    assert (told["user"], told["uid"]) == (pwd.getpwuid(os.getuid()).pw_name, os.getuid())
    assert told["cwd"] == str(tmp_path) and told["recorder_pid"] == run.pid and told["interval_s"] == 0.25
    assert told["stop_mono_ns"] > told["start_mono_ns"]
    assert {k: told.get(f"env.{k}") for k in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "XLA_FLAGS", "TORCHELASTIC_RESTART_COUNT", "RANK", "OMP_NUM_THREADS", "SECRET")} == \
        {"CUDA_VISIBLE_DEVICES": "2,3", "SLURM_JOB_ID": "4711", "XLA_FLAGS": "--x=1", "TORCHELASTIC_RESTART_COUNT": "2", "RANK": "3", "OMP_NUM_THREADS": None, "SECRET": None}
    assert [told[k] for k in ("rank", "mpi_rank", "local_rank", "node_rank", "world_size")] == [3, 3, 1, 1, 4]


def test_descriptors_are_not_inherited(assay, tmp_path):
    done = assay("run", "-q", "-o", tmp_path / "x.assay", "--", "ls", "/proc/self/fd")
    assert done.stdout.split() == ["0", "1", "2", "3"]


def test_it_waits_for_descendants(program, tmp_path):
    """A daemon that the command leaves behind is recorded to its end; the status is the command's."""
    path = tmp_path / "x.assay"
    started = time.monotonic()
    with start(program, path, "sh", "-c", "setsid sh -c 'sleep 0.5' >/dev/null 2>&1 </dev/null & exit 4") as p:
        assert p.wait(10) == 4
        assert b"what it started has not" not in p.stderr.read()
    assert time.monotonic() - started >= 0.4
    assert facts(path)["command_seconds"] < 0.7


def test_it_says_what_it_waits_for_and_can_be_told_to_stop(program, tmp_path):
    path = tmp_path / "x.assay"
    with start(program, path, "sh", "-c", "setsid sleep 6 >/dev/null 2>&1 </dev/null & exit 4") as p:
        assert any(b"what it started has not" in line for line in p.stderr)
        p.send_signal(signal.SIGINT)
        assert p.wait(5) == 4
    assert facts(path)["exit_status"] == 4


def test_usage_of_the_command_is_kept(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("run", "-q", "-o", path, "--", sys.executable, "-c", "x = bytearray(80 << 20); sum(range(15_000_000))")
    f = facts(path)
    assert f["max_rss_bytes"] > 80 << 20 and f["cpu_user_s"] > 0.02


def test_the_session_is_named_in_the_environment(assay, tmp_path):
    done = assay("run", "-q", "-o", tmp_path / "x.assay", "--", "sh", "-c", "echo $ASSAY_SESSION")
    assert done.stdout.strip() == str(tmp_path / "x.assay")


def test_a_capture_is_played_beside_the_command(assay, tmp_path):
    path = tmp_path / "x.assay"
    assert assay("run", "-q", "-o", path, "--source", TOUR, "--", "sleep", "1").returncode == 0
    with sqlite3.connect(path) as db:
        n, first = db.execute("select count(*), min(time) from ticks").fetchone()
        gpus = db.execute("select count(*) from gpus").fetchone()[0]
    assert 7 <= n <= 13 and gpus == n
    assert abs(first - time.time()) < 20  # of now, not of the capture


def test_killing_the_recorder_leaves_the_command_alone(program, tmp_path):
    out = tmp_path / "out"
    with start(program, tmp_path / "x.assay", "sh", "-c", f"echo ready; read go; echo done > {out}", stdin=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        wait_until(lambda: "schema_version" in facts(tmp_path / "x.assay"))
        p.kill()
        p.wait()
    wait_until(lambda: out.exists() and out.read_text() == "done\n")  # its input has ended with `with`
    assert facts(tmp_path / "x.assay")["schema_version"] == 3


def test_the_terminal_is_the_commands(program, tmp_path):
    """Ctrl-C at the terminal reaches the command once, and its answer is the status."""
    script = "import signal,sys,time\nn=0\ndef f(*a):\n global n\n n+=1\nsignal.signal(signal.SIGINT,f)\nprint('ready',sys.stdin.isatty(),flush=True)\ntime.sleep(1.2)\nsys.exit(40+n)"
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(program, [program, "run", "-q", "-o", str(tmp_path / "x.assay"), "--", sys.executable, "-c", script])
    seen = b""
    while b"\n" not in seen:
        seen += os.read(fd, 100)
    os.write(fd, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert b"ready True" in seen
    assert os.waitstatus_to_exitcode(status) == 41


def test_a_name_that_is_taken_costs_no_recording(assay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.assay").write_text("mine")
    done = assay("run", "-o", "x.assay", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3 and "'x.assay' is there already; recording to 'assay-" in done.stderr
    assert (tmp_path / "x.assay").read_text() == "mine" and len(list(tmp_path.glob("assay-*.assay"))) == 1


def test_help_puts_options_before_the_command(assay):
    said = assay("run", "--help").stdout
    assert "usage: assay run [options] COMMAND" in said
    assert said.index("--levels") < said.index("--backend"), "what is the command's own comes first"


def wait_for(terminal, wanted):
    """What the terminal shows, up to what is wanted; less after ten seconds."""
    said, end = b"", time.monotonic() + 10
    while wanted not in said and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 4096)
    return said


def test_a_shell_inside_can_suspend_itself(program, tmp_path):
    """Then the shell outside has the terminal, and fg gives it back to the one inside."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PS1"] = ""
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    inner = f"{program} run -q -o {tmp_path}/x.assay -- bash --norc --noprofile -i"
    for line, wanted in ((inner + "\n", b""), ("echo in$((40+2))side\n", b"in42side"), ("suspend\n", b"Stopped"),
                         ("echo out$((40+2))side\n", b"out42side"), ("fg\n", b""), ("echo in$((50+2))side\n", b"in52side"),
                         ("exit 3\n", b""), ("echo status=$?\n", b"status=3"), ("exit\n", b"")):
        os.write(terminal, line.encode())
        assert wanted in wait_for(terminal, wanted or b"\n")
    os.waitpid(pid, 0)
    os.close(terminal)


def test_what_it_says_at_the_end_is_the_reports_finding(assay, program, tmp_path):
    """Its words are the same."""
    path = tmp_path / "x.assay"
    script = f"sleep 0.7; {program} mark -- sleep 1.5; sleep 0.7"
    said = assay("run", "--speed", "20", "--source", TOUR, "-o", path, "--", "sh", "-c", script).stderr
    lines = assay("report", path).stdout.splitlines()
    finding = lines[1].strip()
    assert finding.startswith("1 GPU 0") and finding[2:] in said and "try: " in said


def test_tasks_that_start_together_each_have_their_session(program, tmp_path):
    """As those of a job step do: nobody named the files. Sixteen with a sanitizer take longer than a disk is waited for."""
    n = 4 if "SANITIZED" in os.environ else 16
    tasks = [subprocess.Popen([program, "run", "--", "true"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(n)]
    said = [task.communicate()[1] for task in tasks]
    assert [task.returncode for task in tasks] == [0] * n and not [s for s in said if "already" in s]
    # A slow disk is not waited for: what is beside a session is put into it by whoever opens it.
    assert len(list(tmp_path.glob("*.assay"))) == n and {f.name.split("-", 2)[0] for f in tmp_path.iterdir()} == {"assay"}


@pytest.mark.parametrize("words", [["--interval", "0"], ["--weights", "1,2"], ["--gpus", "0-"]])
def test_wrong_options_run_nothing(assay, tmp_path, words):
    done = assay("run", *words, "-o", tmp_path / "x.assay", "--", "touch", tmp_path / "ran")
    assert done.returncode == 125 and words[0] in done.stderr and list(tmp_path.iterdir()) == []


def test_an_odd_environment_is_no_wrong_option(assay, tmp_path):
    """A scheduler's variables are not the user's doing."""
    env = {"CUDA_VISIBLE_DEVICES": "rubbish", "ROCR_VISIBLE_DEVICES": "%%", "SLURM_JOB_GPUS": "(null)"}
    assert assay("run", "-q", "-o", tmp_path / "x.assay", "--", "sh", "-c", "exit 3", env=env).returncode == 3
