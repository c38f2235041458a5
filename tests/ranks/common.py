"""What the generators of jobs share: samples of real recordings, writing, and the score."""

import json
import pathlib
import random
import sqlite3
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TRUTH = HERE.parent / "truth"
START_NS = 1_790_000_000_000_000_000
PIPES = ("tensor_active", "fp64_active", "fp32_active", "fp16_active", "dram_active")


class Base:
    """The busy part of a real recording: its samples give the noise of the synthetic ones."""

    def __init__(self, name):
        self.path = TRUTH / f"{name}.assay"
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as db:
            db.row_factory = sqlite3.Row
            rows = [dict(r) for r in db.execute("select * from gpus order by tick")]
            hosts = db.execute("select count(*) from host_ticks").fetchone()[0]
        self.rows = rows
        self.busy = [i for i, r in enumerate(rows) if (r["gr_active"] or 0) > 0.8][3:-3]
        self.idle = [i for i, r in enumerate(rows) if (r["gr_active"] or 0) < 0.02 and (r["fb_used"] or 0) > 0] or [0]
        self.hosts = [i * hosts // len(rows) for i in self.busy]

    def value(self, at, metric, otherwise=0.0):
        v = self.rows[at].get(metric)
        return otherwise if v is None else v


class Rank:
    """The script of one session, for `weave`."""

    def __init__(self, base, rank, world, node, start_s=0.0, clock_s=0.0, **facts):
        self.base = base
        self.clock_s = clock_s  # what its node's clock is ahead
        self.lines = [f"start {START_NS + int((start_s + clock_s) * 1e9)}", f"text host {node}"]
        self.start_s = start_s
        numbers = {"rank": rank, "world_size": world, "interval_s": 1, "exit_status": 0, **facts}
        self.lines += [f"number {k} {v}" for k, v in numbers.items() if v is not None]
        self.lines += ["text launcher slurm", "text job_id 77.0"]
        self.timed = []  # (time, line)

    def tick(self, t, rows):
        """rows: (GPU, sample, {metric: change})"""
        text = [f"tick {t - self.start_s:.4f}"]
        for gpu, sample, changes in rows:
            text.append(f"row {gpu} {sample} " + " ".join(f"{k}{v}" for k, v in changes.items()))
        self.timed.append((t, "\n".join(t.strip() for t in text)))

    def host(self, t, sample, changes):
        self.timed.append((t, f"host {t - self.start_s:.4f} {sample} " + " ".join(f"{k}{v}" for k, v in changes.items())))

    def mark(self, t, kind, name, more=""):
        self.timed.append((t, f"mark {t - self.start_s:.6f} {kind} {name} {more}".strip()))

    def write(self, weave, path, stop_s):
        self.timed.sort(key=lambda x: x[0])
        script = "\n".join([*self.lines, *(line.strip() for _, line in self.timed), f"stop {stop_s - self.start_s:.3f}"]) + "\n"
        subprocess.run([weave, str(self.base.path), str(path)], input=script, text=True, check=True, timeout=120)


def write_job(job, weave, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for i, rank in enumerate(job["ranks"]):
        rank.write(weave, folder / f"rank-{i:04d}.assay", job["seconds"])


def accused(assay, folder):
    out = subprocess.run([assay, "report", str(folder), "--format", "json"], capture_output=True, text=True, timeout=120, check=True).stdout
    return [(s["rank"], s["cause"]) for s in json.loads(out)["stragglers"]]


def right(job, said):
    """Nobody, or each that is late and no other, with its cause."""
    late = job.get("late") or ({} if job["rank"] is None else {job["rank"]: job["causes"]})
    return sorted(rank for rank, _ in said) == sorted(str(r) for r in late) and all(cause in late[int(rank)] for rank, cause in said)


def score(make, assay, weave, folder, chosen=None, seed=0, tell=print):
    """make(number, random) gives a job; numbers below 30 have a straggler, those from 30 to 59 none."""
    found = healthy = tried = clean = 0
    for number in chosen if chosen is not None else range(60):
        job = make(number, random.Random(f"{seed}/{number}"))
        place = folder / f"job-{number:02d}"
        write_job(job, weave, place)
        said = accused(assay, place)
        good = right(job, said)
        if job["rank"] is None:
            clean += good
            healthy += 1
        else:
            found += good
            tried += 1
        if not good:
            tell(f"{number:2d} {job['what']}: expected {job['rank']} {'/'.join(job['causes'])}, said {said}")
    return found, tried, clean, healthy


def change_fact(path, **facts):
    """Another rank with the same samples."""
    with sqlite3.connect(path) as db:
        for key, value in facts.items():
            db.execute("update manifest set value = ? where key = ?", (value, key))
