"""Records every program of a set: `python3 record.py ASSAY LABELS.csv programs/run.py FOLDER [SECONDS [LIMIT]]`.

Each runs SECONDS (5) after its start-up, in the order of the labels; none is begun so late that it could not end before LIMIT (300).
One that fails, or that is cut off after MOST seconds, leaves NAME.log beside its recording, which is not to be judged.
"""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MOST = 40  # seconds that one may take, start-up and all: it hangs
USUAL = 14  # seconds that one takes


def beside(assay):
    """The environment for a program that was copied with its libraries in lib/ beside it."""
    libraries = pathlib.Path(assay).resolve().parent / "lib"
    return dict(os.environ, LD_LIBRARY_PATH=str(libraries)) if libraries.is_dir() else dict(os.environ)


def record(assay, programs, name, out, seconds, end):
    """One program; end is the time by which it must be over."""
    if time.time() + USUAL > end:
        print(f"{name}: no time left")
        return
    began = time.time()
    most = str(int(min(MOST, end - began)))
    with tempfile.TemporaryDirectory(dir=".") as here:
        done = subprocess.run(["timeout", "-k", "3", most, assay, "run", "--poll", "0.1", "-o", str(out / f"{name}.assay"), "--",
                               "env", "-u", "LD_LIBRARY_PATH", sys.executable, programs, name, seconds],
                              cwd=here, env=beside(assay), capture_output=True, text=True)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    print(f"{name}: exit {done.returncode}, {time.time() - began:.1f} s: {last[:300]}", flush=True)
    if done.returncode:
        (out / f"{name}.log").write_text(done.stdout[-4000:] + done.stderr[-8000:])


def record_set(assay, rows, folder, seconds="5", limit="300"):
    """The programs of (name, file); those that begin too late are left out."""
    end = time.time() + float(limit)
    out = pathlib.Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for name, programs in rows:
        record(str(pathlib.Path(assay).resolve()), str(pathlib.Path(programs).resolve()), name, out, seconds, end)


def main():
    assay, labels, programs, folder, *rest = sys.argv[1:]
    with open(labels, newline="", encoding="utf-8") as file:
        rows = [(row["recording"], programs) for row in csv.DictReader(file)]
    record_set(assay, rows, folder, *rest)


if __name__ == "__main__":
    main()
