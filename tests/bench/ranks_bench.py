"""What the report of 64 ranks over an hour costs, and how often stragglers are found in synthetic jobs.

    ranks_bench.py BUILD PROGRAM [quick]
"""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ranks"))
import common  # noqa: E402
import layouts  # noqa: E402
import lockstep  # noqa: E402
import patchwork  # noqa: E402
from store_bench import cpu  # noqa: E402

RANKS = 64
SECONDS = 3600


def hour(base, rank):
    out = common.Rank(base, rank, RANKS, f"n{rank // 8}", local_rank=rank % 8)
    for t in range(1, SECONDS):
        at = (t * 7 + rank) % len(base.busy)
        out.tick(t, [(rank % 8, base.busy[at], {"pid": f"={1000 + rank}"})])
        out.host(t + 0.3, base.hosts[at], {})
        out.mark(t + 0.0002 * rank, "begin", "step")
        out.mark(t + 0.9, "end", "step")
    return out


def cost(weave, program, folder):
    base = common.Base("gemm_bf16")
    for rank in range(8):
        hour(base, rank).write(weave, folder / f"rank-{rank:04d}.assay", SECONDS)
    for rank in range(8, RANKS):  # the same samples again, as another rank
        shutil.copy(folder / f"rank-{rank % 8:04d}.assay", folder / f"rank-{rank:04d}.assay")
        common.change_fact(folder / f"rank-{rank:04d}.assay", rank=rank, host=f"n{rank // 8}")
    for words in (["report", folder], ["report", folder, "--format", "html", "-o", folder / "job.html"]):
        wall, used, memory = cpu(program, *words)
        print(f"{RANKS} ranks x 1 h x 1 Hz, {' '.join(str(w) for w in words if w != folder)[:24]}: {wall:.2f} s (at most 3), {used:.2f} s of CPU,"
              f" {memory:.0f} MiB (at most 64)")


def main():
    build, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    weave = str(build / "tests/weave")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        folder = pathlib.Path(folder)
        (folder / "hour").mkdir()
        cost(weave, program, folder / "hour")
        shutil.rmtree(folder / "hour")
        for make, name in ((lockstep.make, "step by step"), (patchwork.make, "patchwork"), (layouts.make, "in other layouts")):
            if sys.argv[3:] == ["quick"]:
                break
            got = common.score(make, program, weave, folder / name, seed=1)
            print("jobs made %s: found %d of %d stragglers (at least 27); silent on %d of %d healthy ones" % (name, *got))


if __name__ == "__main__":
    main()
