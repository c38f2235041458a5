"""Pairs of a training that differ in one known way, for `assay diff`, as a program marks and logs itself.

120 steps after a warm-up of no fixed length, in phases `warmup` and `train` that come once a run; every ten steps the
mean of their time, or a rate, is logged. Runs differ by 0.3 % as wholes, and start-ups by a second.

    diff_pairs.py PROGRAM ROUNDS      verdict and exit status of each pair, so often
"""
import collections
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

BASE_S = 0.042      # of a step, of which kernels
KERNELS_S = 0.039
STEPS, EVERY = 120, 10
TICK_S = 0.1
START = 1_794_726_548
BATCH = 64

# What differs: more time on the host in a step, kernels that take so many times as long, seconds of a checkpoint each
# 30 steps, samples in a batch; the verdict; the gate and the exit status with it.
Pair = collections.namedtuple("Pair", "host kernels checkpoint batch verdict gate status")
PAIRS = {
    "repeat": Pair(0, 1, 0, BATCH, "no difference", "5%", 0),
    "sleep of 60 ms": Pair(0.060, 1, 0, BATCH, "slower", "5%", 1),
    "sleep of 4 ms": Pair(0.003, 1, 0, BATCH, "slower", "3%", 1),
    "CPU loop of 60 ms": Pair(0.059, 1, 0, BATCH, "slower", "5%", 1),
    "FP32": Pair(0, 2.4, 0, BATCH, "slower", "5%", 1),
    "half batch": Pair(0, 0.53, 0, BATCH, "faster", "5%", 0),
    "checkpoints": Pair(0, 1, 0.45, BATCH, "slower", "5%", 1),
    "power cap": Pair(0, 1.12, 0, BATCH, "slower", "5%", 1),
    "repeat again": Pair(0, 1, 0, BATCH, "no difference", "5%", 0),
}
LOGS = {
    "step_s": lambda mean_s, batch: mean_s,
    "step_ms": lambda mean_s, batch: 1000 * mean_s,
    "it/s": lambda mean_s, batch: 1 / mean_s,
}


class Run:
    """Marks and moments of a run; GPU windows are made from the moments."""

    def __init__(self, rng, pair, log, waits=True):
        self.marks, self.work = [], []  # (seconds, type, name, seconds it took, value); (begin, end, share of kernels)
        whole = 1 + rng.gauss(0, 0.003)
        self.at = 4 + rng.uniform(-0.5, 0.5)
        warm = self.at
        for _ in range(10):
            self.step(rng, pair, whole * 2)
        self.at += rng.uniform(0, 1.5)
        self.marks.append((self.at, "phase", "warmup", self.at - warm, None))
        begin = last = self.at
        took = 0
        for i in range(1, STEPS + 1):
            took += self.step(rng, pair, whole)
            if pair.checkpoint and i % 30 == 0:
                self.at += pair.checkpoint * rng.uniform(0.9, 1.1)
            if i % EVERY == 0 and log:
                mean_s = (self.at - last if waits else took) / EVERY
                self.marks.append((self.at, "metric", log, None, LOGS[log](mean_s, pair.batch)))
                self.marks.append((self.at, "metric", "loss", None, 2 / i + rng.gauss(0, 0.01)))
                last, took = self.at, 0
        self.marks.append((self.at, "phase", "train", self.at - begin, None))
        self.seconds = self.at + rng.uniform(0.3, 0.6)

    def step(self, rng, pair, factor):
        kernels = KERNELS_S * pair.kernels * factor
        took = kernels + (BASE_S - KERNELS_S + pair.host) * factor * rng.gauss(1, 0.02)
        self.work.append((self.at, self.at + took, kernels / took))
        self.at += took
        return took

    def busy(self, begin, end):
        return sum(max(0, min(end, b) - max(begin, a)) * share for a, b, share in self.work) / (end - begin)


def write(program, path, run):
    """The session of a run."""
    rows = ["timestamp,gpu_id,model,gpu_util_pct,sm_active_pct,power_w,mem_used_mib"]
    for i in range(int(run.seconds / TICK_S)):
        busy = run.busy(i * TICK_S, (i + 1) * TICK_S)
        rows.append(f"{START + (i + 1) * TICK_S:.1f},0,NVIDIA H200,{100 * min(1, busy * 1.05):.1f},{90 * busy:.2f},{120 + 500 * busy:.1f},8000")
    csv = path.with_suffix(".csv")
    csv.write_text("\n".join(rows) + "\n")
    subprocess.run([program, "convert", csv, path], check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(path) as db:
        for key, value in (("command", '["./train"]'), ("command_seconds", run.seconds), ("exit_status", 0), ("interval_s", TICK_S), ("start_ns", START * 10**9)):
            db.execute("insert or replace into manifest values(?, ?)", (key, value))
        db.executemany("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value) values(?,?,?,?,?,?,?,?)",
                       [(int((START + at) * 1e9), int(at * 1e9), "vm", 1, *rest) for at, *rest in run.marks])
    return path


def compare(program, folder, name, seed, log="step_s", waits=True):
    """What `assay diff` says of one pair, and the exit status with its gate."""
    pair, rng = PAIRS[name], random.Random(f"{name} {seed}")
    sides = [write(program, folder / f"{side}.assay", Run(rng, p, log, waits)) for side, p in (("base", PAIRS["repeat"]), ("new", pair))]
    done = subprocess.run([program, "diff", *sides, "--gate", f"time={pair.gate}", "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    for side in sides:
        side.unlink()
    return json.loads(done.stdout), done.returncode


def contradictions(told):
    """Rows of the whole work whose word is the opposite of the verdict's."""
    opposite = {"slower": "faster", "faster": "slower"}.get(told["verdict"])
    return [row["name"] for row in told["rows"] + told["phases"] if row["word"] == opposite and row["name"] not in ("warmup", "start-up")]


def main():
    for log, waits in (("step_s", True), ("step_s", False), ("it/s", True), (None, True)):
        print(f"logs {log}{'' if waits else ', of the steps alone'}")
        for name, pair in PAIRS.items():
            count = collections.Counter()
            with tempfile.TemporaryDirectory() as folder:
                for seed in range(int(sys.argv[2])):
                    told, status = compare(sys.argv[1], pathlib.Path(folder), name, seed, log, waits)
                    count[told["verdict"], status, told["evidence"]] += 1
            right = sum(n for (verdict, status, _), n in count.items() if (verdict, status) == (pair.verdict, pair.status))
            print(f"  {name:<18} {right} of {sys.argv[2]} right: {dict(count)}", flush=True)


if __name__ == "__main__":
    main()
