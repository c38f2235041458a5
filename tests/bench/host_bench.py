"""What watching the host costs, beside ps, psutil and htop.

    host_bench.py BUILD [children] [processes]

Prints µs of CPU a process and look for each, then the share of a core that `assay export --host`
takes for 300 children of one target at 10 Hz and for 5,000 processes at system level at 1 Hz.
"""
import csv
import io
import os
import pty
import resource
import signal
import subprocess
import sys
import time

# Forks sleeping children, tells that it is done, and ends them all when its input closes.
NURSERY = """
import os, signal, sys
children = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            signal.pause()
    children.append(pid)
print("ready", flush=True)
sys.stdin.read()
for pid in children:
    os.kill(pid, signal.SIGTERM)
for pid in children:
    os.waitpid(pid, 0)
"""


class Nursery:
    """A process with so many sleeping children."""

    def __init__(self, count):
        self.process = subprocess.Popen([sys.executable, "-c", NURSERY, str(count)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        self.process.wait()


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def process_count():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def export(assay, args, poll, ticks):
    """Rows of the export, and the share of one core it took."""
    before = children_cpu()
    begin = time.monotonic()
    done = subprocess.run([assay, "export", "--host", "--poll", str(poll), "--count", str(ticks), *args],
                          capture_output=True, text=True, check=True)
    wall = time.monotonic() - begin
    return list(csv.DictReader(io.StringIO(done.stdout))), (children_cpu() - before) / wall


def cost_of_ps(looks=5):
    before = children_cpu()
    for _ in range(looks):
        subprocess.run(["ps", "-e", "-o", "pid,ppid,time,rss,nlwp,uid,comm"], stdout=subprocess.DEVNULL, check=True)
    return (children_cpu() - before) / looks / process_count() * 1e6


def cost_of_psutil(looks=3):
    """psutil's process_iter with the fields the scanner reads."""
    try:
        import psutil
    except ImportError:
        return None
    fields = ["pid", "ppid", "cpu_times", "memory_info", "num_threads", "uids", "name", "create_time", "io_counters"]
    list(psutil.process_iter(fields))
    begin = time.process_time()
    for _ in range(looks):
        list(psutil.process_iter(fields))
    return (time.process_time() - begin) / looks / process_count() * 1e6


def cost_of_htop(seconds=6):
    """htop in a terminal of its own, once a second."""
    try:
        pid, terminal = pty.fork()
    except OSError:
        return None
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp("htop", ["htop", "-d", "10"])
    os.set_blocking(terminal, False)
    time.sleep(1)
    begin = cpu_of(pid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.read(terminal, 65536)
        except OSError:
            pass
        time.sleep(0.05)
    used = cpu_of(pid) - begin
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    os.close(terminal)
    return used / seconds / process_count() * 1e6


def cpu_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost_of_scanner(build, looks=20):
    done = subprocess.run([os.path.join(build, "tests", "host_bench"), str(looks), "50"],
                          capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def compare(build):
    ours = cost_of_scanner(build)
    print(f"  {process_count()} processes, us of CPU a process and look")
    for name, cost in (("assay", ours), ("ps -e", cost_of_ps()), ("psutil", cost_of_psutil()), ("htop", cost_of_htop())):
        if cost is None:
            print(f"  {name:8} not here")
        else:
            print(f"  {name:8} {cost:8.2f}  {cost / ours:6.1f} x")


def main():
    build = sys.argv[1]
    assay = os.environ.get("ASSAY", os.path.join(build, "assay"))
    children = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    processes = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    with Nursery(children) as target:
        rows, share = export(assay, ["--levels", "process", "--pid", str(target.pid)], 0.1, 80)
        last = rows[-1]
        print(f"{children} children of one target at 10 Hz: {len(rows)} of 80 ticks, {last['ticks_missed']} missed, "
              f"{last['ticks_late']} late, {last['processes']} processes, {share * 100:.2f} % of a core")
    with Nursery(processes):
        rows, share = export(assay, ["--levels", "system"], 1, 8)
        print(f"{rows[-1]['processes']} processes, system level at 1 Hz: {share * 100:.2f} % of a core")
        rows, share = export(assay, ["--levels", "all"], 1, 8)
        print(f"{rows[-1]['processes']} processes, all levels at 1 Hz: {share * 100:.2f} % of a core")
        compare(build)


if __name__ == "__main__":
    main()
