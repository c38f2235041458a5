"""Recordings as what other tools log of the same GPU: `python3 forms.py ASSAY [FORM…]` writes each, reports it, and counts what is said first.

smi-query: nvidia-smi --query-gpu with name, limits, clocks and their reasons. smi-nine: the nine columns that many log, without a name or a limit. smi-dmon: nvidia-smi dmon -s pucmt.
exporter: scrapes of dcgm-exporter without profiling families. dcgm: dcgmi dmon without profiling fields. All of them once a second, and none knows the host: a limiter of the host is
right as host.waiting and as unknown.
"""
import collections
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
HOST = ("host.", "launch", "copy.host", "idle")
DRAWN = {"gpu_util_pct": 0, "memcpy_util_pct": 0, "power_w": 2, "sm_clock_mhz": 0, "gpu_temp_c": 0, "mem_used_mib": 0}


def seconds(assay, recording):
    """One row a second: means of what is drawn, the last of what is not."""
    text = subprocess.run([assay, "export", "full", recording], capture_output=True, text=True, check=True).stdout
    groups = collections.defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        groups[int(float(row["timestamp"])), row["gpu_id"]].append(row)
    for (second, gpu), rows in sorted(groups.items()):
        out = {**rows[-1], "second": second, "gpu_id": gpu}
        for name, digits in DRAWN.items():
            there = [float(r[name]) for r in rows if r[name]]
            out[name] = f"{sum(there) / len(there):.{digits}f}" if there else ""
        for name in ("pcie_rx_bytes_s", "pcie_tx_bytes_s"):
            out[name] = rows[-1][name] and float(rows[-1][name])
        yield out


def stamp(row):
    return datetime.datetime.fromtimestamp(row["second"], datetime.timezone.utc)


def smi(columns):
    def write(rows):
        yield ", ".join(head for head, _ in columns)
        for r in rows:
            yield ", ".join(str(value(r)) for _, value in columns)
    return write


NINE = [("timestamp", lambda r: stamp(r).strftime("%Y/%m/%d %H:%M:%S.000")), ("utilization.gpu [%]", lambda r: r["gpu_util_pct"]), ("utilization.memory [%]", lambda r: r["memcpy_util_pct"]),
        ("memory.used [MiB]", lambda r: r["mem_used_mib"]), ("memory.total [MiB]", lambda r: round(float(r["mem_total_mib"] or 0)) or "[N/A]"), ("power.draw [W]", lambda r: r["power_w"]),
        ("temperature.gpu", lambda r: r["gpu_temp_c"]), ("clocks.current.sm [MHz]", lambda r: r["sm_clock_mhz"]), ("clocks.current.memory [MHz]", lambda r: round(float(r["mem_clock_mhz"] or 0)))]
MORE = [("name", lambda r: "NVIDIA " + r["model"]), ("index", lambda r: r["gpu_id"]), ("enforced.power.limit [W]", lambda r: r["power_limit_w"]),
        ("clocks.max.sm [MHz]", lambda r: round(float(r["sm_clock_max_mhz"] or 0))), ("pcie.link.gen.current", lambda r: r["pcie_gen"]), ("pcie.link.width.current", lambda r: r["pcie_width"]),
        ("clocks_event_reasons.active", lambda r: f"0x{int(r['throttle_reasons'] or 0):016X}")]


def dmon(rows):
    yield "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk     fb   bar1  rxpci  txpci"
    yield "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %    MHz    MHz     MB     MB   MB/s   MB/s"
    for r in rows:
        rest = [round(float(r["power_w"] or 0)), r["gpu_temp_c"], "-", r["gpu_util_pct"], r["memcpy_util_pct"], 0, 0, 0, 0, round(float(r["mem_clock_mhz"] or 0)), r["sm_clock_mhz"], r["mem_used_mib"], 1,
                round((r["pcie_rx_bytes_s"] or 0) / 1e6), round((r["pcie_tx_bytes_s"] or 0) / 1e6)]
        yield f" {stamp(r):%Y%m%d   %H:%M:%S} {r['gpu_id']:>6}" + "".join(f"{v:>7}" for v in rest)


FAMILIES = [("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz"), ("DCGM_FI_DEV_GPU_UTIL", "gpu_util_pct"), ("DCGM_FI_DEV_MEM_COPY_UTIL", "memcpy_util_pct"), ("DCGM_FI_DEV_POWER_USAGE", "power_w"),
            ("DCGM_FI_DEV_FB_USED", "mem_used_mib"), ("DCGM_FI_DEV_GPU_TEMP", "gpu_temp_c")]


def exporter(rows):
    rows = list(rows)
    for second in sorted({r["second"] for r in rows}):
        for name, column in FAMILIES:
            yield f"# TYPE {name} gauge"
            for r in rows:
                if r["second"] == second:
                    yield (f'{name}{{gpu="{r["gpu_id"]}",UUID="GPU-x{r["gpu_id"]}",device="nvidia{r["gpu_id"]}",modelName="NVIDIA {r["model"]}",Hostname="node"}} '
                           f'{r[column]} {second}000')


def dcgm(rows):
    yield "#Entity   SMCLK        POWER        GPUTL        MCUTL        FBUSD"
    yield "ID        MHz          W                                      MiB"
    for r in rows:
        yield f"{'GPU ' + r['gpu_id']:10}" + "".join(f"{r[c]:<13}" for c in ("sm_clock_mhz", "power_w", "gpu_util_pct", "memcpy_util_pct", "mem_used_mib"))


FORMS = {"smi-query": smi(NINE + MORE), "smi-nine": smi(NINE), "smi-dmon": dmon, "exporter": exporter, "dcgm": dcgm}


def said(assay, path, row):
    done = subprocess.run([assay, "report", path, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode:
        return "failed", done.stderr[:200]
    found = json.loads(done.stdout)["findings"]
    limiter = found[0]["limiter"] if found else "nothing"
    accepted = row["accepted"].split()
    host = all(name.startswith(HOST) for name in accepted)
    if limiter in accepted or host and limiter in ("host.waiting", "unknown", "host.starting", "idle", "idle.allocated", "nothing"):
        return "right", limiter
    return ("misleading" if limiter in row["misleading"].split() else "unknown" if limiter == "unknown" else "other"), limiter


def judge(assay, form, rows, folder, show=print):
    counts = collections.Counter()
    for row in rows:
        path = pathlib.Path(folder) / f"{form}-{row['recording']}.txt"
        path.write_text("\n".join(FORMS[form](seconds(assay, HERE / f"{row['recording']}.assay"))) + "\n", encoding="utf-8")
        kind, what = said(assay, path, row)
        counts[kind] += 1
        if kind not in ("right", "unknown"):
            show(f"  {form} {row['recording']}: {kind}: {what}; accepted {row['accepted']}")
    return counts


def main():
    assay, forms = sys.argv[1], sys.argv[2:] or list(FORMS)
    rows = list(csv.DictReader((HERE / "labels.csv").open(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        for form in forms:
            print(form, dict(judge(assay, form, rows, folder)), flush=True)


if __name__ == "__main__":
    main()
