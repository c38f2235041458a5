"""A fleet that keeps books: nodes of 8 GPUs that speak our exposition, with jobs that come and go, idle, hang and fail.

Everything follows from a seed. A GPU's past is a list of stays (who held it, from when to when) and what each did meanwhile; from these come the
counters as 'assay serve' would export them, by slots, at any moment; and the books: who held and wasted how much. Times are seconds since the epoch.

    sim.py serve --nodes 1250 --port 9500        one port, a path a node: /n0001/metrics
    sim.py targets --nodes 1250 --port 9500      the file_sd list of these
    sim.py backfill URL --nodes 25 --hours 6     remote-write to Prometheus or VictoriaMetrics
"""
import argparse
import http.server
import json
import random
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


class Stay:
    """One owner on one GPU: parts are (from, to, what), what is a Real Utilization or a reason."""

    def __init__(self, owner, start, end, parts):
        self.owner, self.start, self.end, self.parts, self.slot = owner, start, end, parts, 0


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
        self.node, self.index, self.stays = node, index, []
        self.uuid = f"GPU-{node:08x}-{index:04x}-4000-8000-000000000000"

    def labels(self, **more):
        return {"uuid": self.uuid, "gpu": str(self.index), **{k: str(v) for k, v in more.items()}}


class Fleet:
    """jobs_a_day: changes of owners over the whole fleet. Users u00… differ in how much they leave idle."""

    def __init__(self, nodes, start, end, seed=1, users=20, jobs_a_day=None, split=0.3):
        self.start, self.end, self.rng = start, end, random.Random(seed)
        self.nodes, self.users = nodes, [f"u{i:02d}" for i in range(users)]
        self.gpus = [[Gpu(n, g) for g in range(GPUS)] for n in range(nodes)]
        self.gone, self.reset, self.restart, self.skew = {}, {}, {}, {}
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

    # --- series --------------------------------------------------------------------------------

    def curves(self, gpu):
        """{(family, labels…): (times, values)}: breakpoints of every counter of a GPU, from its first stay on."""
        begin = min([self.start] + [s.start for s in gpu.stays[:1]])
        slots, limiter, real_t, real_v, total = {}, {}, [begin], [0.0], 0.0

        def add(key, t0, t1, amount):
            t, v = slots.setdefault(key, ([begin], [0.0]))
            t += [t0, t1]
            v += [v[-1], v[-1] + amount]

        def limit(name, t0, t1):
            t, v = limiter.setdefault(name, ([begin], [0.0]))
            t += [t0, t1]
            v += [v[-1], v[-1] + t1 - t0]

        last = begin
        for s in gpu.stays:
            if s.start > last:
                limit("idle", last, s.start)
            last = s.end
            add(("assay_gpu_held_seconds_total", s.slot, ""), s.start, s.end, s.end - s.start)
            add(("assay_gpu_held_observed_seconds_total", s.slot, ""), s.start, s.end, s.end - s.start)
            for a, b, what in s.parts:
                if isinstance(what, str):
                    limit(LIMITER_OF[what], a, b)
                    continue
                limit("compute.tensor", a, b)
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
        out[("assay_gpu_observed_seconds_total", tuple(gpu.labels().items()))] = ([begin, self.end + 86400], [0.0, self.end + 86400 - begin])
        out[("assay_gpu_health_seconds_total", tuple(gpu.labels(health="OK").items()))] = ([begin, self.end + 86400], [0.0, self.end + 86400 - begin])
        out[("assay_gpu_real_utilization_seconds_total", tuple(gpu.labels().items()))] = (real_t, real_v)
        return out

    def series(self, gpu, times, instance, brief=False):
        """[(labels, times, values)] as a scrape at these moments tells them. A counter begins when it has something to tell."""
        out, reset = [], self.reset.get(gpu.node)
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
        for name in ("assay_gpu_info", "assay_gpu_up"):
            more = {"model": "NVIDIA H200"} if name.endswith("info") else {}
            out.append(({"__name__": name, "instance": instance, "job": "assay", **gpu.labels(**more)}, times, np.ones(len(times))))
        return out

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


def backfill(url, series, start, end, slice_s=1800, batch=4_000_000):
    """Everything in slices of time, because an engine takes the past in its order. Returns series and samples sent."""
    held = [(label_bytes(labels), t, v) for labels, t, v in series]
    sent = 0
    at = start
    while at < end:
        parts, size = [], 0
        for labels, t, v in held:
            a, b = np.searchsorted(t, (at, at + slice_s))
            if a == b:
                continue
            sent += int(b - a)
            part = field(1, labels + sample_bytes(t[a:b], v[a:b]))
            parts.append(part)
            size += len(part)
            if size > batch:
                post(url, b"".join(parts))
                parts, size = [], 0
        if parts:
            post(url, b"".join(parts))
        at += slice_s
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


def exposition(fleet, n, now, classic=True):
    """What a node's exporter says at a moment."""
    lines, times = [], np.array([now])
    for g in fleet.gpus[n]:
        base = f'uuid="{g.uuid}",gpu="{g.index}"'
        for labels, t, v in fleet.series(g, times, ""):
            if not len(t):
                continue
            text = ",".join(f'{k.replace("exported_job", "job")}="{x}"' for k, x in labels.items() if k not in ("__name__", "instance", "job"))
            lines.append((labels["__name__"], f'{labels["__name__"]}{{{text}}} {v[0]:.6f}'))
        for name, extra in OTHERS:
            lines.append((name, f'{name}{{{base}{"," if extra else ""}{extra}}} {(now - fleet.start) * (0.4 + 0.07 * g.index):.6f}'))
        for name in CLASSIC if classic else ():
            name = f"DCGM_FI_DEV_{name}"
            lines.append((name, f'{name}{{gpu="{g.index}",UUID="{g.uuid}",modelName="NVIDIA H200",Hostname="n{n:04d}"}} {int(now) % 97 + g.index}'))
    lines.sort(key=lambda pair: pair[0])
    out, last = [], ""
    for name, line in lines:
        if name != last:
            out.append(f'# TYPE {name} {"counter" if name.endswith("_total") else "gauge"}')
        last = name
        out.append(line)
    return "\n".join(out) + "\n"


def serve(fleet, port, ready=None):
    """A path a node. Texts are made once a moment and node."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = exposition(fleet, int(self.path.split("/")[1][1:]), time.time()).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:  # the engine did not wait
                self.close_connection = True

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        if ready:
            ready()
        server.serve_forever()


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
    a = p.parse_args()
    now = time.time()
    if a.what == "targets":
        json.dump(targets(a.nodes, a.port), sys.stdout)
        return
    if a.what == "serve":
        fleet = Fleet(a.nodes, now - 7200, now + 6 * 3600, a.seed)
        serve(fleet, a.port, lambda: print("ready", flush=True))
        return
    end = now // 300 * 300
    fleet = Fleet(a.nodes, end - a.hours * 3600, end, a.seed)
    print(*backfill(a.url, fleet.all_series(a.step), fleet.start, fleet.end))


if __name__ == "__main__":
    main()
