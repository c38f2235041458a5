"""assay stacks: the line that each thread is in, of a process, of the holders of a GPU, of a recording."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from conftest import FIXTURES, Popen, clean_env
from test_where import HELD, IDLE, LIBRARY, WAITS, line_of
from test_where import recorded  # noqa: F401 (a fixture)

POOL = """
import json, queue, sys, threading, time
q = queue.Queue()
TEXT = json.dumps({"a": list(range(3000))})
def pool():
    q.get()  # LINE pool
def parse():
    while True:
        json.loads(TEXT)  # LINE parse
for _ in range(5):
    threading.Thread(target=pool, daemon=True).start()
threading.Thread(target=parse, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()  # LINE main
"""
# A file name that would clear the screen, a function as long as a screen, and a thread that is asleep in it.
HOSTILE = """
import sys
name = "evil\\x1b[2J\\x07" + "n" * 3000
code = compile("def f():\\n print('ready', flush=True)\\n sys.stdin.readline()\\nf()\\n".replace("f()", "f" * 900 + "()"), name + ".py", "exec")
exec(code, {"sys": sys})
"""
TREE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time\\ntime.sleep(600)"])
print("ready", flush=True)
sys.stdin.readline()
child.kill()
"""


def look(program, *args, env=None, status=0):
    done = subprocess.run([program, "stacks", *map(str, args)], capture_output=True, text=True, check=False, timeout=60, env=env)
    assert done.returncode == status, done.stderr
    return done


def as_json(program, *args, **more):
    return json.loads(look(program, *args, "--format", "json", **more).stdout)


@pytest.fixture
def started():
    """Starts programs that are ended with the test."""
    running = []

    def start(source, *args, **more):
        child = Popen([sys.executable, "-c", source, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
        running.append(child)
        assert child.stdout.readline().strip() == "ready"
        return child

    yield start
    for child in running:
        child.stdin.close()
        try:
            child.wait(2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def settled(program, child, **more):
    """The process once its main thread reads its standard input, for which it needs the interpreter's lock first."""
    for _ in range(200):
        answer = as_json(program, child.pid, **more)
        if answer["processes"][0]["threads"][0]["call"] == "read":
            return answer
    raise AssertionError("it never reads")


def line(thread, which="own"):
    return thread[which]["line"], thread[which]["function"].split(".")[-1]


def test_every_thread_of_a_process(program, started):
    child = started(POOL)
    answer = settled(program, child)
    process, = answer["processes"]
    assert (process["pid"], process["access"], process["leads"], answer["recorded"]) == (child.pid, "readable", True, False)
    main = process["threads"][0]
    assert main["main"] and main["state"] == "waiting" and main["call"] == "read" and line(main)[0] == line_of(POOL, "main")
    at = {line(t)[0]: t for t in process["threads"]}
    assert len(process["threads"]) == 7
    assert at[line_of(POOL, "pool")]["inner"]["function"] == "Condition.wait" and not at[line_of(POOL, "pool")]["gil"]
    assert at[line_of(POOL, "parse")]["state"] == "running"
    assert [f["function"].split(".")[-1] for f in at[line_of(POOL, "parse")]["frames"]][-4:] == ["parse", "run", "_bootstrap_inner", "_bootstrap"]
    text = look(program, child.pid).stdout
    assert f"<string>:{line_of(POOL, 'pool')} pool (in threading.py:" in text and "5 threads" in text
    assert text.count("_bootstrap") == 0 and look(program, child.pid, "--all").stdout.count("_bootstrap_inner  ") == 6


def test_who_holds_the_lock(program, started):
    child = started(POOL)
    for _ in range(50):
        holders = [t for t in as_json(program, child.pid)["processes"][0]["threads"] if t["gil"]]
        assert len(holders) <= 1
        if holders:
            assert line(holders[0]) == (line_of(POOL, "parse"), "parse")
            return
    raise AssertionError("nobody ever holds it")


def test_what_a_process_started_stands_below_it(program, started):
    child = started(TREE)
    for _ in range(200):
        processes = as_json(program, child.pid)["processes"]
        if len(processes) == 2 and processes[1]["threads"][0]["call"] == "clock_nanosleep":
            break
    assert [p["leads"] for p in processes] == [True, False] and processes[1]["ppid"] == child.pid
    assert processes[1]["threads"][0]["own"]["line"] == 2


def test_without_a_gpu_the_python_of_this_user(program, started):
    child = started(POOL)
    done = look(program, env={**os.environ, "ASSAY_NVML_LIB": "/nonexistent"})
    assert f"pid {child.pid}" in done.stdout
    assert "no process holds a GPU" in done.stderr
    answer = as_json(program)
    assert child.pid in [p["pid"] for p in answer["processes"]]


def test_the_holders_of_a_gpu(program, started, tmp_path):
    child, other = started(POOL), started(POOL)
    (tmp_path / "scenario").write_text(IDLE + HELD.format(pid=child.pid))
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    answer = as_json(program, env=env)
    pids = [p["pid"] for p in answer["processes"]]
    assert child.pid in pids and other.pid not in pids
    process = answer["processes"][pids.index(child.pid)]
    assert process["gpus"] == ["0"] and answer["gpus"][0]["gpu_util"] == 0.03
    assert "GPU 0 (3 % busy" in look(program, env=env).stdout
    # The first look knows who holds a GPU, wherever it is made.
    once = subprocess.run([program, "once"], capture_output=True, text=True, check=True, env=env).stdout
    assert str(child.pid) in once and "no process uses" not in once


@pytest.mark.parametrize("options, status, words", [
    (["--gpus", "99"], 2, "no GPU '99'"),
    (["--nvml-lib", "/nowhere", "--backend", "nvml"], 3, "/nowhere"),
    (["--backend", "dcgm"], 3, ""),
])
def test_options_about_gpus_are_used(program, tmp_path, options, status, words):
    (tmp_path / "scenario").write_text(IDLE)
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY), "ASSAY_DCGMI": "/nowhere"}
    done = look(program, *options, env=env, status=status)
    assert words in done.stderr and done.stdout == ""


def test_gpus_that_a_variable_hides(program, started, tmp_path):
    child = started(POOL)
    (tmp_path / "scenario").write_text(IDLE + HELD.format(pid=child.pid))
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY), "CUDA_VISIBLE_DEVICES": "7"}
    assert "CUDA_VISIBLE_DEVICES" in look(program, env=env, status=2).stderr
    assert '"gpus":["0"]' in look(program, "--show-all", "--format", "json", env=env).stdout


def test_ranks_in_one_place_are_told_once(program, started, tmp_path):
    children = [started(POOL, env={**os.environ, "RANK": str(i), "WORLD_SIZE": "3"}) for i in range(3)]
    for child in children:
        settled(program, child)
    held = "\n".join(["nvmlDeviceGetComputeRunningProcesses_v3 = 0 " + " ".join(f"{c.pid}:1024" for c in children)])
    (tmp_path / "scenario").write_text(IDLE + held + "\n")
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    answer = as_json(program, env=env)
    group, = answer["groups"]
    assert len(answer["processes"]) == 3
    assert [p["rank"] for p in group["processes"]] == [0, 1, 2] and group["own"]["line"] == line_of(POOL, "main")
    assert f"3 ranks (0-2) at <string>:{line_of(POOL, 'main')}\n" in look(program, env=env).stdout


def test_names_that_would_do_something_to_a_terminal(program, started):
    child = started(HOSTILE)
    settled(program, child)
    for text in (look(program, child.pid).stdout, look(program, child.pid, "--all").stdout, look(program, child.pid, "--format", "json").stdout):
        assert "\x1b" not in text and "\x07" not in text and len(text) < 20000
    frames = settled(program, child)["processes"][0]["threads"][0]["frames"]
    assert frames[0]["line"] == 3 and len(frames[0]["file"]) <= 512


def test_a_program_that_is_no_python(program):
    with subprocess.Popen(["sleep", "600"]) as child:
        process, = as_json(program, child.pid)["processes"]
        text = look(program, child.pid).stdout
        child.kill()
    assert process["access"] == "no_runtime" and process["threads"][0]["frames"] == [] and process["threads"][0]["own"] is None
    assert "no lines: no Python" in text and "nanosleep" in text


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_process_of_another_user(program, started, tmp_path):
    child = started(POOL)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(program, folder)
        done = subprocess.run([copy, "stacks", str(child.pid)], capture_output=True, text=True, check=False, cwd="/", env=clean_env(tmp_path),
                              user=65534, group=65534, extra_groups=[])
    assert done.returncode == 1, done.stderr
    assert "no lines: another user's process" in done.stdout


@pytest.mark.parametrize("args, status, words", [
    (["999999999"], 3, "no process 999999999"),
    (["0"], 2, "not the number of a process"),
    (["99999999999999999999"], 2, "not the number of a process"),
    (["1", "2"], 2, "one process or one recording"),
    (["--at", "3"], 2, "for a recording"),
    (["--at", "3", "1"], 2, "for a recording"),
    (["nothing.assay"], 3, "no such file"),
    (["http://localhost:9400"], 2, "has no stacks"),
    (["-"], 2, "has no stacks"),
    ([str(FIXTURES / "tour" / "h200-tour.dmon.txt")], 3, ""),
])
def test_what_cannot_be_looked_at(program, args, status, words):
    done = look(program, *args, status=status)
    assert words in done.stderr and done.stdout == ""


def test_a_recording(program, recorded):  # noqa: F811
    path, _ = recorded(WAITS, seconds=4)
    answer = as_json(program, path)
    assert answer["recorded"] and answer["processes"][0]["gpus"] == ["0"]
    seconds = [as_json(program, path, "--at", at)["processes"][0]["threads"][0] for at in (1, 2, 3)]
    assert all(main["main"] for main in seconds)
    at = next(i for i, main in enumerate(seconds, 1) if main["own"] and main["own"]["line"] == line_of(WAITS, "lock"))
    assert seconds[at - 1]["call"] == "futex"
    assert f"train.py:{line_of(WAITS, 'lock')} main" in look(program, path, "--at", at).stdout
    early = as_json(program, path, "--at", "0")
    assert early["time"] < answer["time"]
    done = look(program, path, "--at", "1e9", status=2)
    assert "beyond the end" in done.stderr


def test_a_recording_without_stacks(program, assay, tmp_path):
    path = tmp_path / "run.assay"
    assert assay("run", "--stacks", "off", "-o", path, "--", "true").returncode == 0
    done = look(program, path, status=3)
    assert "has no stacks" in done.stderr and "--stacks off" in done.stderr
