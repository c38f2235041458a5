#!/usr/bin/env python3
"""Jobs sewn of real seconds: each rank plays stretches of a recording as they are, and stretches that it lacks are cut in.

patchwork.py ASSAY WEAVE FOLDER [SEED [NUMBER…]]. Unlike lockstep.py there are no steps inside a tick: a moment is one of work, of
waiting (a real sample with its pipes quiet) or of nothing, chosen by rounds that all ranks end together; marks come from the rounds. Nodes'
clocks differ, some recordings have no profiling counters, ranks may be recorded with all GPUs of their node, marks have other names.
"""

import pathlib
import sys

import common

BASES = ("train_block", "jax_train", "softmax", "sort", "fft", "gemm_tf32", "adam", "embedding", "llm_decode", "gemm_fp64")
INJECTED = ("heat", "power_limit", "lanes", "generation", "busy_core", "late", "held", "pauses", "one_in_fifty", "neighbour")
HEALTHY = ("equal", "stages", "interleaved", "warm", "rough", "first_writes", "drift")
CAUSE = {
    "heat": ("clock",), "power_limit": ("clock",), "lanes": ("link",), "generation": ("link",), "busy_core": ("core",), "late": ("late_start",),
    "held": ("late_start",), "pauses": ("pauses", "slow_steps"), "one_in_fifty": ("slow_steps", "pauses"), "neighbour": ("other_process",)}


class Job:
    def __init__(self, number, rng):
        self.rng = rng
        self.kind = INJECTED[number % len(INJECTED)] if number < 30 else HEALTHY[number % len(HEALTHY)]
        self.n = rng.choice((3, 4, 5, 8, 16)) if self.kind not in ("stages", "interleaved") else rng.choice((4, 8))
        self.late = rng.randrange(self.n) if number < 30 else None
        self.hz = rng.choice((1, 2, 5))
        self.round_s = rng.choice((1, 2, 3)) if self.hz < 5 else rng.choice((0.4, 1))
        self.seconds = rng.randint(90, 260) if self.hz < 5 else rng.randint(60, 100)
        if self.kind == "one_in_fifty":
            self.hz, self.round_s, self.seconds = 2, 1, 240
        self.names = rng.choice((None, ("iteration",), ("fwd_bwd",), ("fwd_bwd", "grad_sync")))
        if self.kind == "one_in_fifty" and self.names is None:
            self.names = ("fwd_bwd",)
        self.rough = {"rough": 0.3, "drift": 0.05}.get(self.kind, 0.04)
        self.base = common.Base(rng.choice(BASES))
        self.per_node = rng.choice((1, 2, 4))
        self.clocks = [0.0] + [rng.uniform(-0.4, 0.4) for _ in range(self.n)]
        self.amount = rng.uniform(0.15, 0.5)  # of a round that is lost
        self.util_only = rng.random() < 0.15 and self.kind in ("equal", "warm", "lanes", "heat", "late", "pauses")
        self.factor = [1.0] * self.n
        if self.kind == "stages":
            self.factor = [rng.uniform(0.6, 1.0) for _ in range(self.n)]
        if self.kind == "interleaved":
            self.factor = [(1.0, 0.8)[r % 2] for r in range(self.n)]

    def node(self, r):
        return r // self.per_node

    def own(self, r, k):
        """The part of round k that rank r needs, 1 being what is usual; longer ones make the round longer."""
        x = self.factor[r] * self.rng.lognormvariate(0, self.rough)
        if self.kind == "warm" and k < 8:
            x *= 1 + self.rng.uniform(0.2, 2.5)
        if self.kind == "first_writes" and r == 0 and k % 25 == 24:
            x *= 1.03
        if r != self.late:
            return x, 0.0
        lost = self.amount
        if self.kind == "one_in_fifty":
            return x, self.rng.uniform(1.5, 3) if k % 50 == 20 else 0.0
        if self.kind in ("heat", "power_limit", "neighbour"):
            return x * (1 + lost), 0.0
        if self.kind in ("lanes", "generation", "busy_core"):
            return x, lost
        return x, 0.0

    def timeline(self):
        """Per rank a list of (begin, end, what); what: none, start, work, host, wait, pause."""
        rng = self.rng
        begin = [rng.uniform(5, 7) for _ in range(self.n)]
        if self.kind in ("late", "held"):
            begin[self.late] += rng.uniform(15, 40)
        now = max(begin)
        lines = [[(0, b, "start"), (b, now, "wait")] for b in begin]
        rounds = []
        pauses = sorted(rng.uniform(0.2, 0.9) * self.seconds for _ in range(rng.randint(3, 5))) if self.kind == "pauses" else []
        k = 0
        while now < self.seconds - 4:
            need = [self.own(r, k) for r in range(self.n)]
            pause = 0.0
            if pauses and now > pauses[0]:
                pauses.pop(0)
                pause = rng.uniform(3, 7)
            ready = [now + self.round_s * 0.9 * (w + h) + (pause if r == self.late else 0) for r, (w, h) in enumerate(need)]
            end = max(ready) + 0.05 * self.round_s
            for r, (w, h) in enumerate(need):
                t = now
                if r == self.late and pause:
                    lines[r].append((t, t + pause, "pause"))
                    t += pause
                lines[r] += [(t, t + self.round_s * 0.9 * h, "host"), (t + self.round_s * 0.9 * h, ready[r], "work"), (ready[r], end, "wait")]
            rounds.append((now, ready, end))
            now = end
            k += 1
        return lines, rounds

    def moment(self, r, share, rng):
        base, late = self.base, r == self.late
        at = base.busy[(self.cursor[r] + rng.randrange(2)) % len(base.busy)]
        self.cursor[r] += 1
        work, wait, host = share.get("work", 0), share.get("wait", 0), share.get("host", 0)
        c = {m: f"*{work:.3f}" for m in (*common.PIPES, "sm_occupancy")}
        c["sm_active"] = f"={min(1, work * base.value(at, 'sm_active') + wait):.3f}"
        c["gr_active"] = c["gpu_util"] = f"={min(1, work * base.value(at, 'gr_active') + wait):.3f}"
        c["power"] = f"={110 + (base.value(at, 'power') - 110) * (work + 0.3 * wait):.0f}"
        c["fb_used"] = "=0" if share.get("start", 0) > 0.5 else f"={self.memory[r]:.0f}"
        if self.util_only:
            c.update({m: "=-" for m in (*common.PIPES, "sm_active", "gr_active", "sm_occupancy")})
        if late and self.kind in ("heat", "power_limit") and work + wait > 0.05:
            c["sm_clock"] = f"*{1 / (1 + self.amount):.3f}"
            if self.kind == "heat":
                c["throttle_reasons"] = rng.choice(("=32", "=96", "=64"))
            else:
                c["power_limit"], c["throttle_reasons"] = "=450", "=4"
        if late and self.kind == "lanes":
            c["pcie_width"], c["pcie_rx"] = f"={self.lanes}", f"={0.5e9 + 5e9 * host:.0f}"
        if late and self.kind == "generation":
            c["pcie_gen"], c["pcie_rx"] = f"={self.gen}", f"={0.5e9 + 5e9 * host:.0f}"
        return at, c

    def host_moment(self, r, share):
        late = r == self.late
        c = {"io_wait": "=0", "holders": f"={int(share.get('start', 0) < 0.5) + int(late and self.kind == 'neighbour')}"}
        if self.thread is not None:
            c["cpu_thread"] = f"={self.thread * (0.9 + 0.1 * share.get('work', 0)):.3f}"
            c["cpu_main"] = f"={self.thread:.3f}"
        if late and self.kind == "busy_core":
            c["cpu_thread"], c["cpu_main"] = "=1.0", "=1.0"
        return c

    def make(self):
        rng = self.rng
        lines, rounds = self.timeline()
        size = rng.uniform(8e9, 90e9)
        self.memory = [size * (rng.uniform(0.6, 1.3) if self.kind == "stages" else 1) * rng.uniform(0.995, 1.005) for _ in range(self.n)]
        self.cursor = [rng.randrange(1000) for _ in range(self.n)]
        self.lanes, self.gen = rng.choice((1, 4, 8)), rng.choice((1, 2, 3))
        self.thread = rng.choice((None, 0.2, 0.5, 0.7))
        ranks = [self.write_rank(r, lines[r], rounds) for r in range(self.n)]
        return {
            "ranks": ranks, "rank": self.late, "causes": CAUSE.get(self.kind, ()), "seconds": self.seconds,
            "what": f"{self.kind} {self.names} {self.n} ranks {self.hz} Hz round {self.round_s} amount {self.amount:.2f} {self.base.path.stem}"
                    f"{' util only' if self.util_only else ''}"}

    def write_rank(self, r, line, rounds):
        rng = self.rng
        late_session = line[0][1] - 6 if self.kind == "late" and r == self.late else 0
        ahead = self.clocks[self.node(r)]
        out = common.Rank(self.base, r, self.n, f"node{self.node(r):02d}", start_s=max(late_session, 0) + rng.uniform(0, 0.8), clock_s=ahead,
                          local_rank=r % self.per_node)
        step, at = 1 / self.hz, [0]
        t = out.start_s
        while t + step < self.seconds:
            t += step
            share = {}
            for begin, end, what in line[at[0]:]:
                if begin >= t:
                    break
                part = min(end, t) - max(begin, t - step)
                if part > 0:
                    share[what] = share.get(what, 0) + part / step
            while at[0] < len(line) and line[at[0]][1] < t - step:
                at[0] += 1
            sample, c = self.moment(r, share, rng)
            extra = {"pid": f"={4000 + r}"}
            if r == self.late and self.kind == "neighbour":
                extra["other"] = "=77"
            out.tick(t, [(r % self.per_node, sample, {**c, **extra})])
            out.host(t + 0.02, rng.choice(self.base.hosts), self.host_moment(r, share))
        for now, ready, end in rounds if self.names else ():
            if now < out.start_s:
                continue
            if self.names[0] == "iteration":
                out.mark(now, "event", "iteration")
                continue
            out.mark(now + rng.uniform(0, 0.001), "begin", "fwd_bwd")
            out.mark(ready[r], "end", "fwd_bwd")
            if len(self.names) > 1:
                out.mark(ready[r] + 0.0002, "begin", "grad_sync")
                out.mark(end - rng.uniform(0, 0.0005), "end", "grad_sync")
        return out


def make(number, rng):
    return Job(number, rng).make()


if __name__ == "__main__":
    seed = sys.argv[4] if len(sys.argv) > 4 else 1
    chosen = [int(n) for n in sys.argv[5:]] or None
    got = common.score(make, sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), chosen, seed)
    print("found %d of %d stragglers; silent on %d of %d healthy jobs" % got)
