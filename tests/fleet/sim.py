"""A fleet that keeps books: nodes of 8 GPUs that speak our exposition, with jobs that come and go, idle, hang and fail.

Everything follows from a seed. A GPU's past is a list of stays (who held it, from when to when) and what each did meanwhile; from these come the
counters as 'assay serve' would export them, by slots, at any moment; and the books: who held and wasted how much. Times are seconds since the epoch.

    sim.py serve --nodes 1250 --port 9500        one port, a path a node: /n0001/metrics; --hang 1.3 hangs GPU 3 of node 1, --fail breaks one
    sim.py targets --nodes 1250 --port 9500      the file_sd list of these
    sim.py backfill URL --nodes 25 --hours 6     remote-write to Prometheus or VictoriaMetrics
"""
import argparse
import asyncio
import concurrent.futures
import json
import random
import re
import struct
import sys
import time
import urllib.parse
import urllib.request

import numpy as np

GPUS = 8
LINGER = 900
JUDGED = 600
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
REASONS = ("no_process", "memory_held", "starved", "waiting", "starting")
LIMITER_OF = {"no_process": "idle", "memory_held": "idle.allocated", "starved": "host.input", "waiting": "host.waiting", "starting": "host.starting"}


HANG = 0.0  # the Real Utilization of a program that hangs: kernels run, and nothing comes of it
LOST_FOR = 300  # so long a node tells of a GPU that does not answer


class Stay:
    """One owner on one GPU: parts are (from, to, what), what is a Real Utilization or a reason."""

    def __init__(self, owner, start, end, parts):
        self.owner, self.start, self.end, self.parts, self.slot = owner, start, end, parts, 0
        self.beside = False  # another owner has the GPU at the same time, whose parts are the GPU's


def make_parts(rng, start, end, lazy):
    parts, t = [], start
    first = min(end, start + rng.uniform(20, 90))
    parts.append((start, first, "starting"))
    t = first
    while t < end:
        idle = rng.random() < lazy
        until = min(end, t + (rng.uniform(300, 5400) if idle else rng.uniform(600, 7200)))
        parts.append((t, until, rng.choice(REASONS[:4]) if idle else round(rng.uniform(0.2, 0.9), 3)))
        t = until
    return parts


def give_slots(stays):
    free_at = {}
    for s in stays:
        s.slot = next(n for n in range(1, 99) if free_at.get(n, 0) <= s.start)
        free_at[s.slot] = s.end + LINGER


class Gpu:
    def __init__(self, node, index):
        self.node, self.index, self.stays, self.failed = node, index, [], None
        self.uuid = f"GPU-{node:08x}-{index:04x}-4000-8000-000000000000"
        self.model, self.gi = "NVIDIA H200", None

    def slice_of(self, parent, index, gi):
        """Makes it a MIG slice of the GPU with this UUID."""
        self.uuid, self.index, self.gi = parent, index, gi

    def labels(self, **more):
        own = {"uuid": self.uuid, "gpu": str(self.index)} if self.gi is None else {"uuid": self.uuid, "gpu": str(self.index), "gi": str(self.gi)}
        return {**own, **{k: str(v) for k, v in more.items()}}


class Fleet:
    """jobs_a_day: changes of owners over the whole fleet. Users u00… differ in how much they leave idle."""

    def __init__(self, nodes, start, end, seed=1, users=20, jobs_a_day=None, split=0.3):
        self.start, self.end, self.rng = start, end, random.Random(seed)
        self.nodes, self.users = nodes, [f"u{i:02d}" for i in range(users)]
        self.gpus = [[Gpu(n, g) for g in range(GPUS)] for n in range(nodes)]
        self.gone, self.reset, self.restart, self.skew = {}, {}, {}, {}
        self.uncounted = set()  # nodes whose GPUs have no SM counters: only idleness is known of them
        self.next_job = 1000
        mean = 86400 * nodes * GPUS / (jobs_a_day or nodes * GPUS * 6)
        for n in range(nodes):
            self.fill_node(n, mean, split)
        for node in self.gpus:
            for g in node:
                give_slots(g.stays)

    def owner(self):
        user = self.rng.randrange(len(self.users))
        self.next_job += 1
        return {"kind": "slurm", "job": str(self.next_job), "user": self.users[user], "account": f"acct{user % 4}", "partition": "gpu"}, 0.05 + 0.5 * (user % 5) / 5

    def fill_node(self, n, mean, split):
        """Jobs of the whole node or, on shared nodes, of some of its GPUs; the next one may come a second later."""
        groups = [[0, 1, 2, 3], [4, 5], [6], [7]] if self.rng.random() < split else [list(range(GPUS))]
        for group in groups:
            t = self.start - self.rng.uniform(0, mean)
            while t < self.end:
                owner, lazy = self.owner()
                length = max(45, self.rng.expovariate(1 / mean))
                end = t + length
                for g in group:
                    self.gpus[n][g].stays.append(Stay(owner, t, end, make_parts(self.rng, t, end, lazy)))
                t = end + (1 if self.rng.random() < 0.6 else self.rng.uniform(5, 1200))

    def short_jobs(self, n, g, at, count=6, length=25):
        """Several jobs within one or two scrape intervals."""
        gpu = self.gpus[n][g]
        gpu.stays = [s for s in gpu.stays if s.end <= at]
        for i in range(count):
            owner, _ = self.owner()
            t = at + i * (length + 1)
            gpu.stays.append(Stay(owner, t, t + length, [(t, t + length, 0.5)]))
        owner, _ = self.owner()
        gpu.stays.append(Stay(owner, at + count * (length + 1), self.end + 60, [(at + count * (length + 1), self.end + 60, "memory_held")]))
        give_slots(gpu.stays)

    def mix(self, kinds):
        """What nodes are made of, by number: "A100" and "MI300X" have no SM counters, "mig" has two slices a GPU, on "shared" two owners have each GPU at a time."""
        for n, kind in kinds.items():
            if kind in ("A100", "MI300X"):
                self.uncounted.add(n)
                for gpu in self.gpus[n]:
                    gpu.model = "NVIDIA A100-SXM4-80GB" if kind == "A100" else "AMD Instinct MI300X"
            elif kind == "mig":
                parents = [gpu.uuid for gpu in self.gpus[n]]
                for i, gpu in enumerate(self.gpus[n]):
                    gpu.slice_of(parents[i // 2], i // 2, 1 + i % 2)
            else:
                for gpu in self.gpus[n]:
                    self.share(gpu)

    def share(self, gpu):
        """A second owner beside each of the first ones, who does half of what they do, or idles."""
        for s in list(gpu.stays):
            owner, lazy = self.owner()
            a, b = s.start + 30, s.end - 30
            if b - a < 60:
                continue
            other = Stay(owner, a, b, make_parts(self.rng, a, b, lazy))
            other.beside = True
            gpu.stays.append(other)
        gpu.stays.sort(key=lambda s: s.start)
        give_slots(gpu.stays)

    def cut(self, n, g, at):
        """Whoever held the GPU lets go of it at a moment, and nobody comes after."""
        gpu = self.gpus[n][g]
        gpu.stays = [s for s in gpu.stays if s.start < at]
        for s in gpu.stays:
            s.end = min(s.end, at)
            s.parts = [(a, min(b, at), what) for a, b, what in s.parts if a < at]
        return gpu

    def hang(self, n, g, at):
        """A job that works until a moment and then hangs to the end."""
        owner, _ = self.owner()
        gpu = self.cut(n, g, at - 1200)
        gpu.stays.append(Stay(owner, at - 1200, self.end + 60, [(at - 1200, at, 0.6), (at, self.end + 60, HANG)]))
        give_slots(gpu.stays)
        return owner

    def fail(self, n, g, at):
        """The GPU falls off the bus."""
        self.cut(n, g, at).failed = at

    # --- books ---------------------------------------------------------------------------------

    @staticmethod
    def wasted_parts(stay):
        return [(a, b, what) for a, b, what in stay.parts if isinstance(what, str) and b - a >= JUDGED]

    def books(self, start, end, key="user"):
        """{who: {"held": s, "wasted": {reason: s}}} of what was told in the window: an idle part is told when it is judged."""
        out = {}
        for node in self.gpus:
            for g in node:
                for s in g.stays:
                    held = min(s.end, end) - max(s.start, start)
                    if held <= 0:
                        continue
                    book = out.setdefault(s.owner[key], {"held": 0.0, "wasted": {}})
                    book["held"] += held
                    for a, b, why in self.wasted_parts(s):
                        if not a + JUDGED <= end:
                            continue
                        told = min(b, end) - (a if a + JUDGED > start else max(a, start))
                        if told > 0:
                            book["wasted"][why] = book["wasted"].get(why, 0.0) + told
        return out

    def use(self, start, end):
        """{user: {"counted": s, "real": s, "known": s}}: time with counters, Real Utilization in it, time of which is known what the GPU did."""
        out = {}
        for n, node in enumerate(self.gpus):
            for s in (s for g in node for s in g.stays):
                for a, b, what in s.parts:
                    length, idle, counted = min(b, end) - max(a, start), isinstance(what, str), n not in self.uncounted
                    if length > 0:
                        book = out.setdefault(s.owner["user"], {"counted": 0.0, "real": 0.0, "known": 0.0})
                        book["counted"] += length * counted
                        book["real"] += length * counted * (0 if idle else what)
                        book["known"] += length * (counted or idle)
        return out

    # --- series --------------------------------------------------------------------------------

    def curves(self, gpu):
        """{(family, labels…): (times, values)}: breakpoints of every counter of a GPU, from its first stay on."""
        begin = min([self.start] + [s.start for s in gpu.stays[:1]])
        slots, limiter, real_t, real_v, total = {}, {}, [begin], [0.0], 0.0
        counted, idle_t, idle_v = gpu.node not in self.uncounted, [begin], [0.0]

        def add(key, t0, t1, amount):
            t, v = slots.setdefault(key, ([begin], [0.0]))
            t += [t0, t1]
            v += [v[-1], v[-1] + amount]

        def limit(name, t0, t1):
            t, v = limiter.setdefault(name, ([begin], [0.0]))
            t += [t0, t1]
            v += [v[-1], v[-1] + t1 - t0]

        def idle(t0, t1):
            idle_t.extend([t0, t1])
            idle_v.extend([idle_v[-1], idle_v[-1] + t1 - t0])

        last = begin
        for s in gpu.stays:
            if s.start > last and not s.beside:
                limit("idle", last, s.start)
                idle(last, s.start)
            last = last if s.beside else s.end
            add(("assay_gpu_held_seconds_total", s.slot, ""), s.start, s.end, s.end - s.start)
            add(("assay_gpu_held_observed_seconds_total", s.slot, ""), s.start, s.end, (s.end - s.start) * counted)
            for a, b, what in s.parts if s.beside else ():
                if not isinstance(what, str):
                    add(("assay_gpu_held_real_utilization_seconds_total", s.slot, ""), a, b, what * (b - a))
            for a, b, what in () if s.beside else s.parts:
                if isinstance(what, str):
                    limit(LIMITER_OF[what], a, b)
                    idle(a, b)
                    if not counted:
                        add(("assay_gpu_held_idle_unobserved_seconds_total", s.slot, ""), a, b, b - a)
                    continue
                limit("compute.tensor" if what > HANG else "unknown", a, b)
                if not counted:
                    continue
                add(("assay_gpu_held_real_utilization_seconds_total", s.slot, ""), a, b, what * (b - a))
                real_t += [a, b]
                real_v += [total, total + what * (b - a)]
                total = real_v[-1]
            for a, b, why in self.wasted_parts(s):
                add(("assay_gpu_wasted_seconds_total", s.slot, why), a + JUDGED - 0.001, a + JUDGED, JUDGED)
                add(("assay_gpu_wasted_seconds_total", s.slot, why), a + JUDGED, b, b - a - JUDGED)
        out = {}
        for (family, slot, reason), curve in slots.items():
            out[(family, tuple(gpu.labels(slot=slot, **({"reason": reason} if reason else {})).items()))] = curve
        for name, curve in limiter.items():
            out[("assay_gpu_limiter_seconds_total", tuple(gpu.labels(limiter=name).items()))] = curve
        out[("assay_gpu_observed_seconds_total", tuple(gpu.labels().items()))] = ([begin, self.end + 86400], [0.0, (self.end + 86400 - begin) * counted])
        out[("assay_gpu_health_seconds_total", tuple(gpu.labels(health="OK").items()))] = ([begin, self.end + 86400], [0.0, self.end + 86400 - begin])
        if counted:
            out[("assay_gpu_real_utilization_seconds_total", tuple(gpu.labels().items()))] = (real_t, real_v)
        else:
            out[("assay_gpu_idle_unobserved_seconds_total", tuple(gpu.labels().items()))] = (idle_t, idle_v)
        return out

    def series(self, gpu, times, instance, brief=False):
        """[(labels, times, values)] as a scrape at these moments tells them. A counter begins when it has something to tell."""
        out, reset, asked = [], self.reset.get(gpu.node), times
        if gpu.failed is not None:
            times = times[times < gpu.failed]
        for (family, labels), (t, v) in self.curves(gpu).items():
            if brief and ("limiter" in family or "health" in family):
                continue
            values = np.interp(times, t, v)
            if reset is not None:
                values = np.where(times >= reset, values - np.interp(reset, t, v), values)
            by_slot = "slot" in dict(labels)
            first = next((t[i - 1] for i in range(1, len(t)) if v[i] > 0), None) if by_slot or "limiter" in family else t[0]
            if first is None:
                continue
            if family == "assay_gpu_held_seconds_total":  # told as 0 from when the slot before it was used
                first = min([s.start for s in gpu.stays if s.slot == int(dict(labels)["slot"]) - 1], default=t[0])
            keep = times >= first
            out.append(({"__name__": family, "instance": instance, "job": "assay", **dict(labels)}, times[keep], values[keep]))
        for s in gpu.stays:
            keep = (times >= s.start) & (times < s.end + LINGER)
            if not keep.any():
                continue
            owner = {("exported_" + k if k == "job" else k): v for k, v in s.owner.items()}
            t, v = times[keep], (times[keep] < s.end).astype(float)
            later = times[times >= s.end + LINGER]
            if len(later):
                t, v = np.append(t, later[0]), np.append(v, STALE)
            out.append(({"__name__": "assay_gpu_owner_info", "instance": instance, "job": "assay", **gpu.labels(slot=s.slot), **owner}, t, v))
        told = asked if gpu.failed is None else asked[asked < gpu.failed + LOST_FOR]
        for name in ("assay_gpu_info", "assay_gpu_up"):
            more = {"model": gpu.model} if name.endswith("info") else {}
            alive = told < (gpu.failed or np.inf) if name.endswith("up") else told > 0
            out.append(({"__name__": name, "instance": instance, "job": "assay", **gpu.labels(**more)}, told, alive.astype(float)))
        if len(told) > len(times) or gpu.failed is not None:
            out.append(({"__name__": "assay_gpu_xid_total", "instance": instance, "job": "assay", **gpu.labels(xid=79)}, told[len(times):], np.ones(len(told) - len(times))))
        return out

    def changes(self, n):
        """Moments at which something of a node bends or jumps: between two of them all is straight."""
        found = {t for g in self.gpus[n] for t, _ in self.curves(g).values() for t in t}
        found |= {t for g in self.gpus[n] for s in g.stays for t in (s.start, s.end, s.end + LINGER)}
        found |= {t for g in self.gpus[n] if g.failed is not None for t in (g.failed, g.failed + LOST_FOR)}
        return np.array(sorted(found))

    def node_times(self, n, step):
        """When a node is scraped: each has a phase of its own, and some miss a while."""
        times = np.arange(self.start + random.Random(n).uniform(0, step), self.end, step) + self.skew.get(n, 0)
        for a, b in self.gone.get(n, []):
            times = times[(times < a) | (times >= b)]
        return times

    def all_series(self, step, brief=False):
        for n in range(self.nodes):
            times = self.node_times(n, step)
            for g in self.gpus[n]:
                for labels, t, v in self.series(g, times, f"n{n:04d}", brief):
                    for a, b in self.gone.get(n, []):
                        i = np.searchsorted(t, a)
                        if 0 < i < len(t):  # the scrape failed: the engine marks it
                            t, v = np.insert(t, i, a + 1), np.insert(v, i, STALE)
                    yield labels, t, v


# --- remote-write --------------------------------------------------------------------------------


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def label_bytes(labels):
    return b"".join(field(1, field(1, k.encode()) + field(2, v.encode())) for k, v in sorted(labels.items()) if v)


def sample_bytes(times, values):
    """All samples of a series: a float64 and a varint of 6 bytes each (milliseconds of these centuries)."""
    ms = np.round(times * 1000).astype(np.uint64)
    out = np.empty((len(ms), 18), np.uint8)
    out[:, 0], out[:, 1], out[:, 2], out[:, 11] = 0x12, 16, 0x09, 0x10
    out[:, 3:11] = np.asarray(values, "<f8").view(np.uint8).reshape(-1, 8)
    for i in range(6):
        out[:, 12 + i] = (ms >> np.uint64(7 * i)).astype(np.uint8) & 127 | (128 if i < 5 else 0)
    return out.tobytes()


def snappy(data):
    """Snappy's format with nothing compressed."""
    out = [varint(len(data))]
    for i in range(0, len(data), 65536):
        part = data[i:i + 65536]
        out += [bytes([61 << 2]), struct.pack("<H", len(part) - 1), part]
    return b"".join(out)


def post(url, data):
    request = urllib.request.Request(url + "/api/v1/write", snappy(data), {
        "Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0"})
    urllib.request.urlopen(request, timeout=60).read()


class Sender:
    """Posts one batch after the other, while the next is made."""

    def __init__(self, url):
        self.url, self.pool, self.waiting = url, concurrent.futures.ThreadPoolExecutor(1), []

    def send(self, parts):
        self.waiting.append(self.pool.submit(post, self.url, b"".join(parts)))
        while len(self.waiting) > 3:
            self.waiting.pop(0).result()

    def finish(self):
        for one in self.waiting:
            one.result()
        self.pool.shutdown()


def backfill(url, series, start, end, slice_s=1800, batch=4_000_000, skip=None):
    """Everything in slices of time, because an engine takes the past in its order. Returns series and samples sent.

    skip(labels, slice): whether a series is left out of a slice, which is asked before each.
    """
    edges = np.arange(start, end + slice_s, slice_s)
    held = [(labels, label_bytes(labels), sample_bytes(t, v), np.searchsorted(t, edges) * 18) for labels, t, v in series]
    sender, sent = Sender(url), 0
    for at in range(len(edges) - 1):
        parts, size = [], 0
        for labels, text, samples, index in held:
            a, b = index[at], index[at + 1]
            if a == b or (skip and skip(labels, at)):
                continue
            part = field(1, text + samples[a:b])
            parts.append(part)
            sent += int(b - a) // 18
            size += len(part)
            if size > batch:
                sender.send(parts)
                parts, size = [], 0
        if parts:
            sender.send(parts)
    sender.finish()
    return len(held), sent


# --- live ----------------------------------------------------------------------------------------

OTHERS = (
    [("assay_gpu_active_seconds_total", f'unit="{u}"') for u in ("sm", "tensor", "dram", "engine", "fp64", "fp32", "fp16", "int", "gpu_util")]
    + [("assay_gpu_throttle_seconds_total", f'reason="{r}"') for r in ("power", "power_brake", "heat", "hardware", "sync_boost", "application_clocks", "display_clocks")]
    + [("assay_gpu_pcie_bytes_total", 'direction="rx"'), ("assay_gpu_pcie_bytes_total", 'direction="tx"'), ("assay_gpu_nvlink_bytes_total", 'direction="rx"'),
       ("assay_gpu_nvlink_bytes_total", 'direction="tx"'), ("assay_gpu_energy_joules_total", ""), ("assay_gpu_idle_allocated_seconds_total", ""),
       ("assay_gpu_ecc_errors_total", 'kind="corrected"'), ("assay_gpu_ecc_errors_total", 'kind="uncorrected"'), ("assay_gpu_pcie_replays_total", ""),
       ("assay_gpu_memory_used_bytes", ""), ("assay_gpu_memory_total_bytes", ""), ("assay_gpu_power_watts", ""), ("assay_gpu_power_limit_watts", ""),
       ("assay_gpu_temperature_celsius", 'sensor="gpu"'), ("assay_gpu_temperature_celsius", 'sensor="memory"'), ("assay_gpu_clock_hertz", 'clock="sm"'),
       ("assay_gpu_clock_hertz", 'clock="memory"'), ("assay_gpu_class_seconds_total", 'class="tensor-heavy compute"'), ("assay_gpu_class_seconds_total", 'class="idle"')])
CLASSIC = ("SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE TOTAL_ENERGY_CONSUMPTION PCIE_REPLAY_COUNTER GPU_UTIL MEM_COPY_UTIL ENC_UTIL DEC_UTIL XID_ERRORS "
           "FB_FREE FB_USED FB_RESERVED NVLINK_BANDWIDTH_TOTAL UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS ROW_REMAP_FAILURE").split()


# What the units do of each second, for a Real Utilization of 1.
UNITS = {"sm": 1.0, "tensor": 0.8, "dram": 0.5, "fp64": 0.0, "fp32": 0.1, "fp16": 0.05, "int": 0.1}
LIMIT_W, IDLE_W, HANG_W = 700.0, 120.0, 190.0


GAUGES = {"memory_used_bytes": 60e9, "memory_total_bytes": 141e9, "temperature_celsius": 61.0, "clock_hertz": 1.98e9}


def pace(name, value, what):
    """What a series grows by in a second, or what a gauge says, while a GPU does something: a Real Utilization, or a reason why not."""
    works = not isinstance(what, str)
    if "power_limit" in name:
        return LIMIT_W
    if "power" in name or "energy" in name:
        return HANG_W if what == HANG else IDLE_W + 0.8 * (LIMIT_W - IDLE_W) * what if works else IDLE_W
    if name == "assay_gpu_active_seconds_total":
        return float(works) if value in ("engine", "gpu_util") else UNITS[value] * what if works else 0.0
    if name.startswith(("assay_gpu_ecc", "assay_gpu_pcie_replays", "assay_gpu_throttle")):
        return 0.0
    return GAUGES.get(name.removeprefix("assay_gpu_"), 1e9 * what if works else 0.0)


def other_value(gpu, name, extra, now, start):
    """(value, what it grows by in a second) of a series that has no books."""
    value = extra.split("=")[1].strip('"') if extra else ""
    parts = [part for s in gpu.stays for part in s.parts]
    at = pace(name, value, next((what for a, b, what in parts if a <= now < b), "no_process"))
    if not name.endswith("_total"):
        return at, 0.0
    begin = min([start] + [a for a, _, _ in parts])
    spent = [(min(b, now) - a, what) for a, b, what in parts if a < now]
    rest = now - begin - sum(length for length, _ in spent)
    return sum(length * pace(name, value, what) for length, what in spent) + rest * pace(name, value, "no_process"), at


class Template:
    """A node's text, good until something changes: numbers that grow evenly, put into words that stay."""

    def __init__(self, fleet, n, now, classic=True):
        changes = fleet.changes(n)
        self.begin, later = now, changes[changes > now]
        self.end = min(now + 600, later[0] if len(later) else np.inf)
        moments, rows = np.array([now, (now + self.end) / 2]), []
        for g in fleet.gpus[n]:
            base = f'uuid="{g.uuid}",gpu="{g.index}"'
            for labels, t, v in fleet.series(g, moments, ""):
                if len(t) == 2:
                    text = ",".join(f'{k.replace("exported_job", "job")}="{x}"' for k, x in labels.items() if k not in ("__name__", "instance", "job"))
                    rows.append((labels["__name__"], text, v[0], (v[1] - v[0]) / (t[1] - t[0])))
            if g.failed is not None and g.failed <= now:
                continue
            for name, extra in OTHERS:
                rows.append((name, f'{base}{"," if extra else ""}{extra}', *other_value(g, name, extra, now, fleet.start)))
            for i, name in enumerate(CLASSIC if classic else ()):
                rows.append((f"DCGM_FI_DEV_{name}", f'gpu="{g.index}",UUID="{g.uuid}",modelName="NVIDIA H200",Hostname="n{n:04d}"', 40.0 + g.index + i, 0.01))
        rows.sort(key=lambda row: row[0])
        lines, last = ['# TYPE assay_up gauge', 'assay_up{source="nvml"} 1'], ""
        for name, text, _, _ in rows:
            if name != last:
                lines.append(f'# TYPE {name} {"counter" if name.endswith("_total") else "gauge"}')
            last = name
            lines.append(f"{name}{{{text}}} %.6f")
        self.text = "\n".join(lines) + "\n"
        self.values, self.slopes = np.array([r[2] for r in rows]), np.array([r[3] for r in rows])

    def at(self, now):
        return self.text % tuple((self.values + self.slopes * (now - self.begin)).tolist())


def exposition(fleet, n, now, kept=None):
    """What a node's exporter says at a moment. kept: {node: Template} of the moments before."""
    kept = {} if kept is None else kept
    if n not in kept or not kept[n].begin <= now < kept[n].end:
        kept[n] = Template(fleet, n, now)
    return kept[n].at(now)


def scraped(fleet, n, times):
    """[(labels, times, values)]: what an engine has that asked a node at these moments."""
    found, kept = {}, {}
    for now in times:
        for line in exposition(fleet, n, now, kept).splitlines():
            if not line.startswith("#"):
                key, _, value = line.rpartition(" ")
                found.setdefault(key, []).append((now, float(value)))
    out = []
    for key, points in found.items():
        name, _, rest = key.partition("{")
        labels = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        own = {("exported_" + k if k == "job" else k): v for k, v in labels.items()}
        out.append(({"__name__": name, "instance": f"n{n:04d}", "job": "assay", **own}, *(np.array(column) for column in zip(*points))))
    return out


async def answer(fleet, kept, reader, writer):
    """One connection of an engine, which asks again and again."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            body = exposition(fleet, int(head.split(b"/", 2)[1][1:]), time.time(), kept).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):  # the engine did not wait
        pass
    finally:
        writer.close()


def serve(fleet, port, ready=None):
    """A path a node."""
    kept, now = {}, time.time()
    for n in range(fleet.nodes):
        exposition(fleet, n, now, kept)

    async def run():
        async with await asyncio.start_server(lambda r, w: answer(fleet, kept, r, w), "127.0.0.1", port, backlog=1024) as server:
            if ready:
                ready()
            await server.serve_forever()

    asyncio.run(run())


def targets(nodes, port):
    return [{"targets": [f"127.0.0.1:{port}"], "labels": {"__metrics_path__": f"/n{n:04d}/metrics", "instance": f"n{n:04d}"}} for n in range(nodes)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["serve", "targets", "backfill"])
    p.add_argument("url", nargs="?")
    p.add_argument("--nodes", type=int, default=25)
    p.add_argument("--port", type=int, default=9500)
    p.add_argument("--hours", type=float, default=6)
    p.add_argument("--step", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--hang", default="", help="NODE.GPU that hangs from now on")
    p.add_argument("--fail", default="", help="NODE.GPU that falls off the bus now")
    a = p.parse_args()
    now = time.time()
    if a.what == "targets":
        json.dump(targets(a.nodes, a.port), sys.stdout)
        return
    if a.what == "serve":
        fleet = Fleet(a.nodes, now - 7200, now + 6 * 3600, a.seed)
        for where, do in ((a.hang, fleet.hang), (a.fail, fleet.fail)):
            if where:
                do(*map(int, where.split(".")), now)
        serve(fleet, a.port, lambda: print("ready", flush=True))
        return
    end = now // 300 * 300
    fleet = Fleet(a.nodes, end - a.hours * 3600, end, a.seed)
    print(*backfill(a.url, fleet.all_series(a.step), fleet.start, fleet.end))


if __name__ == "__main__":
    main()
