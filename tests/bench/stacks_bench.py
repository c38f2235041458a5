"""Stacks: what sampling costs, what the sampled program feels of it, and how right it is.

    stacks_bench.py BUILD [cost] [lines] [accuracy]

lines records the programs of tests/stacks/kinds, and counts how often the line that makes the GPU wait is named first; accuracy runs each program of tests/stacks under each Python at hand: SECONDS=30 of each, JOBS=1 at a time, ONLY=3.11.7,3.13.0 and
NAMES=plain,fork for some. docs/STACKS.md has its table.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "stacks"))
import judge  # noqa: E402
import kinds  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
SAMPLER = BUILD / "tests/stack_shares"
ASSAY = BUILD / "assay"  # beside its fake driver

# A main process of so many threads, and workers, which together keep about one core busy.
CROWD = """
import json, os, sys, threading, time
threads, workers, threads_each = map(int, sys.argv[1:])
TEXT = json.dumps([{"a": i} for i in range(200)])

def inner(depth):
    return inner(depth - 1) if depth else json.loads(TEXT)

def work(i):
    while True:
        end = time.perf_counter() + 0.005
        while i % 2 == 0 and time.perf_counter() < end:
            inner(12)
        time.sleep(0.01 * (1 + workers) * min(threads_each, threads))

def crowd(n):
    for i in range(n):
        threading.Thread(target=work, args=(i,), daemon=True).start()

pids = []
for _ in range(workers):
    pid = os.fork()
    if pid == 0:
        crowd(threads_each - 1)
        while os.getppid() != 1:
            end = time.time() + 0.01
            while time.time() < end:
                inner(12)
            time.sleep(0.02 * workers)
        os._exit(0)
    pids.append(pid)
crowd(threads - 1)
print(os.getpid(), *pids, flush=True)
sys.stdin.readline()
for pid in pids:
    os.kill(pid, 9)
"""

# The same work again and again: how often in a second of its own CPU time.
PACE = """
import json, sys, time
TEXT = json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(50)])
def parse(): return json.loads(TEXT)
def rounds(seconds):
    n, begin = 0, time.process_time()
    while time.process_time() < begin + seconds:
        for _ in range(20):
            parse(); sum([i * i for i in range(200)])
        n += 20
    return n / (time.process_time() - begin)
rounds(0.3)
print("ready", flush=True)
for line in sys.stdin:
    print(rounds(float(line)), flush=True)
"""


def sample(pids, seconds, hz, budget, first=True):
    words = [str(p) if i or not first else f"+{p}" for i, p in enumerate(pids)]
    return subprocess.Popen([SAMPLER, str(seconds), str(hz), str(budget), *words], stdout=subprocess.PIPE, text=True)


def crowd_cost(threads, workers, threads_each, budget, seconds=20, hz=20):
    """Of a core, and looks a second at the main process and at each worker."""
    with subprocess.Popen([sys.executable, "-c", CROWD, str(threads), str(workers), str(threads_each)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as crowd:
        pids = crowd.stdout.readline().split()
        time.sleep(1)
        seen = json.loads(sample(pids, seconds, hz, budget).communicate()[0])
        crowd.communicate("\n")
    samples = {str(p["pid"]): p["samples"] for p in seen["processes"]}
    others = [samples.get(p, 0) for p in pids[1:]]
    return seen["cpu"] / seen["elapsed"], samples.get(pids[0], 0) / seconds, (min(others) / seconds if others else 0), seen


def cost():
    print("the sampler's thread: one main process, its workers, all in CPython; at 20 Hz, bound 0.5 % of a core")
    for words, *shape in (("1 process of 1 thread", 1, 0, 1), ("1 of 20 threads", 20, 0, 1), ("1 of 20 threads, 16 workers", 20, 16, 1),
                          ("1 of 20 threads, 16 workers of 8 threads", 20, 16, 8), ("1 of 200 threads, 16 workers of 8", 200, 16, 8),
                          ("1 of 20 threads, 200 workers", 20, 200, 1)):
        free, *_ = crowd_cost(*shape, budget=1, seconds=8)
        share, main, worker, seen = crowd_cost(*shape, budget=0.005)
        print(f"  {words:<42} {share * 100:5.2f} %   as much as it takes: {free * 100:.2f} %; samples a second: main process {main:.1f}, "
              f"the least of a worker {worker:.1f}; torn {seen['torn'] / max(1, seen['torn'] + seen['samples']) * 100:.2f} %")


def pace(rounds=12, seconds=2):
    """The program's own work for each second of its CPU time, with and without, by turns."""
    rates = {False: [], True: []}
    with subprocess.Popen([sys.executable, "-c", PACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        for i in range(2 * rounds):
            sampled = (i + i // 2) % 2 == 1
            sampler = sample([program.pid], 600, 20, 0.005) if sampled else None
            time.sleep(0.2)
            program.stdin.write(f"{seconds}\n")
            program.stdin.flush()
            rates[sampled].append(float(program.stdout.readline()))
            if sampler:
                sampler.kill()
                sampler.communicate()
        program.stdin.close()
    without, with_it = statistics.median(rates[False]), statistics.median(rates[True])
    spread = statistics.quantiles(rates[False], n=4)
    print(f"a program sampled at 20 Hz: {with_it / without:.4f} times its work for the same CPU time (median of {rounds} turns of {seconds} s each); "
          f"its own quartiles without: {spread[0] / without:.4f} to {spread[2] / without:.4f}")


def accuracy():
    seconds, jobs = float(os.environ.get("SECONDS", 30)), int(os.environ.get("JOBS", 1))
    only, names = os.environ.get("ONLY"), os.environ.get("NAMES")
    pythons = [(v, p) for v, p in judge.pythons() if not only or v in only.split(",")]
    names = names.split(",") if names else judge.NAMES
    print(f"programs that count their own lines' time, {seconds:g} s each at 20 Hz: the largest error of a place above 5 %, in points; bound 3")

    def one(case):
        try:
            return judge.judge(case[1], case[2], seconds, SAMPLER)
        except (AssertionError, OSError, subprocess.SubprocessError, json.JSONDecodeError) as e:
            return str(e) or repr(e)
    cases = [(v, p, name) for v, p in pythons for name in names]
    torn = {v: [0, 0] for v, _ in pythons}
    with ThreadPoolExecutor(jobs) as pool:
        for (version, _, name), seen in zip(cases, pool.map(one, cases)):
            if isinstance(seen, str) or seen is None:
                print(f"  {version:<20} {name:<14} {seen or 'no headers of this Python'}", flush=True)
                continue
            place, error = seen.worst()
            torn[version][0] += seen.raw["torn"]
            torn[version][1] += seen.samples
            print(f"  {version:<20} {name:<14} {error * 100:+5.1f} at {place:<10} {seen.samples} samples, torn {seen.torn * 100:.2f} %", flush=True)
    for version, (lost, kept) in torn.items():
        print(f"  {version:<20} torn of all: {lost / max(1, lost + kept) * 100:.2f} %")


def lines():
    print("programs that make a GPU wait, their slow line marked before: is it the first that a report names? at least 11 of 12")
    kinds.count(ASSAY, kinds.NAMES)


if __name__ == "__main__":
    for what in sys.argv[2:] or ["cost", "lines", "accuracy"]:
        if what == "cost":
            cost()
            pace()
        elif what == "lines":
            lines()
        else:
            accuracy()
