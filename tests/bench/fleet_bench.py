"""assay fleet on 10,000 simulated GPUs, with a real Prometheus and a real VictoriaMetrics.

    fleet_bench.py BUILD [--nodes 1250] [--only day,disk,scrape] [--engines prometheus,victoria-metrics]
day     a day with 50,000 changes of owners, backfilled: series, how long overview and a job's card take
disk    a day of 64 GPUs at 60 s with all series: bytes a sample, a GPU and day
scrape  all nodes scraped at 60 s and at 15 s: memory, CPU, how long a scrape takes, how many are missed
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


def timed(assay, engine, *words, times=3, **env):
    took = []
    for _ in range(times):
        begun = time.monotonic()
        done = subprocess.run([assay, "fleet", *words, "--engine", engine.url, "--timeout", "120"], capture_output=True, text=True, check=False,
                              env={**os.environ, **env})
        took.append(time.monotonic() - begun)
        if done.returncode:
            return None, done.stderr.splitlines()[0]
    return statistics.median(took), done.stdout


# --- a day ---------------------------------------------------------------------------------------


def recorded(fleet, step=300):
    """What the rules record: the same sums from the simulator's own curves, so that a day need not be lived through."""
    times = np.arange(fleet.start, fleet.end + 1, step)
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


def compare(assay, engine, books, until, name, times):
    seconds, out = timed(assay, engine, "users", "--until", until, "--format", "json", "--limit", "1000", times=times)
    if not seconds:
        line(name, "--", out)
        return
    rows = {r["owner"]: r["wasted_seconds"] for r in json.loads(out)["owners"]}
    worst = max(abs(rows.get(u, 0) - sum(b["wasted"].values())) / sum(b["wasted"].values()) for u, b in books.items() if b["wasted"])
    line(name, f"{seconds:.2f} s", f"wasted hours: worst of {len(books)} users {worst * 100:.2f} % off the books; bound 1 %")


def time_rules(engine, end):
    """What the rules cost the engine every five minutes."""
    text = (ROOT / "deploy/prometheus/rules/fleet.yml").read_text()
    took, before = 0.0, cpu(engine.process.pid)
    for part in text.split("- record:")[1:]:
        expr = part.split("expr:", 1)[1].split("#")[0].replace(">-", "", 1).strip()
        begun = time.monotonic()
        urllib.request.urlopen(engine.url + "/api/v1/query", urllib.parse.urlencode({"query": expr, "time": end - 300}).encode(), timeout=120).read()
        took += time.monotonic() - begun
    line("all rules once, every five minutes", f"{took:.2f} s", f"{cpu(engine.process.pid) - before:.1f} s of CPU")


def bench_day(assay, make, nodes, tmp, hours):
    """Prometheus takes the past in its order only, and slowly: what the rules record goes with the rest."""
    end = int(time.time()) // 300 * 300
    fleet = sim.Fleet(nodes, end - 86400, end, users=200, jobs_a_day=40 * nodes)
    changes = sum(1 for n in fleet.gpus for g in n for s in g.stays if s.start >= end - hours * 3600)
    print(f"{make.kind}: a day of {nodes * 8} GPUs, backfilled; series of nodes for {hours} h with {changes} changes of owners", flush=True)
    with make(tmp / "day") as engine:
        begun = time.monotonic()
        in_order = make is Prometheus
        slice_s = 3600 if in_order else 86400
        rules = recorded(fleet)
        cut = end - hours * 3600
        series = [(labels, t[t >= cut], v[t >= cut]) for labels, t, v in fleet.all_series(300, brief=True)]
        series = [one for one in series if len(one[1])]
        n, samples = sim.backfill(engine.url, series + rules if in_order else series, fleet.start, fleet.end + 1, slice_s=slice_s)
        n -= len(rules) if in_order else 0
        owners = sum(1 for labels, _, _ in series if labels["__name__"] == "assay_gpu_owner_info")
        del series
        line("samples sent", f"{samples / 1e6:.1f} M", f"{time.monotonic() - begun:.0f} s")
        engine.wait(lambda: engine.query("count(assay_gpu_info)", time=end - 300))
        books = fleet.books(fleet.start, fleet.end)
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(end))
        time_rules(engine, end)
        if not in_order:
            compare(assay, engine, books, until, "users, 24 h, from the raw series", 1)
            sim.backfill(engine.url, rules, fleet.start, fleet.end + 1, slice_s=slice_s)
        engine.wait(lambda: engine.query("assay:node_gpus:count", time=end))
        line("series of owners", str(owners), f"{owners / max(changes, 1):.2f} a change")
        line("all other series of slots, GPUs", str(n - owners), f"{(n - owners) / nodes / 8:.1f} a GPU")
        line("series of the rules", str(len(rules)))
        line("memory after the day", f"{memory(engine.process.pid)['VmRSS']:.0f} MB")
        before = cpu(engine.process.pid)
        seconds, out = timed(assay, engine, "--until", until)
        line("overview, 24 h, by the rules", f"{seconds:.2f} s" if seconds else out, f"bound 2 s; {(cpu(engine.process.pid) - before) / 3:.2f} s of the engine's CPU")
        compare(assay, engine, books, until, "users, 24 h, by the rules", 3)
        whole = max((s for n in fleet.gpus for s in n[0].stays if fleet.start < s.start and s.end < end - 3600), key=lambda s: s.end - s.start)
        for window in ("24h", "7d"):
            seconds, out = timed(assay, engine, "job", whole.owner["job"], "--until", until, "--window", window)
            line(f"a job's card, looking back {window}", f"{seconds:.2f} s" if seconds else out, "bound 1 s")
        for words, window in ((("users",), "5m"), (("jobs",), "5m"), (("jobs",), "1h")):
            seconds, out = timed(assay, engine, *words, "--until", until, "--window", window, times=1)
            line(f"{words[0]}, {window}, from the raw series", f"{seconds:.2f} s" if seconds else out)
        if make is Victoria:
            seconds, out = timed(assay, engine, "jobs", "--until", until, "--window", "24h", times=1)
            line("jobs, 24h, from the raw series", f"{seconds:.2f} s" if seconds else out)


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
    print(f"{make.kind}: a day of {nodes * 8} GPUs at 60 s, all series")
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


def bench_scrape(assay, make, nodes, every, minutes, tmp):
    port = free_port()
    folder = tmp / f"scrape{every}"
    folder.mkdir(parents=True)
    (folder / "targets.json").write_text(json.dumps(sim.targets(nodes, port)))
    print(f"{make.kind}: {nodes} nodes ({nodes * 8} GPUs) scraped every {every} s for {minutes} min on {os.cpu_count()} cores, the simulator on the same")
    server = subprocess.Popen([sys.executable, ROOT / "tests/fleet/sim.py", "serve", "--nodes", str(nodes), "--port", str(port)], stdout=subprocess.PIPE, text=True)
    try:
        server.stdout.readline()
        more = [] if make is Prometheus else [f"-promscrape.config={folder}/engine.yml"]
        config = CONFIG.format(every=every, timeout=min(10, every), targets=folder / "targets.json")
        with make(folder, config=config, more=more) as engine:
            time.sleep(minutes * 60)
            begun, before, sims = time.monotonic(), cpu(engine.process.pid), cpu(server.pid)
            time.sleep(60)
            took = time.monotonic() - begun
            line("CPU", f"{(cpu(engine.process.pid) - before) / took * 100:.0f} % of a core", f"the simulator: {(cpu(server.pid) - sims) / took * 100:.0f} %")
            vm = memory(engine.process.pid)
            line("memory", f"{vm['VmRSS']:.0f} MB", f"at most {vm['VmHWM']:.0f} MB")
            got = engine.query('sum(scrape_samples_post_metric_relabeling{job="assay"})')
            line("series", got[0]["value"][1] if got else "--", f"{float(got[0]['value'][1]) / nodes / 8:.1f} a GPU" if got else "")
            up = engine.query('sum(up{job="assay"})')
            line("nodes that were read", up[0]["value"][1] if up else "0", f"of {nodes}")
            slow = engine.query('quantile(0.99, scrape_duration_seconds{job="assay"})')
            line("99 % of the scrapes take less than", f"{float(slow[0]['value'][1]):.2f} s" if slow else "--")
            seconds, out = timed(assay, engine, "--window", "5m")
            line("overview, 5 min, from the raw series", f"{seconds:.2f} s" if seconds else out)
    finally:
        server.terminate()
        server.wait()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--nodes", type=int, default=1250)
    p.add_argument("--only", default="day,disk,scrape")
    p.add_argument("--engines", default="prometheus,victoria-metrics")
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--hours", type=int, default=24, help="of the nodes' own series in the day")
    a = p.parse_args()
    assay = os.environ.get("ASSAY", str(pathlib.Path(a.build) / "assay"))
    for make in (Prometheus, Victoria):
        if make.kind not in a.engines.split(","):
            continue
        with tempfile.TemporaryDirectory() as tmp:
            tmp = pathlib.Path(tmp)
            if "day" in a.only:
                bench_day(assay, make, a.nodes, tmp, a.hours)
            if "disk" in a.only:
                bench_disk(make, tmp)
            for every in (60, 15) if "scrape" in a.only else ():
                bench_scrape(assay, make, a.nodes, every, a.minutes, tmp)


if __name__ == "__main__":
    main()
