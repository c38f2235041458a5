"""Measurements side by side, medians of repeated runs: assay, the floor, and what people use instead.

    bench.py BUILD [NAME…]    NAME: replay, exposition, start; all without a name
Nothing here fails for being slow: the numbers are read, and the bounds stand beside them.
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOUR = ROOT / "tests/fixtures/tour/h200-tour.dmon.txt"


def run(args, out=subprocess.DEVNULL):
    """(seconds, peak MB) of one run."""
    began = time.perf_counter()
    pid = subprocess.Popen(args, stdout=out)
    _, status, usage = os.wait4(pid.pid, 0)
    pid.returncode = 0
    assert status == 0, args
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def median(args, times=5):
    runs = [run(args) for _ in range(times)]
    return statistics.median(r[0] for r in runs), max(r[1] for r in runs)


def line(name, value, bound=""):
    print(f"  {name:<44} {value:>16}   {bound}")


def make_capture(path, size, gpus=8):
    """A capture of several GPUs made of the tour's rows, headers repeated as dmon repeats them."""
    lines = TOUR.read_text().splitlines()
    rows = [x[5:] for x in lines if x.startswith("GPU 0")]
    written, tick = 0, 0
    with open(path, "w") as out:
        while written < size:
            block = ["\n".join(lines[:2])] if tick % 14 == 0 else []
            block += [f"GPU {g}" + rows[(tick + 37 * g) % len(rows)] for g in range(gpus)]
            text = "\n".join(block) + "\n"
            written += out.write(text)
            tick += 1


def floor(build, path):
    seconds = [float(subprocess.run([build / "tests/floor", path], capture_output=True, text=True,
                                    check=True).stdout.split()[0]) for _ in range(5)]
    return statistics.median(seconds)


def bench_replay(build, tmp):
    path = tmp / "capture.txt"
    make_capture(path, 300_000_000)
    mb = path.stat().st_size / 1e6
    print(f"replay of a capture to CSV with all columns: {mb:.0f} MB, 8 GPUs")
    seconds, rss = median([build / "assay", "export", "all", "--source", path])
    line("assay export all", f"{mb / seconds:.0f} MB/s", "at least 150")
    line("  its memory", f"{rss:.1f} MB", "at most 16")
    part = tmp / "part.txt"
    make_capture(part, 30_000_000)
    for what, name in (("the same 34 columns and formats", "columns.awk"), ("split, print 34 words", "split.awk")):
        script, _ = median(["gawk", "-f", HERE / name, part], times=3)
        speed = part.stat().st_size / 1e6 / script
        line(f"gawk, {what}", f"{speed:.1f} MB/s")
        line("  assay is faster by", f"{mb / seconds / speed:.1f} x", "at least 20")
    line("floor: read and look for newlines", f"{mb / floor(build, path):.0f} MB/s")


def bench_start(build, _tmp):
    print("starting: assay once on a small capture, beyond starting an empty program")
    small = ROOT / "tests/fixtures/dcgm/dmon-8gpu.txt"
    empty, _ = median([build / "tests/empty"], times=101)
    ours, _ = median([build / "assay", "once", "--source", small], times=101)
    line("assay once", f"{ours * 1e3:.2f} ms")
    line("an empty program", f"{empty * 1e3:.2f} ms")
    line("  the difference", f"{(ours - empty) * 1e3:.2f} ms", "at most 5")


BENCHES = {"replay": bench_replay, "start": bench_start}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(BENCHES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            BENCHES[name](build, pathlib.Path(tmp))
            print()


if __name__ == "__main__":
    main()
