"""A thousand exporters of a GPU each, ten of them dead and ten slow: what a frame a second costs.

    nodes_bench.py ASSAY
"""
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 20
COUNT, DEAD = 1000, 20


def ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def peak_mb(pid):
    return next(int(x.split()[1]) for x in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("VmHWM")) / 1024


def measure(name, process):
    time.sleep(4)
    before = ticks(process.pid)
    time.sleep(SECONDS)
    cpu = (ticks(process.pid) - before) / os.sysconf("SC_CLK_TCK") / SECONDS
    print(f"  {name:<44} {100 * cpu:>14.1f} %   {peak_mb(process.pid):.0f} MB at most   (bounds: 30 %, 100 MB)", flush=True)
    process.terminate()
    process.wait()


def main(program):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    print(f"{COUNT} exporters of a GPU each on loopback, {DEAD} more that are dead or silent: of one core")
    with tempfile.TemporaryDirectory() as tmp, subprocess.Popen(
            [sys.executable, HERE.parent / "system" / "endpoints.py", str(COUNT), str(DEAD)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) as server:
        ports = [server.stdout.readline() for _ in range(COUNT + DEAD)]
        listed = pathlib.Path(tmp) / "list"
        listed.write_text("".join(ports))
        out = pathlib.Path(tmp) / "out.csv"
        with open(out, "w", encoding="ascii") as file:
            measure("export", subprocess.Popen([program, "export", "timestamp,hostname", "--source", f"@{listed}"], stdout=file,
                                               stderr=subprocess.DEVNULL))
        times = {}
        for row in out.read_text().splitlines()[1:]:
            times[row.split(",")[0]] = times.get(row.split(",")[0], 0) + 1
        frames = list(times)[1:-1]
        gaps = [float(b) - float(a) for a, b in zip(frames, frames[1:])]
        whole = sum(times[t] == COUNT for t in frames)
        print(f"  {'frames with all that are well':<44} {whole:>10} of {len(frames)}   {max(gaps):.2f} s between two at most")
        main_end, terminal = pty.openpty()
        os.set_blocking(main_end, False)
        process = subprocess.Popen([program, "top", "--source", f"@{listed}"], stdin=terminal, stdout=terminal,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"})
        drain(main_end, process)
        server.stdin.close()


def drain(fd, process):
    """Reads what the dashboard draws while it is measured."""
    def read():
        while process.poll() is None:
            try:
                os.read(fd, 65536)
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                return

    threading.Thread(target=read, daemon=True).start()
    measure("top", process)


if __name__ == "__main__":
    main(sys.argv[1])
