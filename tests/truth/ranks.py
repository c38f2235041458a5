#!/usr/bin/env python3
"""Ranks that share one GPU, one of them slowed: recorded, reported, and whether the right one is named.

    ranks.py ASSAY FOLDER            all cases, some 80 s
    ranks.py ASSAY FOLDER NAME…      some of them

Each rank is `torchrun … --no-python assay run -o FOLDER/NAME/ -- python3 ranks.py --rank …`. They meet through gloo, since NCCL
takes one rank a GPU.
"""
import json
import os
import subprocess
import sys
import time

STEPS = 45
SIZE = 4096
PRODUCTS = 8

# name: ranks, the slow one, how, whether steps are marked, causes that are right
CASES = {
    "healthy2": (2, None, "", True, ()),
    "core2": (2, 1, "core", True, ("core",)),
    "sleep2": (2, 0, "sleep", True, ("unknown", "pauses", "slow_steps")),
    "healthy4": (4, None, "", True, ()),
    "work4": (4, 2, "work", True, ("unknown",)),
    "seldom4": (4, 1, "seldom", True, ("slow_steps", "pauses")),
    "late4": (4, 3, "late", True, ("late_start",)),
    "core4_unmarked": (4, 2, "core", False, ("core",)),
}


def spin(seconds):
    """One full core."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(200))


def compute(how, slow, k, a):
    import torch

    b = a
    for _ in range(PRODUCTS * (2 if slow and how == "work" else 1)):
        b = (b @ a) * 1e-3
    torch.cuda.synchronize()
    if slow and how == "core":
        spin(0.12)
    if slow and how == "sleep":
        time.sleep(0.12)
    if slow and how == "seldom" and k % 10 == 5:
        time.sleep(0.25)


def worker(how, slow_rank, marked):
    rank = int(os.environ["RANK"])
    slow = rank == slow_rank
    if slow and how == "late":
        time.sleep(8)
    import torch
    import torch.distributed as dist

    a = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    dist.init_process_group("gloo")
    dist.barrier()
    for k in range(STEPS):
        start = time.perf_counter()
        compute(how, slow, k, a)
        seconds = time.perf_counter() - start
        if marked:
            subprocess.run([os.environ["ASSAY_PROGRAM"], "mark", "-q", "phase", "compute", "--seconds", f"{seconds:.6f}"], check=False)
        dist.barrier()
    dist.destroy_process_group()


def launch(assay, folder, name):
    ranks, slow, how, marked, causes = CASES[name]
    out = os.path.join(folder, name)
    os.makedirs(out, exist_ok=True)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "--no-python", assay, "run", "--poll",
        "0.1", "-o", out + "/", "--", sys.executable, os.path.abspath(__file__), "--rank", how, str(-1 if slow is None else slow), str(int(marked))]
    start = time.time()
    with open(os.path.join(folder, name + ".log"), "w", encoding="utf-8") as log:
        status = subprocess.run(command, stdout=log, stderr=log, timeout=60, check=False, env={**os.environ, "ASSAY_PROGRAM": assay}).returncode
    text = subprocess.run([assay, "report", out, "--format", "json"], capture_output=True, text=True, check=False)
    said = [(s["rank"], s["cause"]) for s in json.loads(text.stdout)["stragglers"]] if text.returncode == 0 else text.stderr
    right = said == [] if slow is None else bool(said) and said[0][0] == str(slow) and said[0][1] in causes
    print(f"{'right' if right else 'WRONG':5}  {name:15} {time.time() - start:5.1f} s, status {status}: expected {slow} {'/'.join(causes)}, said {said}", flush=True)
    return right


def main():
    if sys.argv[1] == "--rank":
        worker(sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1")
        return
    assay, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    names = sys.argv[3:] or list(CASES)
    print("%d of %d" % (sum([launch(assay, folder, n) for n in names]), len(names)))


if __name__ == "__main__":
    main()
