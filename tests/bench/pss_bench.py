"""Whether a large process is held up by measuring its PSS.

    pss_bench.py BUILD [GiB] [seconds]

A process with so much memory in small pages maps and unmaps pages as fast as it can, watched without
and with --pss. Prints how often it did, how long the longest took, and what the watcher used.
"""
import csv
import io
import os
import resource
import signal
import subprocess
import sys
import time


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watched(build, gib, seconds, args):
    burn = subprocess.Popen([os.path.join(build, "tests", "burn"), f"touch={gib * 1024}", f"stir={seconds}", "wait=1"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    burn.stdin.write("\n")
    burn.stdin.flush()
    while int(open(f"/proc/{burn.pid}/statm", encoding="utf-8").read().split()[1]) * 4096 < gib * 2**30:
        time.sleep(0.05)
    export = subprocess.Popen([os.path.join(build, "assay"), "export", "--host", "--levels", "process", "--pid", str(burn.pid),
                               "--poll", "0.1", *args], stdout=subprocess.PIPE, text=True)
    begin, used = time.monotonic(), cpu()
    words = burn.stdout.readline().split()
    wall = time.monotonic() - begin
    export.send_signal(signal.SIGINT)
    rows = list(csv.DictReader(io.StringIO(export.communicate()[0])))
    share = (cpu() - used) / wall
    burn.stdin.close()
    burn.wait()
    told = dict(zip(words[::2], words[1::2]))
    known = [row["pss_gib"] for row in rows if row["pss_gib"]]
    return float(told["stirred"]) / seconds, told["worst_ms"], share, known[-1] if known else "--", rows[-1]["ticks_missed"]


def main():
    build, gib = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    for name, args in (("without", []), ("with --pss", ["--pss"])):
        rate, worst, share, pss, missed = watched(build, gib, seconds, args)
        print(f"{gib} GiB, {name:10}: {rate:9.0f} maps a second, the longest {worst} ms; assay {share * 100:.2f} % of a core, "
              f"PSS {pss} GiB, {missed} ticks missed")


if __name__ == "__main__":
    main()
