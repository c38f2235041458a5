"""Measures sessions: bytes per value, rows per second, the cost of recording, a day's report.

    store_bench.py BUILD
"""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = (ROOT / "data" / "h200-tour.csv").read_text().splitlines()
GPUS = 8


def capture(path, ticks, interval):
    """So many ticks of eight GPUs, each at another place of the tour."""
    rows = [line.split(",", 2)[2] for line in TOUR[1:]]
    start = 1794726548.0
    with open(path, "w", buffering=1 << 20) as out:
        out.write(TOUR[0] + "\n")
        for t in range(ticks):
            stamp = f"{start + t * interval:.2f}"
            out.write("".join(f"{stamp},{g},{rows[(t + g * 37) % len(rows)]}\n" for g in range(GPUS)))


def cpu(program, *args):
    """Runs it; gives seconds on the clock, seconds of CPU, and peak memory in MiB."""
    code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL);" \
           "u=resource.getrusage(resource.RUSAGE_CHILDREN);print(u.ru_utime+u.ru_stime,u.ru_maxrss/1024)"
    started = time.monotonic()
    out = subprocess.run([sys.executable, "-c", code, str(program), *map(str, args)], check=True, capture_output=True, text=True).stdout
    used, memory = map(float, out.split()[-2:])
    return time.monotonic() - started, used, memory


# A job with something in all figures: a core busy now and then, files written and read, processes that come and go.
JOB = """import os, subprocess, sys, tempfile, time
end = time.time() + float(sys.argv[1])
while time.time() < end:
    busy = time.time() + 0.03
    while time.time() < busy: pass
    with tempfile.TemporaryFile() as f: f.write(os.urandom(1 << 16)); f.flush(); f.seek(0); f.read()
    if int(time.time() * 10) % 20 == 0: subprocess.run(["true"])
    time.sleep(0.1)
"""


def with_host(program, folder, seconds):
    """The same eight GPUs beside a real job at 10 Hz; gives bytes, values of the GPUs and of the host, and the recorder's CPU."""
    path = folder / "host.assay"
    _, used, _ = cpu(program, "run", "-q", "--speed", "1", "--interval", "0.1", "--source", folder / "tour.csv", "-o", path, "--",
                     sys.executable, "-c", JOB, seconds)
    with sqlite3.connect(path) as db:
        gpus = db.execute("select count(*) from samples where value is not null").fetchone()[0]
        host = db.execute("select count(*) from host_cell where stored is not null").fetchone()[0]
        job = sum(float(db.execute("select value from manifest where key = ?", (k,)).fetchone()[0]) for k in ("cpu_user_s", "cpu_system_s"))
    return path.stat().st_size, gpus, host, (used - job) / seconds


def give_host(day, hour):
    """The job's host, again and again, until the day is over."""
    with sqlite3.connect(day) as db:
        db.execute("attach ? as h", (str(hour),))
        blocks = db.execute("select max(block) from h.host_block").fetchone()[0]  # the last is not full
        db.execute("insert or replace into host_gpu select * from h.host_gpu")
        db.execute("insert or replace into level_note select 0, level, name, why from h.level_note where tick = 0")
        for i in range(86400 // 128):
            db.execute("insert into host_block select ?, item, series, width, base, state, data from h.host_block where block = ?", (i, i % blocks))
        db.executemany("insert into host_tick select ?, ?, null, 1000, cores from h.host_tick where id = 0", ((i, i * 1000000) for i in range(86400 // 128 * 128)))


def main():
    program = pathlib.Path(sys.argv[1]) / "assay"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        capture(folder / "tour.csv", len(TOUR) - 1, 0.1)
        _, used, _ = cpu(program, "record", "-q", "--source", folder / "tour.csv", "-o", folder / "tour.assay")
        _, plain, _ = cpu(program, "export", "timestamp", "--source", folder / "tour.csv")
        db = sqlite3.connect(folder / "tour.assay")
        values = db.execute("select count(*) from samples where value is not null").fetchone()[0]
        db.close()
        size = (folder / "tour.assay").stat().st_size
        rows = (len(TOUR) - 1) * GPUS
        print(f"tour, 10 Hz x {GPUS} GPUs: {size / values:.2f} bytes a value ({values} values, {size} bytes; at most 2)")
        print(f"written as fast as read: {rows / max(used, 1e-9):.0f} rows a second of CPU")
        print(f"the same without a session: {plain:.3f} s of CPU, with one {used:.3f} s")

        seconds = 20
        _, live, _ = cpu(program, "record", "-q", "--speed", "1", "--duration", seconds, "--source", folder / "tour.csv", "-o", folder / "live.assay")
        _, idle, _ = cpu(program, "export", "timestamp", "--speed", "1", "--count", seconds * 10, "--source", folder / "tour.csv")
        print(f"recording live: {100 * (live - idle) / seconds:.2f} % of a core beyond sampling (at most 1)")

        seconds = 117
        size, gpus, host, share = with_host(program, folder, seconds)
        print(f"the same with the host at 10 Hz: {size / (gpus + host):.2f} bytes a value ({gpus} + {host} values, {size} bytes; at most 2), "
              f"{100 * share:.1f} % of a core in all")

        capture(folder / "day.csv", 86400, 1)
        wall, used, _ = cpu(program, "record", "-q", "--source", folder / "day.csv", "-o", folder / "day.assay")
        print(f"24 h x {GPUS} GPUs x 1 Hz: {(folder / 'day.assay').stat().st_size / 1e6:.0f} MB, written in {wall:.1f} s ({used:.1f} s of CPU)")
        give_host(folder / "day.assay", folder / "host.assay")
        print(f"with the host: {(folder / 'day.assay').stat().st_size / 1e6:.0f} MB")
        runs = [cpu(program, "report", folder / "day.assay") for _ in range(3)]
        plots = [cpu(program, "plot", folder / "day.assay", "--per-gpu", "-o", folder / "day.png") for _ in range(3)]
        print(f"its plot: {min(r[0] for r in plots):.2f} s, {min(r[1] for r in plots):.2f} s of CPU, {max(r[2] for r in plots):.0f} MiB (at most 1 s, 64 MB)")
        print(f"its report: {min(r[0] for r in runs):.2f} s, {min(r[1] for r in runs):.2f} s of CPU, {max(r[2] for r in runs):.0f} MiB (at most 1 s, 64 MB)")


if __name__ == "__main__":
    main()
