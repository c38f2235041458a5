"""What the nvml source costs, beside a bare C loop that makes the same NVML calls (tests/bench/nvml_floor.c).

    nvml.py ASSAY FLOOR [SECONDS]    needs an NVIDIA GPU with GPM; run it idle and beside a workload

Both run at the same time, so that they meet the same GPU and the same caches of the driver.
"""
import os
import subprocess
import sys

HERTZ = 10, 1


def spawn(args, out=subprocess.DEVNULL):
    return subprocess.Popen([str(a) for a in args], stdout=out, stderr=subprocess.DEVNULL)


def finish(process):
    """(CPU seconds, peak MB) of a process that ends by itself."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{process.args[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def side_by_side(assay, floor, hertz, seconds):
    ours = spawn([assay, "export", "all", "--backend", "nvml", "--poll", 1 / hertz, "--count", int(seconds * hertz)])
    bare = spawn([floor, 1 / hertz, seconds])
    return finish(ours), finish(bare)


def start_only(assay, floor):
    """What starting costs, which is no part of a rate."""
    ours = spawn([assay, "export", "all", "--backend", "nvml", "--poll", 0.1, "--count", 1])
    return finish(ours)[0], finish(spawn([floor, 0.1, 0.05]))[0]


def main():
    assay, floor = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    start_ours, start_bare = start_only(assay, floor)
    print(f"  starting: assay {start_ours * 1e3:.1f} ms of CPU, the bare loop {start_bare * 1e3:.1f} ms")
    for hertz in HERTZ:
        (ours, rss), (bare, bare_rss) = side_by_side(assay, floor, hertz, seconds)
        print(f"  {hertz:>2} Hz for {seconds:.0f} s: assay {ours / seconds:.3%} of a core, {rss:.1f} MB; "
              f"bare loop {bare / seconds:.3%}, {bare_rss:.1f} MB; ratio {ours / bare:.3f}, "
              f"without starting {(ours - start_ours) / (bare - start_bare):.3f}", flush=True)


if __name__ == "__main__":
    main()
