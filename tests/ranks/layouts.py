#!/usr/bin/env python3
"""Jobs of other layouts: groups of tensor parallelism, accumulation, work that rank 0 alone does, slow nodes, two stragglers.

layouts.py ASSAY WEAVE FOLDER [SEED [NUMBER…]]. A rank does its micro-batches one after another; its group meets after each, all
meet at the end of a step. What a rank did is a list of stretches of time, and each sample is the mix of what fell into it. Waiting is a
kernel on some of the SMs, as collectives have it, with a share of the SMs that is the job's own.
"""

import pathlib
import sys

import common

BASES = ("train_block", "compiled_blocks", "jax_train", "resnet", "llm_decode", "conv_fp32", "attention", "ckpt_train")
INJECTED = ("hot", "capped", "link", "loader", "disk", "late", "hangs", "seldom", "guest", "ecc", "node", "two")
HEALTHY = ("plain", "groups", "accumulation", "evaluates", "saves", "data", "numa", "stages", "warm_up", "silicon", "first_rank_logs")
CAUSE = {
    "hot": ("clock",), "capped": ("clock",), "link": ("link",), "loader": ("core",), "disk": ("storage",), "late": ("late_start",),
    "hangs": ("pauses", "slow_steps"), "seldom": ("slow_steps", "pauses"), "guest": ("other_process",), "ecc": ("memory_errors",), "node": ("clock",)}
PER_NODE = 8


class Job:
    def __init__(self, number, rng):
        self.rng = rng
        self.kind = INJECTED[number % len(INJECTED)] if number < 30 else HEALTHY[number % len(HEALTHY)]
        self.n = rng.choice((32, 48, 64)) if self.kind == "node" else rng.choice((8, 8, 12, 16, 24, 32, 64))
        self.group = rng.choice((2, 4)) if self.kind == "groups" else rng.choice((1, 1, 2, 4))
        self.micro = rng.choice((4, 8, 16)) if self.kind == "accumulation" else rng.choice((1, 1, 2, 4))
        self.step_s = rng.choice((0.25, 0.6, 1.4, 3.0, 7.0))
        self.hz = rng.choice((1, 1, 2)) if self.n < 32 else 1
        self.seconds = rng.randint(100, 240)
        if self.kind == "seldom":
            self.step_s, self.micro, self.seconds = rng.choice((0.6, 1.4)), 1, 240
        self.marks = rng.choice((None, None, "train_step", "forward_backward", "reduce_gradients", "step_time"))
        if self.kind == "seldom":
            self.marks = rng.choice(("forward_backward", "reduce_gradients"))
        self.noise = {"data": rng.uniform(0.12, 0.25)}.get(self.kind, rng.uniform(0.005, 0.03))
        self.base = common.Base(rng.choice(BASES))
        self.spin_sm = rng.uniform(0.12, 0.9)
        self.spin_power = rng.uniform(0.2, 0.4)
        self.memory = rng.uniform(10e9, 120e9)
        self.thread = rng.choice((0.3, 0.6, 1.0))  # 1: polls for the GPU
        self.clock_of = [1.0 + (rng.uniform(-0.02, 0.02) if self.kind == "silicon" else 0) for _ in range(self.n)]
        self.since = rng.choice((0.0, 0.0, rng.uniform(0.2, 0.5))) * self.seconds
        self.faults = self.choose_faults() if number < 30 else {}
        self.amount = rng.uniform(0.12, 0.45)
        self.host_part = rng.uniform(0.02, 0.1)
        self.stage_load = [rng.uniform(0.7, 1.0) for _ in range(4)]
        self.stage_memory = [rng.uniform(0.6, 1.4) for _ in range(4)]
        self.next_hang = self.seconds * 0.15

    def choose_faults(self):
        rng = self.rng
        if self.kind == "node":
            node = rng.randrange(self.n // PER_NODE)
            return {r: "hot" for r in range(node * PER_NODE, (node + 1) * PER_NODE)}
        if self.kind == "two":
            one, other = rng.sample(range(self.n), 2)
            fault = rng.choice(("hot", "capped", "link"))
            return {one: fault, other: rng.choice((fault, "hot"))}
        return {rng.randrange(self.n): self.kind}

    def stage(self, r):
        return r * 4 // self.n

    def begin_of(self, r):
        usual = 6 + self.rng.uniform(0, 1.5)
        return usual + (self.rng.uniform(12, 30) if self.faults.get(r) == "late" else 0)

    def host_time(self, r, part, now):
        """Preparation on the host, in which the GPU has nothing."""
        t = part * self.host_part * self.rng.lognormvariate(0, 0.1)
        if self.kind == "numa" and r % PER_NODE >= PER_NODE // 2:
            t *= 1.25
        if now >= self.since and self.faults.get(r) in ("link", "loader", "disk"):
            t += part * self.amount
        return t

    def work_time(self, r, part, now, k):
        t = part * (1 - self.host_part) * self.rng.lognormvariate(0, self.noise) / self.clock_of[r]
        if self.kind == "stages":
            t *= self.stage_load[self.stage(r)]
        if self.kind == "warm_up" and k < 12:
            t *= 1 + 2.0 / (1 + k)
        if now >= self.since and self.faults.get(r) in ("hot", "capped", "guest", "ecc"):
            t *= 1 + self.amount
        return t

    def seldom_time(self, r, now, k):
        fault = self.faults.get(r)
        if fault == "seldom" and k % 50 == 30:
            return "pause", self.step_s * self.rng.uniform(0.8, 2.5)
        if fault == "hangs" and now > self.next_hang:
            self.next_hang = now + self.rng.uniform(0.15, 0.25) * self.seconds
            return "pause", self.rng.uniform(2.5, 6)
        if r == 0 and self.kind == "first_rank_logs" and k % 20 == 10:
            return "host", 0.03 * self.step_s
        return None, 0.0

    def alone(self, k, now):
        """What rank 0 does alone after a step, while the others wait for it."""
        if self.kind == "evaluates" and now > self.next_alone:
            self.next_alone = now + 0.3 * self.seconds
            return "eval", self.rng.uniform(3, 8)
        if self.kind == "saves" and now > self.next_alone:
            self.next_alone = now + 0.3 * self.seconds
            return "save", self.rng.uniform(1.5, 4)
        return None, 0.0

    def step(self, k, now, lines):
        part = self.step_s / self.micro
        at = [now] * self.n
        for _ in range(self.micro):
            for first in range(0, self.n, self.group):
                members = range(first, min(first + self.group, self.n))
                for r in members:
                    what, lost = self.seldom_time(r, at[r], k)
                    host, work = self.host_time(r, part, at[r]), self.work_time(r, part, at[r], k)
                    if lost:
                        lines[r].append((at[r], at[r] + lost, what))
                        at[r] += lost
                    lines[r] += [(at[r], at[r] + host, "host"), (at[r] + host, at[r] + host + work, "work")]
                    at[r] += host + work
                meet = max(at[r] for r in members)
                for r in members:
                    if meet > at[r] and self.group > 1:
                        lines[r].append((at[r], meet, "wait"))
                        at[r] = meet
        ready = list(at)
        end = max(at) + 0.04 * self.step_s
        for r in range(self.n):
            lines[r].append((at[r], end, "wait"))
        return ready, end

    def timeline(self):
        begin = [self.begin_of(r) for r in range(self.n)]
        now = max(begin)
        lines = [[(0, b, "start"), (b, now, "wait")] for b in begin]
        steps, k, self.next_alone = [], 0, 0.25 * self.seconds
        while now < self.seconds - 3:
            ready, end = self.step(k, now, lines)
            steps.append((now, ready, end))
            what, t = self.alone(k, end)
            if what:
                for r in range(self.n):
                    lines[r].append((end, end + t, what if r == 0 else "wait"))
                end += t
            now, k = end, k + 1
        return lines, steps

    def sample(self, r, share, t):
        base, rng = self.base, self.rng
        at = base.busy[rng.randrange(len(base.busy))]
        work, wait = share.get("work", 0) + 0.6 * share.get("eval", 0), share.get("wait", 0)
        c = {m: f"*{work:.3f}" for m in (*common.PIPES, "sm_occupancy")}
        c["sm_active"] = f"={min(1, work * base.value(at, 'sm_active') + wait * self.spin_sm):.3f}"
        c["gr_active"] = c["gpu_util"] = f"={min(1, work * base.value(at, 'gr_active') + wait):.3f}"
        c["power"] = f"={120 + (base.value(at, 'power') - 120) * min(1, work + self.spin_power * wait):.0f}"
        memory = self.memory * (self.stage_memory[self.stage(r)] if self.kind == "stages" else 1) * rng.uniform(0.999, 1.001)
        c["fb_used"] = "=0" if share.get("start", 0) > 0.5 else f"={memory:.0f}"
        c["pcie_rx"] = f"={0.1e9 + 2e9 * share.get('host', 0):.0f}"
        if self.clock_of[r] != 1.0:
            c["sm_clock"] = f"*{self.clock_of[r]:.3f}"
        fault = self.faults.get(r) if t >= self.since else None
        if fault in ("hot", "capped") and work + wait > 0.05:
            c["sm_clock"] = f"*{1 / (1 + self.amount):.3f}"
            c["throttle_reasons"] = rng.choice(("=64", "=72", "=32")) if fault == "hot" else "=4"
        if self.faults.get(r) == "capped":
            c["power_limit"] = "=400"
        if self.faults.get(r) == "link":
            c[self.link[0]], c["pcie_rx"] = f"={self.link[1]}", f"={0.1e9 + 8e9 * share.get('host', 0):.0f}"
        if fault == "ecc":
            c["ecc_sbe_volatile"], c["remapped_uncorrectable"], c["remap_pending"] = f"={int(t)}", "=2", "=1"
        return at, c

    def host_sample(self, r, share, t):
        fault = self.faults.get(r) if t >= self.since else None
        busy = self.thread if self.thread == 1.0 else self.thread * (1 - share.get("pause", 0))
        c = {"io_wait": "=0", "holders": f"={int(share.get('start', 0) < 0.5) + int(fault == 'guest')}",
             "cpu_thread": f"={busy:.3f}", "cpu_main": f"={busy + 0.1:.3f}", "cpu_children": "=0.4", "children": "=4"}
        if fault == "loader":
            c["cpu_thread"], c["cpu_main"] = "=1.0", f"={1.1 + 0.3 * self.amount:.3f}"
        if fault == "disk":
            c["io_wait"] = self.rng.choice(("=1", "=2", "=3"))
        if share.get("save", 0) > 0.3:
            c["io_wait"], c["io_write"] = "=1", "=1.5e9"
        return c

    def make(self):
        lines, steps = self.timeline()
        self.link = self.rng.choice((("pcie_width", 4), ("pcie_width", 8), ("pcie_gen", 3), ("pcie_gen", 2)))
        late = sorted(self.faults)
        causes = {r: ("clock",) if f in ("hot", "capped") else CAUSE[f] for r, f in self.faults.items()}
        return {
            "ranks": [self.write_rank(r, lines[r], steps) for r in range(self.n)], "rank": late[0] if late else None, "late": causes,
            "causes": causes[late[0]] if late else (), "seconds": self.seconds,
            "what": f"{self.kind} {self.marks} {self.n} ranks in groups of {self.group}, {self.hz} Hz, step {self.step_s} s of {self.micro},"
                    f" amount {self.amount:.2f} since {self.since:.0f} of {self.seconds} s, {self.base.path.stem}"}

    def write_rank(self, r, line, steps):
        rng = self.rng
        session = max(line[0][1] - 7, 0) if self.faults.get(r) == "late" else 0
        out = common.Rank(self.base, r, self.n, f"node{r // PER_NODE + 1}", start_s=session + rng.uniform(0, 0.5), local_rank=r % PER_NODE)
        step, at, t = 1 / self.hz, 0, out.start_s
        while t + step < self.seconds:
            t += step
            share = {}
            while at < len(line) and line[at][1] <= t - step:
                at += 1
            for begin, end, what in line[at:]:
                if begin >= t:
                    break
                share[what] = share.get(what, 0) + max(min(end, t) - max(begin, t - step), 0) / step
            sample, c = self.sample(r, share, t)
            extra = {"pid": f"={2000 + r}"}
            if self.faults.get(r) == "guest" and t >= self.since:
                extra["other"] = "=91"
            out.tick(t, [(r % PER_NODE, sample, {**c, **extra})])
            out.host(t + 0.03, rng.choice(self.base.hosts), self.host_sample(r, share, t))
        self.write_marks(out, r, steps)
        return out

    def write_marks(self, out, r, steps):
        for now, ready, end in steps if self.marks else ():
            if now < out.start_s:
                continue
            if self.marks == "step_time":
                out.mark(end, "metric", "step_time", f"{end - now:.6f}")
                continue
            begin, stop = {"train_step": (now, end), "forward_backward": (now, ready[r]), "reduce_gradients": (ready[r], end)}[self.marks]
            out.mark(begin, "begin", self.marks)
            out.mark(stop - 1e-5, "end", self.marks)


def make(number, rng):
    return Job(number, rng).make()


if __name__ == "__main__":
    seed = sys.argv[4] if len(sys.argv) > 4 else 1
    chosen = [int(n) for n in sys.argv[5:]] or None
    got = common.score(make, sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), chosen, seed)
    print("found %d of %d stragglers; silent on %d of %d healthy jobs" % got)
