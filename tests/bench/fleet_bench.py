"""assay fleet on 10,000 simulated GPUs, with a real Prometheus and a real VictoriaMetrics. Every number is printed as soon as it is known.

    fleet_bench.py BUILD [--nodes 1250] [--only day,disk,churn,scrape] [--engines prometheus,victoria-metrics] [--budget 1050]
day     a day with 50,000 changes of owners, backfilled: series, what the rules cost, how long overview, users and a job's card take, and whether
        each user's wasted hours are those of the simulator's books
churn   as many changes on 320 GPUs: what grows with the jobs, and what does not
disk    a day of 64 GPUs at 60 s with all series: bytes a sample, a GPU and day
scrape  all nodes scraped at 60 s, at 15 s and, when time is left, at 5 s: memory, CPU, how long a scrape takes, how many are made of those that are due; if not nearly all, with fewer nodes
What no time is left for is said. A part that takes long is made smaller: the day's series of nodes begin later.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "fleet"), str(ROOT / "tests" / "system"), str(ROOT / "tests")]

import numpy as np  # noqa: E402
import sim  # noqa: E402
from engines import Prometheus, VictoriaMetrics  # noqa: E402
from serving import free_port  # noqa: E402

class Victoria(VictoriaMetrics):
    """As it is run in earnest: with its caches, and the memory that it wants."""

    def command(self):
        return [word for word in super().command() if not word.startswith(("-memory", "-search.disableCache"))]


TICKS = os.sysconf("SC_CLK_TCK")
DAY = 86400


class Clock:
    """How much time is left for all."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def has(self, seconds, what):
        """Whether something fits that takes about so long; says so when not."""
        if self.left() >= seconds:
            return True
        line(what, "--", f"no time left: {self.left():.0f} s, it wants {seconds} s")
        return False


def line(name, value, bound=""):
    print(f"  {name:<52} {value:>18}   {bound}", flush=True)


def memory(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {k: int(v.split()[0]) / 1024 for k, v in (x.split(":", 1) for x in text.splitlines() if x.startswith("Vm")) if v.split()}


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def folder_size(path):
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())


def timed(assay, engine, *words, times=3, timeout=60):
    """(median of the seconds, what was printed), or (None, why not)."""
    took = []
    for _ in range(times):
        begun = time.monotonic()
        done = subprocess.run([assay, "fleet", *words, "--engine", engine.url, "--timeout", str(timeout)], capture_output=True, text=True, check=False)
        took.append(time.monotonic() - begun)
        if done.returncode:
            return None, done.stderr.splitlines()[0]
    return statistics.median(took), done.stdout


# --- a day ---------------------------------------------------------------------------------------


class Day(sim.Fleet):
    """A day that is asked about, and what was before. A scrape every five minutes, and every minute where a window begins or ends."""

    LEAD = 4500
    EDGES = (DAY, 7200)  # windows that are asked for, to the end
    FINE = 60

    def __init__(self, nodes, end, changes):
        super().__init__(nodes, end - DAY - self.LEAD, end, users=200, jobs_a_day=changes)

    def node_times(self, n, step):
        coarse, fine = super().node_times(n, step), super().node_times(n, self.FINE)
        near = fine >= self.end - 3900
        for window in self.EDGES:
            near |= abs(fine - (self.end - window)) < 600
        return np.unique(np.append(coarse[coarse < self.end - 3900], fine[near]))

    def series_of_day(self, step=300):
        """Limiters and health only of the last hour: nothing else is asked of them raw."""
        for labels, t, v in self.all_series(step):
            if "limiter" in labels or "health" in labels:
                t, v = t[t >= self.end - 3900], v[t >= self.end - 3900]
            if len(t):
                yield labels, t, v


def recorded(fleet, step=300):
    """What the rules record: the same sums from the simulator's own curves, so that a day need not be lived through."""
    times = np.arange(fleet.end - DAY, fleet.end + 1, step)
    sums = {}

    def add(name, labels, values):
        key = (name, tuple(sorted(labels.items())))
        sums[key] = sums.get(key, 0) + values

    short = {"assay_gpu_held_seconds_total": "held", "assay_gpu_held_observed_seconds_total": "observed",
             "assay_gpu_held_real_utilization_seconds_total": "real", "assay_gpu_wasted_seconds_total": "wasted"}
    for node in fleet.gpus:
        for g in node:
            instance = {"instance": f"n{g.node:04d}"}
            owner_of = {}
            for s in g.stays:
                owner_of.setdefault(s.slot, []).append(s)
            for (family, labels), (t, v) in fleet.curves(g).items():
                labels = dict(labels)
                growth = np.diff(np.interp(times, t, v))
                if family in short:
                    more = {"reason": labels["reason"]} if "reason" in labels else {}
                    if short[family] in ("held", "wasted"):
                        add(f"assay:node_{short[family]}_seconds:increase5m", {**instance, **more}, growth)
                    for s in owner_of[int(labels["slot"])]:
                        mine = growth * ((times[1:] > s.start) & (times[:-1] < s.end))
                        add(f"assay:user_{short[family]}_seconds:increase5m", {"kind": "slurm", "user": s.owner["user"], "account": s.owner["account"], **more}, mine)
                elif "limiter" in family:
                    add("assay:fleet_limiter_seconds:increase5m", {"limiter": labels["limiter"]}, growth)
                elif "health" in family:
                    add("assay:fleet_health_seconds:increase5m", {"health": labels["health"]}, growth)
                else:
                    add(f"assay:node_{'real' if 'real' in family else 'observed'}_seconds:increase5m", instance, growth)
        for name in ("assay:node_gpus:count", "assay:node_up:sum", "assay:node_owned:count"):
            add(name, {"instance": f"n{node[0].node:04d}"}, np.full(len(times) - 1, float(len(node))))
    for (name, labels), values in list(sums.items()):
        if name.startswith("assay:node_"):
            what = name.replace(":node_", ":fleet_").replace("gpus:count", "gpus:sum").replace("owned:count", "owned:sum")
            add(what, {k: v for k, v in labels if k == "reason"}, values)
    add("assay:fleet_nodes:count", {}, np.full(len(times) - 1, float(fleet.nodes)))
    return [({"__name__": name, **dict(labels)}, times[1:], values) for (name, labels), values in sums.items()]


def off_the_books(fleet, rows, window, late):
    """(worst user's distance from the books, the same beyond what a scrape explains that is `late` seconds old, the fleet's), of what was wasted."""
    start, end = fleet.end - window, fleet.end
    books = [{u: sum(b["wasted"].values()) for u, b in fleet.books(start - i, end - j).items()} for i in (0, late) for j in (0, late)]
    worst = beyond = 0.0
    for user, want in books[0].items():
        told, around = rows.get(user, 0), [b.get(user, 0) for b in books]
        if want > 0:
            worst = max(worst, abs(told - want) / want)
            beyond = max(beyond, (min(around) - told) / want, (told - max(around)) / want)
    total = sum(books[0].values())
    return worst, beyond, abs(sum(rows.get(u, 0) for u in books[0]) - total) / total


def compare(assay, engine, fleet, until, name, window, times, late):
    seconds, out = timed(assay, engine, "users", "--until", until, "--window", f"{window // 3600}h", "--format", "json", "--limit", "1000", times=times, timeout=120)
    if not seconds:
        line(name, "--", out)
        return
    report = json.loads(out)
    worst, beyond, total = off_the_books(fleet, {r["owner"]: r["wasted_seconds"] for r in report["owners"]}, window, late)
    line(name, f"{seconds:.2f} s", "by the rules" if report["recorded"] else "from the raw counters")
    line("  wasted GPU-hours against the books", f"{total * 100:.2f} % off", f"worst of {len(report['owners'])} users {max(beyond, 0) * 100:.2f} %, bound 1 %"
         + (f"; {worst * 100:.2f} % with what scrapes {late} s old cannot know" if late else ""))


def time_rules(engine, end):
    """What the rules cost the engine every five minutes, with series of the last hour at 60 s."""
    text = (ROOT / "deploy/prometheus/rules/fleet.yml").read_text()
    took, before, worst = 0.0, cpu(engine.process.pid), (0.0, "")
    for part in text.split("- record:")[1:]:
        expr = part.split("expr:", 1)[1].split("#")[0].replace(">-", "", 1).strip()
        begun = time.monotonic()
        urllib.request.urlopen(engine.url + "/api/v1/query", urllib.parse.urlencode({"query": expr, "time": end}).encode(), timeout=120).read()
        worst = max(worst, (time.monotonic() - begun, part.split()[0]))
        took += time.monotonic() - begun
    line("all rules once, every five minutes", f"{took:.2f} s", f"{cpu(engine.process.pid) - before:.1f} s of CPU; the slowest {worst[0]:.2f} s: {worst[1]}")


def count_series(engine, at):
    """(of owners, all other of slots and GPUs) in the hour before a moment."""
    names = ("held_seconds_total", "held_observed_seconds_total", "held_real_utilization_seconds_total", "wasted_seconds_total", "observed_seconds_total",
             "real_utilization_seconds_total", "info", "up")
    got = [engine.query(f"count(last_over_time(assay_gpu_{name}[1h]))", time=at) for name in ("owner_info", *names)]
    numbers = [int(float(g[0]["value"][1])) if g else 0 for g in got]
    return numbers[0], sum(numbers[1:])


def load_day(engine, fleet, in_order, rules, seconds):
    """Prometheus takes the past in its order only, and slowly: what the rules record goes with the rest. Returns from when on the nodes' own series are there."""
    begun, slices = time.monotonic(), 3600 if in_order else DAY + fleet.LEAD + 1
    series = list(fleet.series_of_day()) + (rules if in_order else [])
    count, first = -(-(DAY + fleet.LEAD + 1) // slices), 0
    sending = time.monotonic()

    def skip(labels, at):
        """After two hours it is known how long the others take: some are left out of the nodes' series, the last four never."""
        nonlocal first
        if not first and at == 2:
            fit = int((seconds - (time.monotonic() - begun)) / (time.monotonic() - sending) * 2)
            first = min(max(2, count - max(fit, 4)), count)
        return at < first and at >= 2 and not labels["__name__"].startswith("assay:")

    _, samples = sim.backfill(engine.url, series, fleet.start, fleet.end + 1, slice_s=slices, skip=skip if in_order else None)
    since = fleet.start + (first if first > 2 else 0) * slices
    line("samples sent", f"{samples / 1e6:.1f} M", f"{time.monotonic() - begun:.0f} s; series of nodes for {(fleet.end - since) / 3600:.0f} h")
    return since


def print_series(engine, moments, nodes, end):
    for at in moments:
        owners, others = count_series(engine, at)
        line(f"series, hour {(at - (end - DAY)) / 3600:.0f} of the day", f"{owners + others}", f"{owners} of owners, all other {others}: {others / nodes / 8:.2f} a GPU")


def bench_views(assay, make, engine, fleet, until, since, clock):
    """What a person asks, with the rules there."""
    before = cpu(engine.process.pid)
    seconds, out = timed(assay, engine, "--until", until)
    line("overview, 24 h, by the rules", f"{seconds:.2f} s" if seconds else out, f"bound 2 s; {(cpu(engine.process.pid) - before) / 3:.2f} s of the engine's CPU")
    compare(assay, engine, fleet, until, "users, 24 h", DAY, 3, 0)
    whole = max((s for n in fleet.gpus for s in n[0].stays if since < s.start and s.end < fleet.end - 1200), key=lambda s: s.end - s.start, default=None)
    for window in ("24h", "7d") if whole else ():
        seconds, out = timed(assay, engine, "job", whole.owner["job"], "--until", until, "--window", window, "--format", "json")
        held = json.loads(out)["job"]["held_seconds"] if seconds else 0
        want = sum(s.end - s.start for n in fleet.gpus for g in n for s in g.stays if s.owner is whole.owner)
        line(f"a job's card, looking back {window}", f"{seconds:.2f} s" if seconds else out, f"bound 1 s; its GPU-hours are {abs(held - want) / want * 100:.2f} % off the books")
    for view, window in (("users", "5m"), ("jobs", "10m"), ("jobs", "24h"))[:3 if make is Victoria else 2]:
        if clock.has(60, f"{view}, {window}, from the raw counters"):
            seconds, out = timed(assay, engine, view, "--until", until, "--window", window, times=1, timeout=30)
            line(f"{view}, {window}, from the raw counters", f"{seconds:.2f} s" if seconds else "--", "" if seconds else out)


def bench_day(assay, make, nodes, tmp, clock, seconds):
    end = int(time.time()) // 300 * 300
    fleet = Day(nodes, end, 40 * nodes)
    changes = sum(1 for n in fleet.gpus for g in n for s in g.stays if s.start >= end - DAY)
    print(f"{make.kind}: a day of {nodes * 8} GPUs with {changes} changes of owners, backfilled", flush=True)
    rules, until = recorded(fleet), time.strftime("%Y-%m-%d %H:%M", time.localtime(end))
    # The rules are used where this one says that they ran: it says so later, after the raw counters were asked.
    last, known = next(r for r in rules if r[0]["__name__"] == "assay:fleet_nodes:count"), end - 3000
    rules = [r for r in rules if r is not last] + [(last[0], last[1][last[1] <= known], last[2][last[1] <= known])]
    with make(tmp / "day") as engine:
        since = load_day(engine, fleet, make is Prometheus, rules, seconds)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end))
        time_rules(engine, end)
        print_series(engine, sorted({max(since + 3600, end - 23 * 3600), (max(since, end - DAY) + end) // 2, end}), nodes, end)
        hours = 24 if make is Victoria else 2
        if clock.has(60, f"users, {hours} h, from the raw counters"):
            compare(assay, engine, fleet, until, f"users, {hours} h", hours * 3600, 1, Day.FINE)
        if make is Victoria:
            sim.backfill(engine.url, rules, end - DAY, end + 1, slice_s=DAY + 1)
        sim.backfill(engine.url, [last], known + 1, end + 1)
        engine.wait(lambda: engine.query("assay:fleet_nodes:count", time=end))
        line("series of the rules", str(len(rules)))
        vm = memory(engine.process.pid)
        line("memory after the day", f"{vm['VmRSS']:.0f} MB", f"{vm['VmRSS'] * 1024 / nodes / 8:.0f} kB a GPU; at most {vm['VmHWM']:.0f} MB")
        bench_views(assay, make, engine, fleet, until, since, clock)


def bench_churn(make, nodes, tmp):
    """As many changes on few GPUs: what grows with the jobs, and what does not."""
    end = int(time.time()) // 300 * 300
    fleet = Day(nodes, end, 72000)
    changes = sum(1 for n in fleet.gpus for g in n for s in g.stays if s.start >= end - DAY)
    print(f"{make.kind}: {changes} changes of owners in a day on {nodes * 8} GPUs", flush=True)
    with make(tmp / "churn") as engine:
        sim.backfill(engine.url, fleet.series_of_day(), fleet.start, end + 1, slice_s=3600 if make is Prometheus else 2 * DAY)
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end))
        print_series(engine, (end - 23 * 3600, end - 12 * 3600, end), nodes, end)
        slots = max(s.slot for n in fleet.gpus for g in n for s in g.stays)
        line("slots of a GPU", f"at most {slots}", f"with every reason in each: {slots * (3 + len(sim.REASONS)) + 4} series a GPU, however many jobs come")


# --- disk ----------------------------------------------------------------------------------------


def full_series(fleet, step):
    """Everything a node exports: what the simulator keeps books of, and the rest with plausible noise."""
    yield from fleet.all_series(step)
    rng = np.random.default_rng(1)
    for n in range(fleet.nodes):
        times = fleet.node_times(n, step)
        for g in fleet.gpus[n]:
            for name, extra in sim.OTHERS:
                labels = {"__name__": name, "instance": f"n{n:04d}", "job": "assay", **g.labels()}
                if extra:
                    key, value = extra.split("=")
                    labels[key] = value.strip('"')
                noise = rng.random(len(times))
                values = np.round(np.cumsum(noise * step * 0.6), 6) if name.endswith("_total") else np.round(300 + 200 * noise)
                yield labels, times, values
            for name in sim.CLASSIC:
                yield ({"__name__": f"DCGM_FI_DEV_{name}", "instance": f"n{n:04d}", "job": "assay", "gpu": str(g.index), "UUID": g.uuid, "modelName": "NVIDIA H200"},
                       times, np.round(50 + 40 * rng.random(len(times))))


def bench_disk(make, tmp, nodes=8):
    end = int(time.time()) // 300 * 300
    fleet = sim.Fleet(nodes, end - 86400, end, jobs_a_day=40 * nodes)
    print(f"{make.kind}: a day of {nodes * 8} GPUs at 60 s, all series", flush=True)
    more = ["--web.enable-admin-api"] if make is Prometheus else []
    with make(tmp / "disk", more=more) as engine:
        n, samples = sim.backfill(engine.url, full_series(fleet, 60), fleet.start, fleet.end, slice_s=3600 if make is Prometheus else 86400)
        if make is Prometheus:
            urllib.request.urlopen(urllib.request.Request(f"{engine.url}/api/v1/admin/tsdb/snapshot", method="POST"), timeout=300).read()
            size = folder_size(tmp / "disk" / "data" / "snapshots")
        else:
            for path in ("/internal/force_flush", "/internal/force_merge"):
                urllib.request.urlopen(engine.url + path, timeout=60).read()
            last, size = -1, 0
            while size != last:
                last = size
                time.sleep(5)
                size = folder_size(tmp / "disk" / "data")
        line("series a GPU", f"{n / nodes / 8:.0f}")
        line("samples", f"{samples / 1e6:.1f} M")
        line("disk a sample", f"{size / samples:.2f} B")
        line("disk a GPU and day at 60 s", f"{size / nodes / 8 / 1e6:.2f} MB", f"10,000 GPUs: {size / nodes / 8 * 10000 / 1e9:.1f} GB a day; at 15 s about four times that")


# --- scraping ------------------------------------------------------------------------------------

CONFIG = """
global: {{scrape_interval: {every}s, scrape_timeout: {timeout}s}}
scrape_configs:
- job_name: assay
  file_sd_configs: [{{files: [{targets}]}}]
"""
GOOD = 0.99  # of the scrapes that are due


def measure_scrapes(assay, engine, server, nodes, every):
    """A while of it. The share of the scrapes of a minute that were made, and answered in time."""
    begun, before, sims = time.monotonic(), cpu(engine.process.pid), cpu(server.pid)
    time.sleep(30)
    took = time.monotonic() - begun
    line("CPU", f"{(cpu(engine.process.pid) - before) / took * 100:.0f} % of a core", f"the simulator: {(cpu(server.pid) - sims) / took * 100:.0f} %")
    vm = memory(engine.process.pid)
    line("memory", f"{vm['VmRSS']:.0f} MB", f"at most {vm['VmHWM']:.0f} MB; {vm['VmHWM'] * 1024 / nodes / 8:.0f} kB a GPU")

    def number(text):
        got = engine.query(text)
        return float(got[0]["value"][1]) if got else 0.0

    series = number('sum(scrape_samples_post_metric_relabeling{job="assay"})')
    line("series", f"{series:.0f}", f"{series / nodes / 8:.1f} a GPU; {series / every:.0f} samples a second")
    share = number('sum(sum_over_time(up{job="assay"}[1m]))') / (nodes * 60 / every)
    line("scrapes that were answered in time", f"{share * 100:.1f} %", f"{number('count(up == 1)'):.0f} of {nodes} nodes in the last one")
    line("99 % of the scrapes take less than", f"{number('quantile(0.99, scrape_duration_seconds)'):.2f} s")
    seconds, out = timed(assay, engine, "--window", "5m", times=1)
    line("overview, 5 min, from the raw counters", f"{seconds:.2f} s" if seconds else "--", "" if seconds else out)
    return share


def bench_scrape(assay, make, nodes, every, settle, tmp):
    """Some nodes every so often, for a while. The share of the scrapes that were made."""
    port = free_port()
    folder = tmp / f"scrape{every}-{nodes}"
    folder.mkdir(parents=True)
    (folder / "targets.json").write_text(json.dumps(sim.targets(nodes, port)))
    print(f"{make.kind}: {nodes} nodes ({nodes * 8} GPUs) scraped every {every} s on {os.cpu_count()} cores, the simulator on the same", flush=True)
    server = subprocess.Popen([sys.executable, ROOT / "tests/fleet/sim.py", "serve", "--nodes", str(nodes), "--port", str(port)], stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        more = [] if make is Prometheus else [f"-promscrape.config={folder}/engine.yml"]
        config = CONFIG.format(every=every, timeout=min(10, every), targets=folder / "targets.json")
        with make(folder, config=config, more=more) as engine:
            time.sleep(settle)
            return measure_scrapes(assay, engine, server, nodes, every)
    finally:
        server.terminate()
        server.wait()


def bench_scrapes(assay, make, nodes, every, clock, tmp):
    """All nodes; when it does not go, half of them, and so on: where it ends."""
    settle = max(every, 30) + 15  # all were asked once, and a minute is over when it was measured
    while clock.has(settle + 60, f"{nodes} nodes scraped every {every} s"):
        share = bench_scrape(assay, make, nodes, every, settle, tmp)
        if share >= GOOD or nodes < 100:
            line(f"where it ends at {every} s", f"{nodes * 8} GPUs go", "nearly all scrapes are made" if share >= GOOD else "not all scrapes are made")
            return
        nodes //= 2


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--nodes", type=int, default=1250)
    p.add_argument("--only", default="day,disk,churn,scrape")
    p.add_argument("--engines", default="prometheus,victoria-metrics")
    p.add_argument("--budget", type=float, default=1050, help="seconds for all of it")
    a = p.parse_args()
    assay = os.environ.get("ASSAY", str(pathlib.Path(a.build) / "assay"))
    clock = Clock(a.budget)
    engines = [make for make in (Prometheus, Victoria) if make.kind in a.engines.split(",")]
    todo = [
        ("day", 150, lambda make, tmp: bench_day(assay, make, a.nodes, tmp, clock, a.budget / 5)),
        ("disk", 40, lambda make, tmp: bench_disk(make, tmp)),
        ("churn", 40, lambda make, tmp: bench_churn(make, 40, tmp)),
        ("scrape", 120, lambda make, tmp: bench_scrapes(assay, make, a.nodes, 60, clock, tmp)),
        ("scrape", 100, lambda make, tmp: bench_scrapes(assay, make, a.nodes, 15, clock, tmp)),
        ("scrape", 100, lambda make, tmp: bench_scrapes(assay, make, a.nodes, 5, clock, tmp)),  # as far as it goes
    ]
    for what, seconds, do in todo:
        for make in engines if what in a.only.split(",") else ():
            if clock.has(seconds, f"{make.kind}: {what}"):
                with tempfile.TemporaryDirectory() as tmp:
                    do(make, pathlib.Path(tmp))
    print(f"{a.budget - clock.left():.0f} s in all", flush=True)


if __name__ == "__main__":
    main()
