#!/usr/bin/env python3
"""Jobs made step by step: each rank prepares, computes, and waits for the slowest.

lockstep.py ASSAY WEAVE FOLDER [SEED [NUMBER…]]: writes 60 jobs, 30 of them with a straggler, and prints the score.
"""

import pathlib
import sys

import common

BASES = ("gemm_bf16", "attention", "resnet", "prefill", "compiled_blocks", "gather", "conv_fp32", "overlapped")
KINDS = ("clock", "link", "core", "late_start", "pauses", "slow_steps")
HEALTHY = ("plain", "pipeline", "warm_up", "noisy", "logger")
MARKS = ("none", "step", "compute", "phases")


def plan(number, rng):
    kind = KINDS[number % len(KINDS)] if number < 30 else HEALTHY[number % len(HEALTHY)]
    ranks = rng.choice((4, 4, 6, 8, 8, 12))
    p = {
        "kind": kind, "ranks": ranks, "late": rng.randrange(ranks) if number < 30 else None, "seconds": rng.uniform(110, 220),
        "tick": rng.choice((0.5, 1.0)), "step": rng.uniform(0.4, 1.6), "host": rng.uniform(0.02, 0.15), "comm": rng.uniform(0.01, 0.06),
        "noise": rng.uniform(0.005, 0.03), "spin": rng.random() < 0.7, "nodes": rng.choice((1, 2, 2, 4)),
        "marks": rng.choice(MARKS), "thread": rng.choice((None, 0.35, 0.6)), "init": rng.uniform(4, 10)}
    if kind == "noisy":
        p["noise"] = rng.uniform(0.08, 0.25)
    if kind == "slow_steps":
        p["marks"] = rng.choice(("compute", "phases", "step"))
        p["step"] = rng.uniform(0.4, 0.8) if p["marks"] != "step" else rng.uniform(0.8, 1.2)
        p["tick"] = 0.5
        p["seconds"] = max(p["seconds"], 200)
    if kind == "pauses" and p["marks"] in ("none", "step"):
        p["spin"] = True  # without either nothing tells who waits for whom
    return p


def strength(p, rng):
    return {
        "clock": lambda: rng.uniform(0.6, 0.88), "link": lambda: rng.choice(((5, 4), (5, 2), (3, 16), (1, 16))),
        "core": lambda: rng.uniform(0.2, 0.8), "late_start": lambda: rng.uniform(10, 45),
        "pauses": lambda: [(rng.uniform(25, p["seconds"] - 20), rng.uniform(2.5, 8)) for _ in range(rng.randint(2, 5))],
        "slow_steps": lambda: (rng.randint(40, 55), rng.uniform(2, 4)),
    }.get(p["kind"], lambda: None)()


def own_times(p, s, r, k, t, rng):
    """Seconds of the host and of the GPU that rank r needs for step k."""
    late = r == p["late"]
    noise = rng.lognormvariate(0, p["noise"])
    host, gpu = p["step"] * p["host"] * rng.lognormvariate(0, p["noise"]), p["step"] * (1 - p["host"]) * noise
    if p["kind"] == "pipeline":
        gpu *= p["stages"][r]
    if p["kind"] == "warm_up" and k < 12:
        host += p["warm"][r] * (12 - k) / 12
    if p["kind"] == "logger" and r == 0 and k % 10 == 0:
        host += 0.01 * p["step"]
    if not late:
        return host, gpu
    if p["kind"] == "clock":
        gpu /= s
    elif p["kind"] == "link":
        host += 0.05 * p["step"] * min(63 / (common_speed(s) / 1e9), 12)
    elif p["kind"] == "core":
        host += s * p["step"]
    elif p["kind"] == "slow_steps" and k % s[0] == 7:
        host, gpu = host + (s[1] - 1) * p["step"], gpu
    elif p["kind"] == "pauses":
        for pause in s:
            if pause[0] <= t and pause not in p["done"]:
                p["done"].append(pause)
                host += pause[1]
    return host, gpu


def common_speed(link):
    lane = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9}[link[0]]
    return lane * link[1]


def simulate(p, s, rng):
    """Per rank: (begin, end, what), what of init, wait, host, work; and marks."""
    n = p["ranks"]
    p["done"] = []
    p["stages"] = [rng.uniform(0.75, 1.25) for _ in range(n)]
    p["warm"] = [rng.uniform(0.5, 4) for _ in range(n)]
    lines, marks = [[] for _ in range(n)], [[] for _ in range(n)]
    begin = [p["init"] * rng.uniform(0.9, 1.15) for _ in range(n)]
    if p["kind"] == "late_start":
        begin[p["late"]] += s
    t = max(begin)
    for r in range(n):
        lines[r] += [(0, begin[r], "init"), (begin[r], t, "wait")]
    k = 0
    while t < p["seconds"] - 3:
        own = [own_times(p, s, r, k, t, rng) for r in range(n)]
        ready = [t + h + g for h, g in own]
        end = max(ready) + p["comm"] * p["step"]
        for r in range(n):
            h, _ = own[r]
            lines[r] += [(t, t + h, "host"), (t + h, ready[r], "work"), (ready[r], end, "wait")]
            jitter = rng.uniform(0, 0.0005)
            if p["marks"] == "step":
                marks[r] += [(t + jitter, "begin", "step"), (end - 0.0003, "end", "step")]
            elif p["marks"] in ("compute", "phases"):
                marks[r] += [(t + jitter, "begin", "compute"), (ready[r], "end", "compute")]
            if p["marks"] == "phases":
                marks[r] += [(ready[r] + 0.0001, "begin", "allreduce"), (end - jitter, "end", "allreduce")]
        t = end
        k += 1
    return lines, marks


def shares(line, at, begin, end):
    """How much of a tick each kind has; at is where to look on."""
    out = {}
    while at[0] < len(line) and line[at[0]][1] <= begin:
        at[0] += 1
    i = at[0]
    while i < len(line) and line[i][0] < end:
        part = min(line[i][1], end) - max(line[i][0], begin)
        if part > 0:
            out[line[i][2]] = out.get(line[i][2], 0) + part / (end - begin)
        i += 1
    return out


def row(p, s, base, late, share, rng):
    work, wait = share.get("work", 0), share.get("wait", 0)
    spin = wait if p["spin"] else 0
    at = rng.choice(base.busy)
    clock = s if late and p["kind"] == "clock" else 1
    full, idle = base.value(at, "power"), 115.0
    c = {m: f"*{work:.4f}" for m in common.PIPES}
    c["sm_active"] = f"={min(work * base.value(at, 'sm_active') + spin * 0.95, 1):.4f}"
    c["sm_occupancy"] = f"*{work + 0.1 * spin:.4f}"
    c["gr_active"] = c["gpu_util"] = f"={min(work * base.value(at, 'gr_active') + spin, 1):.4f}"
    c["power"] = f"={idle + (full - idle) * (work * clock ** 1.4 + 0.25 * spin):.1f}"
    c["sm_clock"] = f"*{clock:.3f}" if work + spin > 0.02 else "=1980000000"
    c["fb_used"] = f"={p['memory'] if share.get('init', 0) < 0.5 else 0:.0f}"
    if late and p["kind"] == "clock" and work > 0.02:
        c["throttle_reasons"] = f"={p['reason']}"
    if late and p["kind"] == "link":
        c["pcie_gen"], c["pcie_width"] = f"={s[0]}", f"={s[1]}"
        c["pcie_rx"] = f"={min(common_speed(s) * 0.8, 2e9) * rng.uniform(0.8, 1):.0f}"
    return at, c


def host_changes(p, late, share):
    c = {"holders": f"={int(share.get('init', 0) < 0.5)}", "io_wait": "=0"}
    if p["thread"] or not p["spin"]:  # who waits without spinning leaves its core to others
        c["cpu_thread"] = c["cpu_main"] = f"={(p['thread'] or 0.97) * (1 if p['spin'] else 1 - share.get('wait', 0)):.3f}"
    if late and p["kind"] == "core":
        c["cpu_thread"], c["cpu_main"], c["cpu_first"] = "=0.99", "=1.02", "=0.99"
    return c


def make(number, rng):
    p = plan(number, rng)
    s = strength(p, rng)
    base = common.Base(rng.choice(BASES))
    p["reason"] = rng.choice((0x20, 0x40, 0x8, 0x80, 0x2))
    lines, marks = simulate(p, s, rng)
    ranks = []
    memory = rng.uniform(10e9, 60e9)
    for r in range(p["ranks"]):
        late = r == p["late"]
        p["memory"] = memory * (p["stages"][r] if p["kind"] == "pipeline" and number % 2 else 1)
        out = common.Rank(base, r, p["ranks"], f"n{r * p['nodes'] // p['ranks']}", local_rank=r % max(p["ranks"] // p["nodes"], 1))
        at = [0]
        t = rng.uniform(0, p["tick"])
        while t + p["tick"] < p["seconds"]:
            share = shares(lines[r], at, t, t + p["tick"])
            sample, c = row(p, s, base, late, share, rng)
            out.tick(t + p["tick"], [(r % 16, sample, {**c, "pid": f"={1000 + r}"})])
            out.host(t + p["tick"] + 0.01, rng.choice(base.hosts), host_changes(p, late, share))
            t += p["tick"]
        for when, kind, name in marks[r]:
            out.mark(when, kind, name)
        ranks.append(out)
    what = f"{p['kind']} {p['marks']} {'spin' if p['spin'] else 'idle'} {p['ranks']} ranks {s} {base.path.stem}"
    causes = {"slow_steps": ("slow_steps", "pauses"), "pauses": ("pauses", "slow_steps")}.get(p["kind"], (p["kind"],))
    return {"ranks": ranks, "rank": p["late"], "causes": causes, "what": what, "seconds": p["seconds"]}


if __name__ == "__main__":
    seed = sys.argv[4] if len(sys.argv) > 4 else 1
    chosen = [int(n) for n in sys.argv[5:]] or None
    got = common.score(make, sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), chosen, seed)
    print("found %d of %d stragglers; silent on %d of %d healthy jobs" % got)
