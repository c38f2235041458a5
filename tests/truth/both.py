"""With and without profiling counters at the same time: `python3 both.py ASSAY LABELS.csv programs/run.py FOLDER [SECONDS [LIMIT]]`.

Each program runs once, watched by two recorders, one of which reads no counters (--no-profiling). Prints what is said first from each, and
the recordings stay in FOLDER as NAME.assay and NAME-driver.assay.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from record import MOST, USUAL, beside


def first(assay, path, env):
    """The first finding in a few words, and whether it is judged right by a set of names."""
    done = subprocess.run([assay, "report", path, "--format", "json"], capture_output=True, text=True, env=env)
    if done.returncode:
        return "no report", done.stderr.strip()[:80]
    found = json.loads(done.stdout)["findings"]
    if not found:
        return "nothing", ""
    f = found[0]
    rest = f.get("power_at_rest")
    words = f["limiter"] + (" (" + " or ".join(f["candidates"]) + ")" if f.get("candidates") else "")
    return f["limiter"], f"{words}, {f['basis']}" + (f", rest {rest['lo']:.3f} to {rest['hi']:.3f} from {rest['from']}" if rest else "")


def judge(limiter, row):
    return "right" if limiter in row["accepted"].split() else "MISLEADING" if limiter in row["misleading"].split() else "unknown" if limiter == "unknown" else "other"


def main():
    assay, labels, programs, folder, *rest = sys.argv[1:]
    seconds = rest[0] if rest else "5"
    end = time.time() + (float(rest[1]) if len(rest) > 1 else 300)
    out = pathlib.Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    assay, programs = str(pathlib.Path(assay).resolve()), str(pathlib.Path(programs).resolve())
    env, counts = beside(assay), {}
    for row in csv.DictReader(open(labels, newline="", encoding="utf-8")):
        name = row["recording"]
        if time.time() + USUAL > end:
            print(f"{name}: no time left")
            continue
        began, paths = time.time(), [out / f"{name}.assay", out / f"{name}-driver.assay"]
        most = str(int(min(MOST, end - began)))
        with tempfile.TemporaryDirectory(dir=".") as here:
            done = subprocess.run(["timeout", "-k", "3", most, assay, "run", "--poll", "0.1", "-o", str(paths[0]), "--", assay, "run", "--poll", "0.1", "--no-profiling",
                                   "-o", str(paths[1]), "--", "env", "-u", "LD_LIBRARY_PATH", sys.executable, programs, name, seconds],
                                  cwd=here, env=env, capture_output=True, text=True)
        if done.returncode:
            (out / f"{name}.log").write_text(done.stdout[-4000:] + done.stderr[-8000:])
        print(f"{name}: exit {done.returncode}, {time.time() - began:.1f} s; {row['accepted']} is accepted")
        for path in paths:
            limiter, words = first(assay, path, env)
            how = judge(limiter, row)
            basis = "driver" if path == paths[1] else "counters"
            counts[basis, how] = counts.get((basis, how), 0) + 1
            print(f"    {basis:9} {how:11} {words}", flush=True)
    print(", ".join(f"{basis} {how} {n}" for (basis, how), n in sorted(counts.items())))


if __name__ == "__main__":
    os.environ.pop("ASSAY_SESSION", None)
    main()
