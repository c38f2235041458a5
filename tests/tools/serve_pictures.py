#!/usr/bin/env python3
"""The page of `assay serve` as people see it: eight GPUs that play recordings of an H200, jobs, findings.

usage: serve_pictures.py ASSAY FOLDER [--views fleet,gpu,...] [--sizes desktop,phone] [--themes dark,light]
       serve_pictures.py ASSAY --docs FILE.png     (the picture of the README)
       serve_pictures.py ASSAY --serve             (leaves the server running until Ctrl-C)
"""
import argparse
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
for variable in ("TSAN_OPTIONS", "LSAN_OPTIONS"):
    os.environ.setdefault(variable, "")
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "tests")]

from browser import Browser  # noqa: E402  pylint: disable=wrong-import-position
from serving import Server  # noqa: E402  pylint: disable=wrong-import-position

# What each GPU plays, whose job it is, and what else is told of it.
GPUS = [("train_block", "81734", {"throttle_reasons": "4"}), ("gemm_bf16", "81734", {"throttle_reasons": "4"}), ("llm_decode", "81740", {}), ("loader_cold", "81751", {}),
        ("server_bursts", "81752", {}), ("held", "81760", {}), ("gemm_fp32", "81761", {"gpu_temp_c": "91", "throttle_reasons": "64"}), ("resnet", "81734", {})]
LENGTH = 3640  # seconds of the past when pictures are taken
SPEED = 150
AHEAD = 180 * SPEED  # what is played meanwhile: at its end a recording shows nothing
SIZES = {"desktop": (1280, 990), "phone": (400, 860)}


def rows_of(assay, name):
    """One row a second of the part of a recording in which the program worked."""
    text = subprocess.run([assay, "export", "all", "--source", str(ROOT / "tests" / "truth" / f"{name}.assay")], capture_output=True, text=True, check=True).stdout
    rows = [r for r in csv.DictReader(io.StringIO(text)) if float(r["mem_used_mib"] or 0) > 0]
    rows = rows[len(rows) // 3:]
    working = [r for r in rows if float(r["gr_engine_active_pct"] or 0) > 60]
    return (working if len(working) > len(rows) / 3 else rows)[::4]


def write_capture(assay, path):
    plays = [rows_of(assay, name) for name, *_ in GPUS]
    names = [n for n in plays[0][0] if n not in ("timestamp", "gpu_id", "real_util_pct", "status", "health", "energy_j", "model")]
    start = time.time() - LENGTH
    with open(path, "w", encoding="utf-8", newline="") as out:
        w = csv.writer(out)
        w.writerow(["timestamp", "gpu_id", "uuid", "model", "power_limit_w", "throttle_reasons", *names])
        for t in range(LENGTH + AHEAD):
            for g, (play, (_, _, more)) in enumerate(zip(plays, GPUS)):
                pause = (t + 97 * g) % 1100 < 60  # between two runs
                row = {**play[(t // 3 + 7 * g) % len(play)], **more}
                if pause:
                    row = {**row, **{n: "0" for n in names if n.endswith(("_pct", "bytes_s"))}, "power_w": "120"}
                w.writerow([f"{start + t:.1f}", g, f"GPU-{g:08x}-5e7a-4b1c-9d2e-000000000000", "NVIDIA H200", "700", row.get("throttle_reasons", "0"), *[row[n] for n in names]])


def start(assay, folder):
    """A server that plays on when it has a past of an hour."""
    write_capture(assay, folder / "eight.csv")
    (folder / "map").mkdir()
    for g, (_, job, _) in enumerate(GPUS):
        (folder / "map" / str(g)).write_text(job + "\n")
    (folder / "sessions").mkdir()
    for name in ("train_block", "loader_cold", "llm_decode"):
        (folder / "sessions" / f"{name}.assay").write_bytes((ROOT / "tests" / "truth" / f"{name}.assay").read_bytes())
    s = Server(assay, folder, folder / "eight.csv", "--speed", str(SPEED), "--state", folder / "state", "--hpc-job-mapping-dir", folder / "map", "--sessions", folder / "sessions").start()
    s.ready()
    return s


def wait_until_played(s, seconds):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = [float(line.rsplit(" ", 1)[1]) for line in s.metrics().splitlines() if line.startswith("assay_gpu_observed_seconds_total{")]
        if found and max(found) > seconds:
            return
        time.sleep(0.2)


DRAWN = "return app.now && (location.hash !== '#fleet' || app.now.gpus.every((g) => app.history[`${g.gpu} ${SPAN}`])) ? 1 : 0"


def take(b, s, view, path, script=None, wait=1.2):
    b.open(f"http://127.0.0.1:{s.port}/#{view}")
    time.sleep(wait)
    end = time.monotonic() + 20
    while not b.run(DRAWN) and time.monotonic() < end:  # each GPU's past comes by itself
        time.sleep(0.2)
    if script:
        b.run(script)
        time.sleep(0.8)
    pathlib.Path(path).write_bytes(b.screenshot())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("assay")
    p.add_argument("folder", nargs="?")
    p.add_argument("--views", default="fleet,gpu/1,jobs,job/1,host,findings,recordings")
    p.add_argument("--sizes", default="desktop,phone")
    p.add_argument("--themes", default="dark,light")
    p.add_argument("--docs")
    p.add_argument("--serve", action="store_true")
    args = p.parse_args()
    if args.folder:
        pathlib.Path(args.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        s = start(str(pathlib.Path(args.assay).resolve()), folder)
        try:
            wait_until_played(s, LENGTH - 5)
            time.sleep(2)
            print(f"http://127.0.0.1:{s.port}/", flush=True)
            while args.serve:
                time.sleep(1)
            for size in ["desktop"] if args.docs else args.sizes.split(","):
                with Browser(folder / f"profile-{size}", *SIZES[size]) as b:
                    if args.docs:
                        take(b, s, "fleet", args.docs, "theme('dark'); return 1")
                        return
                    for theme in args.themes.split(","):
                        for view in args.views.split(","):
                            b.open("about:blank")
                            name = f"{size}-{theme}-{view.replace('/', '')}.png"
                            take(b, s, view, pathlib.Path(args.folder) / name, f"theme('{theme}'); document.querySelector('[aria-label^=Report]')?.click(); return 1")
        finally:
            s.stop()


if __name__ == "__main__":
    main()
