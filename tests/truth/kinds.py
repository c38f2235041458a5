"""How often each kind of limiter is right, with and without profiling counters: `python3 kinds.py ASSAY [HOW…]` prints the table of docs/ACCURACY.md.

A kind is the first limiter that a label accepts. A cell is: right, of those unknown, of those otherwise; HOW as for perturb.py, HOW:SEED for another draw.
"""
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import perturb

HERE = pathlib.Path(__file__).parent


def said(assay, how, row, folder):
    """right, unknown, misleading or other."""
    name, _, seed = how.partition(":")
    path = pathlib.Path(folder) / "once.assay"
    perturb.perturb(name, HERE / f"{row['recording']}.assay", path, int(seed or 1))
    done = subprocess.run([assay, "report", path, "--format", "json"], capture_output=True, check=True)
    found = json.loads(done.stdout)["findings"]
    limiter = found[0]["limiter"] if found else "nothing"
    return ("right" if limiter in row["accepted"].split() else "misleading" if limiter in row["misleading"].split()
            else "unknown" if limiter == "unknown" else "other")


def main():
    assay, hows = sys.argv[1], sys.argv[2:] or ["as-it-is", "no-gpm+pcie", "no-gpm", "other-card:1"]
    rows = list(csv.DictReader((HERE / "labels.csv").open(encoding="utf-8")))
    counts = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            for how in hows:
                counts[row["accepted"].split()[0], how][said(assay, how, row, folder)] += 1
    kinds = sorted({kind for kind, _ in counts})
    for how in hows:
        counts["all", how] = sum((counts[kind, how] for kind in kinds), collections.Counter())
    print("| kind | programs | " + " | ".join(hows) + " |\n" + "| --- " * (len(hows) + 2) + "|")
    for kind in [*kinds, "all"]:
        cells = [", ".join(f"{c[k]} {k}" for k in ("right", "unknown", "other", "misleading") if c[k]) for c in (counts[kind, how] for how in hows)]
        print(f"| {kind} | {sum(counts[kind, hows[0]].values())} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
