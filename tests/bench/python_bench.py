"""What a monitor in a Python process takes from it, beside a thread that asks psutil for the same figures.

    python_bench.py BUILD [rounds]

A loop of pure Python runs in turns of half a second beside a sampler at 10 Hz, and beside the same sampler that samples
once an hour. Compared with a loop that has none, what the heap happens to look like makes a tenth of difference either way;
so it still does with psutil, which keeps objects. The loop's speed by the clock tells what the interpreter lost, waiting for its lock included,
waiting for a core while other programs ran left out; the CPU time beyond the loop tells what sampling costs at all.
"""
import os
import pathlib
import statistics
import sys
import threading
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
os.environ.setdefault("ASSAY_LIB", str(BUILD / "libassay.so.0"))

import assay  # noqa: E402
import psutil  # noqa: E402

TURN_S = 0.5
OFTEN, SELDOM = 0.1, 3600.0  # seconds between samples


class Psutil:
    """Process with its descendants, and the machine: what Monitor's levels process and system hold."""

    def __init__(self, interval):
        self._interval = interval
        self._done = threading.Event()
        self._me = psutil.Process()
        self.rows = []

    def _sample(self):
        family = [self._me, *self._me.children(recursive=True)]
        self.rows.append(([(p.cpu_times(), p.memory_info(), p.io_counters(), p.num_threads()) for p in family],
                          psutil.cpu_times(percpu=True), psutil.virtual_memory(), psutil.swap_memory(),
                          psutil.disk_io_counters(), psutil.net_io_counters(), psutil.getloadavg(), len(psutil.pids())))

    def _run(self):
        while not self._done.wait(self._interval):
            self._sample()

    def start(self):
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        self._done.set()
        self._thread.join()


class Ours:
    def __init__(self, interval, levels):
        self._monitor = assay.Monitor(interval, levels=levels)

    def start(self):
        self._monitor.start()

    def stop(self):
        self._monitor.close()


def waited():
    """Seconds that this thread was ready and had no core."""
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1]) / 1e9


def loop():
    """(loops a second that it could have run, CPU seconds beyond the loop a second)."""
    loops, x = 0, 0
    delay, start, cpu, own = waited(), time.perf_counter(), time.process_time(), time.thread_time()
    while True:
        for i in range(20000):
            x += i & 7
        loops += 1
        now = time.perf_counter()
        if now - start >= TURN_S:
            break
    beyond = (time.process_time() - cpu) - (time.thread_time() - own)
    return loops / (now - start - (waited() - delay)), beyond / (now - start)


def turn(sampler):
    sampler.start()
    try:
        return loop()
    finally:
        sampler.stop()


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    makers = {"assay": lambda interval: Ours(interval, ["process", "system"]), "psutil": Psutil,
              "assay, all levels": lambda interval: Ours(interval, "all")}
    lost, costs, calm = {n: [] for n in makers}, {n: [] for n in makers}, []
    for i in range(rounds):
        for name, make in makers.items():
            pair = [(OFTEN, make), (SELDOM, make)]
            told = {interval: turn(make(interval)) for interval, make in (pair if i % 2 else pair[::-1])}
            lost[name].append(1 - told[OFTEN][0] / told[SELDOM][0])
            costs[name].append(told[OFTEN][1])
            calm.append(told[SELDOM][0])
    spread = statistics.median(abs(1 - a / b) for a, b in zip(calm, calm[len(makers):]))
    for name, words in (("assay", "loop lost, assay.Monitor at 10 Hz"), ("psutil", "loop lost, psutil in a thread at 10 Hz")):
        bound = f"   at most 0.5; turns differ by {spread * 100:.2f}" if name == "assay" else ""
        print(f"  {words:<44} {statistics.median(lost[name]) * 100:>14.2f} %{bound}")
    for name in makers:
        print(f"  {'CPU beyond the loop, ' + name:<44} {statistics.median(costs[name]) * 100:>14.2f} % of a core")


if __name__ == "__main__":
    main()
