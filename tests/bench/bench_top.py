#!/usr/bin/env python3
"""What the dashboard costs: the first useful screen, per frame, and beside htop and btop.

usage: bench_top.py BUILD_FOLDER [SECONDS]

The H200 tour with its rows made into those of eight GPUs, 120 columns and 40 lines. Frames are
measured by bench_frames in the build folder; whole programs by their CPU time in one tmux
geometry, after a second to settle. Only processes started here are ended.
"""
import fcntl
import os
import pathlib
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
TOUR = HERE.parent / "fixtures" / "tour" / "h200-tour.dmon.txt"
SCENARIO = HERE.parent / "fixtures" / "nvml" / "h200-bf16.scn"
WIDTH, HEIGHT = 120, 40


def many_gpus(path, n):
    """The tour for n GPUs, each some ticks ahead of the one before."""
    lines = TOUR.read_text().split("\n")
    rows = [line[len("GPU 0"):] for line in lines if line.startswith("GPU 0 ")]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines[:2]) + "\n")
        for i in range(len(rows)):
            for gpu in range(n):
                f.write(f"GPU {gpu}{rows[(i + 37 * gpu) % len(rows)]}\n")


def cpu_seconds(pid):
    """Time on a CPU of all threads of a process, in nanosecond steps."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def measure(command, seconds, folder):
    """Share of one core that a command uses in a tmux window."""
    socket = tempfile.mktemp(dir=folder)
    env = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": folder}

    def tmux(*args):
        return subprocess.run(["tmux", "-S", socket, *args], env=env, capture_output=True,
                              text=True, check=True).stdout.strip()

    tmux("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "exec " + command)
    try:
        time.sleep(1.5)
        pid = tmux("display-message", "-p", "#{pane_pid}")
        start, began = cpu_seconds(pid), time.monotonic()
        time.sleep(seconds)
        return (cpu_seconds(pid) - start) / (time.monotonic() - began)
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], check=False, capture_output=True)


def until_seen(command, text, env, patience=20):
    """Milliseconds from the start of a program until a text is on its terminal."""
    start = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        os.execvpe(command[0], command, env)
    seen = b""
    try:
        while text not in seen:
            assert select.select([fd], [], [], start + patience - time.monotonic())[0], f"{command[0]}: no {text!r}"
            seen += os.read(fd, 65536)
        return (time.monotonic() - start) * 1000
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def first_screens(build, folder, times=9):
    """The programs take turns, so that a busy moment meets all of them."""
    env = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": folder, "FAKE_NVML": str(SCENARIO),
           "ASSAY_NVML_LIB": str(build / "tests" / "libnvidia-ml-fake.so")}
    programs = {"assay top: a GPU by its name": ([str(build / "assay"), "top"], b"H200"),
                "assay top: its counters": ([str(build / "assay"), "top"], b"tensor-heavy"),
                "htop: processes": (["htop"], b"Tasks"), "btop: its boxes": (["btop", "--utf-force"], b"cpu")}
    programs = {name: p for name, p in programs.items() if shutil.which(p[0][0])}
    took = {name: [] for name in programs}
    for _ in range(times):
        for name, (command, text) in programs.items():
            took[name].append(until_seen(command, text, env))
    beside = statistics.median(took.get("htop: processes", [float("nan")]))
    for name, ms in took.items():
        print(f"  {name:<44} {statistics.median(ms):>14.0f} ms {statistics.median(ms) / beside:>8.2f} of htop's", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        first_screens(build, folder)
        eight = os.path.join(folder, "eight.txt")
        many_gpus(eight, 8)
        subprocess.run([build / "tests" / "bench_frames", eight, str(WIDTH), str(HEIGHT)], check=True)
        top = f"{build / 'assay'} top --source {eight}"
        programs = {
            "assay top, 8 GPUs, 1 Hz": f"{top} --poll 1 --speed 1",
            "assay top, 8 GPUs, 10 Hz": f"{top} --poll 0.1 --speed 1",
            "htop": "htop", "btop": "btop --utf-force"}
        for name, command in programs.items():
            if not shutil.which(command.split()[0]):
                print(f"  {name:<44} not installed")
                continue
            print(f"  {name:<44} {measure(command, seconds, folder) * 100:>14.2f} % of a core", flush=True)


if __name__ == "__main__":
    main()
