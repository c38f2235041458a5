"""Pairs of a training that differ in one known way, for `assay diff`, as a program marks and logs itself.

120 steps after a warm-up of no fixed length, in phases `warmup` and `train` that come once a run; every ten steps the
mean of their time, or a rate, is logged. Runs differ by 0.3 % as wholes, and start-ups by a second. What the GPU and the host did
follows from the steps; its noise is a real training's, whose samples `weave` takes.

    diff_pairs.py PROGRAM ROUNDS      verdict, exit status and cause of each pair, so often
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
RECORDING = pathlib.Path(__file__).resolve().parents[1] / "truth" / "train_block.assay"

# What differs: more time on the host in a step, and whether it computes then; kernels that take so many times as long; seconds of
# a checkpoint each 30 steps; samples in a batch; the power limit; whether the tensor cores are used. Then the verdict, the gate and the exit
# status with it, and causes that an expert accepts: a kind, with the limiter where one is named.
Pair = collections.namedtuple("Pair", "host computes kernels checkpoint batch watts tensor verdict gate status causes", defaults=(
    0, False, 1, 0, BATCH, 700, True, "slower", "5%", 1, ()))
WAITING, CODE = ("limiter host.waiting", "gaps host.waiting", "gaps unknown"), ("limiter host.code", "limiter launch", "gaps host.code", "gaps launch", "gaps unknown")
PAIRS = {
    "repeat": Pair(verdict="no difference", status=0),
    "sleep of 60 ms": Pair(host=0.060, causes=WAITING),
    "sleep of 4 ms": Pair(host=0.003, gate="3%", causes=(*WAITING, "gaps compute.tensor", "gaps kernel")),
    "CPU loop of 60 ms": Pair(host=0.059, computes=True, causes=CODE),
    "FP32": Pair(kernels=2.4, tensor=False, causes=("kernels", "limiter compute.fp32")),
    "half batch": Pair(kernels=0.53, batch=BATCH // 2, verdict="faster", status=0, causes=("kernels",)),
    "checkpoints": Pair(checkpoint=0.45, causes=("limiter host.storage", "gaps")),
    "power cap": Pair(kernels=1.12, watts=450, causes=("power_limit",)),
    "repeat again": Pair(verdict="no difference", status=0),
}
LOGS = {
    "step_s": lambda mean_s, batch: mean_s,
    "step_ms": lambda mean_s, batch: 1000 * mean_s,
    "it/s": lambda mean_s, batch: 1 / mean_s,
}

# A part of the run: the share of its time in which kernels ran, and in which the program's thread computed, or stored.
Part = collections.namedtuple("Part", "begin end kernels computes stores")


class Run:
    """Marks and moments of a run; GPU windows are made from the moments."""

    def __init__(self, rng, pair, log, waits=True):
        self.rng, self.pair = rng, pair
        self.marks, self.work = [], []  # (seconds, type, name, seconds it took, value)
        whole = 1 + rng.gauss(0, 0.003)
        self.at = 4 + rng.uniform(-0.5, 0.5)
        self.work.append(Part(0.2, self.at, 0, 1, 0))
        warm = self.at
        for _ in range(10):
            self.step(whole * 2)
        self.at += rng.uniform(0, 1.5)
        self.marks.append((self.at, "phase", "warmup", self.at - warm, None))
        begin = last = self.at
        took = 0
        for i in range(1, STEPS + 1):
            took += self.step(whole)
            if pair.checkpoint and i % 30 == 0:
                saved = pair.checkpoint * rng.uniform(0.9, 1.1)
                self.work.append(Part(self.at, self.at + saved, 0, 0.3, 1))
                self.at += saved
            if i % EVERY == 0 and log:
                mean_s = (self.at - last if waits else took) / EVERY
                self.marks.append((self.at, "metric", log, None, LOGS[log](mean_s, pair.batch)))
                self.marks.append((self.at, "metric", "loss", None, 2 / i + rng.gauss(0, 0.01)))
                last, took = self.at, 0
        self.marks.append((self.at, "phase", "train", self.at - begin, None))
        self.seconds = self.at + rng.uniform(0.3, 0.6)

    def step(self, factor):
        kernels = KERNELS_S * self.pair.kernels * factor
        took = kernels + (BASE_S - KERNELS_S + self.pair.host) * factor * self.rng.gauss(1, 0.02)
        computes = 1 if self.pair.computes else 1 - self.pair.host / took
        self.work.append(Part(self.at, self.at + took, kernels / took, computes, 0))
        self.at += took
        return took

    def mean(self, begin, end, what):
        """Of a share, over a window."""
        return sum(max(0, min(end, p.end) - max(begin, p.begin)) * getattr(p, what) for p in self.work) / (end - begin)

    def samples(self):
        """The ticks of the GPU and of the host, as `weave` takes them."""
        lines = []
        clock = 1980 if self.pair.watts == 700 else 1980 / self.pair.kernels
        for i in range(int(self.seconds / TICK_S)):
            t = (i + 1) * TICK_S
            busy, cpu, stores = (self.mean(t - TICK_S, t, what) for what in ("kernels", "computes", "stores"))
            noise, ran = self.rng.gauss(1, 0.01), min(1, busy * 1.05)
            tensor, fp32 = (0.55, 0.05) if self.pair.tensor else (0, 0.75)
            power = min(self.pair.watts, (120 + 480 * busy) * noise)
            values = {"gr_active": busy, "gpu_util": round(ran, 2), "sm_active": 0.9 * busy * noise, "tensor_active": tensor * busy * noise,
                      "fp32_active": fp32 * busy * noise, "dram_active": 0.3 * busy * noise, "power": power, "power_limit": self.pair.watts,
                      "fb_used": 8e9 if t > 3 else 0, "sm_clock": clock * 1e6 if busy else 1980e6, "sm_clock_max": 1980e6,
                      "throttle_reasons": 4 if busy and self.pair.watts < 700 else 0, "pcie_rx": 1e7 * busy, "pcie_tx": 1e7 * busy, "gpu_temp": 55, "mem_temp": 60}
            lines.append(f"tick {t:.4f}\nrow 0 {40 + i % 40} pid=1000 " + " ".join(f"{k}={v:.6g}" for k, v in values.items()))
            host = {"cpu_main": cpu, "cpu_thread": cpu, "cpu_first": cpu, "cpu_children": 0, "children": 0, "cpus": 16, "holders": 1 if t > 3 else 0,
                    "io_wait": 0.7 * stores, "io_read": 0, "io_write": 5e8 * stores, "net_rx": 1e4, "net_tx": 1e4, "net_loopback": 0}
            lines.append(f"host {t:.4f} {40 + i % 40} " + " ".join(f"{k}={v:.6g}" for k, v in host.items()))
        return lines


def write(program, path, run):
    """The session of a run."""
    facts = [f"start {START * 10**9}", "text host vm", 'text command ["./train"]', "number exit_status 0", f"number interval_s {TICK_S}",
             f"number command_seconds {run.seconds}"]
    script = "\n".join([*facts, *run.samples(), f"stop {run.seconds:.3f}"]) + "\n"
    weave = pathlib.Path(program).resolve().parent / "tests" / "weave"
    subprocess.run([weave, RECORDING, path], input=script, text=True, check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(path) as db:
        db.executemany("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value) values(?,?,?,?,?,?,?,?)",
                       [(int((START + at) * 1e9), int((at + 1) * 1e9), "vm", 1, *rest) for at, *rest in run.marks])
    return path


def compare(program, folder, name, seed, log="step_s", waits=True):
    """What `assay diff` says of one pair, and the exit status with its gate."""
    pair, rng = PAIRS[name], random.Random(f"{name} {seed}")
    sides = [write(program, folder / f"{side}.assay", Run(rng, p, log, waits)) for side, p in (("base", PAIRS["repeat"]), ("new", pair))]
    done = subprocess.run([program, "diff", *sides, "--gate", f"time={pair.gate}", "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    for side in sides:
        side.unlink()
    return json.loads(done.stdout), done.returncode


def cause_of(told):
    """Its kind, with the limiter where one is named; "" where nothing is said."""
    cause = told["cause"] or {}
    return f"{cause.get('kind', '')} {cause.get('limiter') or ''}".strip()


def is_right_cause(pair, told):
    """One that an expert accepts; a verdict without a difference has none. A kind stands for all its limiters."""
    said = cause_of(told)
    return said in pair.causes or said.split(" ")[0] in pair.causes or said == "" == "".join(pair.causes)


def contradictions(told):
    """Rows of the whole work whose word is the opposite of the verdict's."""
    opposite = {"slower": "faster", "faster": "slower"}.get(told["verdict"])
    return [row["name"] for row in told["rows"] + told["phases"] if row["word"] == opposite and row["name"] not in ("warmup", "start-up")]


def main():
    for log, waits in (("step_s", True), ("step_s", False), ("it/s", True), (None, True)):
        print(f"logs {log}{'' if waits else ', of the steps alone'}")
        for name, pair in PAIRS.items():
            count, causes, good = collections.Counter(), collections.Counter(), 0
            with tempfile.TemporaryDirectory() as folder:
                for seed in range(int(sys.argv[2])):
                    told, status = compare(sys.argv[1], pathlib.Path(folder), name, seed, log, waits)
                    count[told["verdict"], status, told["evidence"]] += 1
                    causes[cause_of(told)] += 1
                    good += is_right_cause(pair, told)
            right = sum(n for (verdict, status, _), n in count.items() if (verdict, status) == (pair.verdict, pair.status))
            print(f"  {name:<18} {right} of {sys.argv[2]} right, causes {good}: {dict(count)} {dict(causes)}", flush=True)


if __name__ == "__main__":
    main()
