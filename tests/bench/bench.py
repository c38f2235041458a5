"""Measurements side by side, medians of repeated runs: assay, the floor, and what people use instead.

    bench.py BUILD [NAME…]    NAME: replay, beside, exposition, start, top, nvml, lib, python, serve, nodes, stacks, fleet; all but
        fleet and stacks without a name
Nothing here fails for being slow: the numbers are read, and the bounds stand beside them.
"""
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ASSAY = pathlib.Path(os.environ.get("ASSAY", BUILD / "assay"))
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOUR = ROOT / "tests/fixtures/tour/h200-tour.dmon.txt"


def median(args, times=5):
    """(seconds, peak MB) of a command: the median of its times, the largest of its peaks."""
    done = subprocess.run([BUILD / "tests/measure", str(times), *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    runs = [line.split() for line in done.stderr.splitlines() if line.startswith("measure: ")]
    return statistics.median(float(r[1]) for r in runs), max(int(r[4]) for r in runs) / 1024


def cpu_seconds(args, times=5):
    """User and system time of a command: the least, which what else runs disturbs least."""
    done = subprocess.run([BUILD / "tests/measure", str(times), *args], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=True)
    return min(float(r.split()[2]) + float(r.split()[3]) for r in done.stderr.splitlines() if r.startswith("measure: "))


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


DENSE = """GPUTL MCUTL POWER TMPTR MMTMP SMCLK MMCLK TOTEC GRACT SMACT SMOCC TENSO DRAMA FP64A FP32A FP16A PCITX PCIRX NVLTX NVLRX
FBTTL FBFRE FBUSD PCRPL ECDVD""".split()
WHOLE = {"GPUTL", "MCUTL", "TMPTR", "MMTMP", "SMCLK", "MMCLK", "TOTEC", "PCITX", "PCIRX", "FBTTL", "FBFRE", "FBUSD", "PCRPL", "ECDVD"}


def make_dense_capture(path, size, gpus=8):
    """25 values a row with one blank between them, a tenth of them missing: nothing repeats from row to row."""
    chance = random.Random(7)

    def value(name):
        if chance.random() < 0.1:
            return "N/A"
        return str(chance.randrange(100000)) if name in WHOLE else f"{chance.random():.3f}"

    rows = [" ".join(map(value, DENSE)) for _ in range(997)]
    written, tick = 0, 0
    with open(path, "w") as out:
        while written < size:
            head = "#Entity " + " ".join(DENSE) + "\nID\n" if tick % 14 == 0 else ""
            written += out.write(head + "".join(f"GPU {g} {rows[(tick + 37 * g) % len(rows)]}\n" for g in range(gpus)))
            tick += 1


def floor(path):
    seconds = [float(subprocess.run([BUILD / "tests/floor", path], capture_output=True, text=True,
                                    check=True).stdout.split()[0]) for _ in range(5)]
    return statistics.median(seconds)


def bench_replay(tmp):
    path = tmp / "capture.txt"
    make_capture(path, 300_000_000)
    mb = path.stat().st_size / 1e6
    print(f"replay of a capture to CSV with all columns: {mb:.0f} MB, 8 GPUs")
    seconds, rss = median([ASSAY, "export", "all", "--source", path])
    line("assay export all", f"{mb / seconds:.0f} MB/s", "at least 150")
    line("  its memory", f"{rss:.1f} MB", "at most 16")
    part = tmp / "part.txt"
    make_capture(part, 30_000_000)
    for what, name in (("the same 34 columns and formats", "columns.awk"), ("split, print 34 words", "split.awk")):
        script, _ = median(["gawk", "-f", HERE / name, part], times=3)
        speed = part.stat().st_size / 1e6 / script
        line(f"gawk, {what}", f"{speed:.1f} MB/s")
        line("  assay is faster by", f"{mb / seconds / speed:.1f} x", "at least 20")
    line("floor: read and look for newlines", f"{mb / floor(path):.0f} MB/s")
    make_dense_capture(part, 100_000_000)
    mb = part.stat().st_size / 1e6
    seconds, rss = median([ASSAY, "export", "all", "--source", part])
    line(f"a dense capture, {mb:.0f} MB", f"{mb / seconds:.0f} MB/s")
    line("  a second of CPU time", f"{mb / cpu_seconds([ASSAY, 'export', 'all', '--source', part]):.0f} MB/s", "at least 250")
    line("  its memory", f"{rss:.1f} MB", "at most 16")


def bench_beside(tmp):
    """CPU time beside another build, in turn, so that both see the same machine."""
    other = os.environ.get("BESIDE")
    if not other:
        print("beside: another build's program, as in  BESIDE=../old/build/assay ./dev bench beside")
        return
    dense, padded, session = tmp / "dense.txt", tmp / "padded.txt", tmp / "x.assay"
    make_dense_capture(dense, 100_000_000)
    make_capture(padded, 100_000_000)
    tour = ROOT / "docs/example/tour.assay"
    print(f"CPU time, the least of some runs in turn: {other}, this, their ratio")
    for name, times, *args in (
            ("export all, a dense capture", 3, "export", "all", "--source", dense),
            ("export all, a capture as dcgmi pads it", 3, "export", "all", "--source", padded),
            ("export all, the tour's session", 40, "export", "all", "--source", tour),
            ("--version", 40, "--version"),
            ("once, 8 GPUs", 40, "once", "--source", ROOT / "tests/fixtures/dcgm/dmon-8gpu.txt"),
            ("once, the tour's session", 40, "once", "--source", tour),
            ("record, the tour's capture", 1, "record", "-q", "--source", TOUR, "-o", session),
            ("report, the tour's session", 40, "report", tour),
            ("report, the tour's capture", 40, "report", TOUR)):
        best = {other: 1e9, ASSAY: 1e9}
        for _ in range(40 if times == 1 else 5):
            for program in best:
                session.unlink(missing_ok=True)
                best[program] = min(best[program], cpu_seconds([program, *args], times))
        line(name, f"{best[other] * 1e3:.2f} {best[ASSAY] * 1e3:.2f} ms", f"{best[ASSAY] / best[other]:.2f}")


def bench_exposition(tmp):
    path = tmp / "metrics.txt"
    print("exposition text of 4,000 GPUs x 26 metrics with full label sets to CSV with all columns")
    for scrapes in (1, 8):
        with open(path, "w") as out:
            subprocess.run([sys.executable, HERE / "gen_exposition.py", "4000", str(scrapes)], stdout=out, check=True)
        mb = path.stat().st_size / 1e6
        seconds, rss = median([ASSAY, "export", "all", "--source", path])
        line(f"assay export all, scrapes: {scrapes}, {mb:.0f} MB", f"{mb / seconds:.0f} MB/s", "at least 300")
        line("  its memory", f"{rss:.1f} MB")
        line("floor: read and look for newlines", f"{mb / floor(path):.0f} MB/s")


def bench_start(_tmp):
    print("starting: assay once on a small capture, beyond starting an empty program")
    small = ROOT / "tests/fixtures/dcgm/dmon-8gpu.txt"
    empty, _ = median([BUILD / "tests/empty"], times=101)
    ours, _ = median([ASSAY, "once", "--source", small], times=101)
    line("assay once", f"{ours * 1e3:.2f} ms")
    line("an empty program", f"{empty * 1e3:.2f} ms")
    line("  the difference", f"{(ours - empty) * 1e3:.2f} ms", "at most 5")


def bench_host(_tmp):
    """The host's levels beside ps, psutil and htop; and a large process under --pss."""
    here = pathlib.Path(__file__).resolve().parent
    subprocess.run([sys.executable, here / "host_bench.py", BUILD], check=True)
    subprocess.run([sys.executable, here / "pss_bench.py", BUILD], check=True)
    subprocess.run([sys.executable, here / "threads_bench.py", BUILD], check=True)


def bench_nvml(_tmp):
    print("the nvml source beside a bare loop of the same calls: CPU at most 1.15 times at 10 Hz, 30 MB")
    if subprocess.run([BUILD / "tests/nvml_floor", "0.1", "0"], capture_output=True).returncode != 0:
        print("  no NVIDIA GPU with GPM here, skipping")
        return
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "nvml.py", ASSAY, BUILD / "tests/nvml_floor"], check=True)


def bench_top(_tmp):
    print("the dashboard: the first screen (a GPU by its name: at most htop's time), a frame at 120x40 (at most 300 us and 1500 bytes), and beside htop and btop over 30 s")
    subprocess.run([sys.executable, HERE / "bench_top.py", BUILD, "30"], check=True)


def bench_store(_tmp):
    print("sessions: bytes a value (at most 2), rows a second, cost of recording (at most 1 %), a report of a day")
    subprocess.run([sys.executable, HERE / "store_bench.py", ASSAY.parent], check=True)


def bench_python(_tmp):
    print("a Python process with a monitor at 10 Hz, beside a thread that asks psutil")
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "python_bench.py", BUILD], check=True)


def bench_lib(_tmp):
    print("a monitor of libassay in a C program at 10 Hz: CPU of one core, and allocations once it is warm")
    tour = ROOT / "data/h200-tour.csv"
    for name, *options in (("this process", "levels=process"), ("all levels", "levels=all"), ("a replayed GPU", f"source={tour}"),
                           ("a replayed GPU and this process", f"source={tour}", "levels=process")):
        runs = [subprocess.run([BUILD / "tests/lib_bench", "5", "interval=0.1", *options], capture_output=True, text=True,
                               check=True).stdout.split() for _ in range(3)]
        line(name, f"{statistics.median(float(r[0]) for r in runs):.2f} %", f"{min(int(r[2]) for r in runs)} allocations")


def bench_serve(_tmp):
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "serve_bench.py", BUILD], check=True)


def bench_diff(_tmp):
    print("comparisons: how often they are right (1000 pairs a row), and two sessions of a day")
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "diff_bench.py", BUILD, ASSAY], check=True)


def bench_fleet(_tmp):
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "fleet_bench.py", BUILD], check=True)


def bench_ranks(_tmp):
    print("ranks of a job: what a report costs, and how often stragglers are found in synthetic jobs")
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "ranks_bench.py", BUILD, ASSAY], check=True)


def bench_hangs(_tmp):
    print("jobs that hang, and jobs that only pause: what assay why says of them")
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "hangs_bench.py", ASSAY], check=True)


def bench_stacks(_tmp):
    """What sampling costs, and how right it is: an hour for every Python and program. SECONDS=6 makes it short."""
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "stacks_bench.py", BUILD], check=True)


def bench_engines(_tmp):
    """Ten model servers once a second: what asking them costs; then sixty played ones and what limits each."""
    subprocess.run([sys.executable, HERE / "engines_bench.py", BUILD], check=True)
    for name in ("scenarios.py", "blind.py"):
        subprocess.run([sys.executable, HERE.parent / "serving" / name], check=True)


def bench_flight(_tmp):
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "flight_bench.py", BUILD], check=True)


def bench_nodes(_tmp):
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / "nodes_bench.py", ASSAY], check=True)


BENCHES = {"replay": bench_replay, "beside": bench_beside, "exposition": bench_exposition, "start": bench_start, "top": bench_top,
           "store": bench_store, "nvml": bench_nvml, "host": bench_host, "lib": bench_lib, "python": bench_python, "serve": bench_serve,
           "diff": bench_diff, "ranks": bench_ranks, "hangs": bench_hangs, "fleet": bench_fleet, "nodes": bench_nodes, "flight": bench_flight, "engines": bench_engines, "stacks": bench_stacks}


def main():
    names = sys.argv[2:] or [name for name in BENCHES if name not in ("fleet", "stacks")]  # up to 18 minutes, and an hour
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            BENCHES[name](pathlib.Path(tmp))
            print()


if __name__ == "__main__":
    main()
