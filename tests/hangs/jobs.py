"""Jobs of a few processes that hang, or only pause: what `assay why` says of each, against what is so."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
TRAIN = (HERE / "train.py").read_text().splitlines()
SETTLES_S = 0.4

# kind of train.py -> the cause's name; the line is marked "LINE kind" there.
CAUSES = {
    "lock": "lock", "lock_of_thread": "lock", "loop": "loop", "loop_of_calls": "loop", "killed": "rank_missing", "ended": "rank_missing", "stopped": "stopped",
    "data": "data", "data_pipe": "data", "data_queue": "data", "file_open": "file", "file_dead": "file", "file_lock": "lock", "deadlock": "deadlock",
    "deadlock_of_threads": "deadlock", "swapped": "swapped", "order": "order",
}
NEEDS_ROOT = {"file_dead", "swapped"}
PAUSES = ["validate", "checkpoint", "compile_kernels", "compile_long", "read_data", "download", "pack", "parse", "tables", "threads_load", "sleeps", "training"]


def lines_of(kind):
    return [i + 1 for i, line in enumerate(TRAIN) if re.search(rf"# LINE {kind}$", line)]


@contextlib.contextmanager
def dead_mount(folder):
    """A file system whose server never answers. Needs root."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder.mkdir()
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"dead", bytes(folder), b"fuse", 0, options) != 0:
        os.close(fd)
        raise OSError(ctypes.get_errno(), "mount")
    try:
        yield
    finally:
        os.close(fd)  # ends whoever waits for it
        libc.umount2(bytes(folder), 2)


@contextlib.contextmanager
def swap_space(folder):
    """Room on disk for memory. Needs root."""
    path = folder / "swap"
    with open(path, "wb") as f:
        f.write(bytes(64 << 20))
    path.chmod(0o600)
    subprocess.run(["/sbin/mkswap", path], check=True, capture_output=True)
    subprocess.run(["/sbin/swapon", path], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["/sbin/swapoff", path], check=False, capture_output=True)


@contextlib.contextmanager
def job(kind, world=4, ranks=(2,)):
    """Starts it and gives the launcher's pid and the ranks' pids once it runs."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.mkfifo(folder / "shard.fifo")
        if kind == "file_dead":
            stack.enter_context(dead_mount(folder / "dead"))
        if kind == "swapped":
            stack.enter_context(swap_space(folder))
        keeper = None
        if kind == "file_lock":
            keeper = subprocess.Popen([sys.executable, "-c", "import fcntl, sys\nf = open(sys.argv[1], 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nprint(1, flush=True)\n"
                                       "sys.stdin.read()", folder / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            keeper.stdout.readline()
        words = "all" if ranks == "all" else ",".join(map(str, ranks))
        launcher = subprocess.Popen([sys.executable, HERE / "launch.py", str(world), kind, words, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            pids = [int(word) for word in launcher.stdout.readline().split()]
            end = time.monotonic() + 60
            while not (folder / "there").exists() and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(SETTLES_S)
            yield launcher.pid, pids
        finally:
            launcher.stdin.close()
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            launcher.wait(20)
            launcher.stdout.close()
            if keeper:
                keeper.kill()
                keeper.communicate()


def ask(program, *args, env=None):
    done = subprocess.run([program, "why", *map(str, args), "--format", "json"], capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode in (0, 1, 3) and done.stdout, (done.returncode, done.stderr)
    return done.returncode, json.loads(done.stdout)


def is_right(answer, kind, rank):
    """Whether the first cause is this rank's, in its line."""
    first = answer["causes"][0] if answer["causes"] else None
    if not first or first["rank"] != rank or first["cause"] != CAUSES[kind]:
        return False
    return CAUSES[kind] == "rank_missing" or first["line"] in lines_of(kind)


def hang(program, kind, world=4, rank=2, watch=10, env=None):
    """Runs a job that hangs: how long it took to be found, whether rightly, and the answer. A loop may be a computation: it is
    named, and not called a cause."""
    with job(kind, world, (rank,)) as (launcher, _):
        begin = time.monotonic()
        status, answer = ask(program, launcher, "--watch", watch, env=env)
        return time.monotonic() - begin + SETTLES_S, status == (3 if CAUSES[kind] == "loop" else 1) and is_right(answer, kind, rank), answer


def pause(program, kind, world=4, ranks=(0,), watch=10, env=None):
    """Runs a job that only pauses: whether a hang was found, which would be false, and the answer."""
    with job(kind, world, ranks) as (launcher, _):
        status, answer = ask(program, launcher, "--watch", watch, env=env)
        return status == 1, answer
