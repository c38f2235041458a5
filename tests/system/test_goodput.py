"""MFU, and where the time of a run or of a job's runs went: parts that add up to the wall time."""
import csv
import io
import json
import pathlib
import shutil
import sqlite3

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs/example/tour.assay"
PARTS = ["productive", "start_up", "waiting", "evaluation", "checkpoint", "stalled", "lost", "other", "down"]


@pytest.fixture
def make(tmp_path):
    """A recording of 90.8 s with steps (when it began, length, waited) and phases (name, begin, end), seconds from its start."""
    def do(name, steps=(), phases=(), later=0.0, metrics=(), **manifest):
        path = tmp_path / f"{name}.assay"
        shutil.copy(TOUR, path)
        db = sqlite3.connect(path)
        db.execute("delete from mark")
        start = db.execute("select value from manifest where key = 'start_ns'").fetchone()[0] + int(later * 1e9)
        stop = db.execute("select value from manifest where key = 'stop_ns'").fetchone()[0] + int(later * 1e9)
        for key, value in {"start_ns": start, "stop_ns": stop, **manifest}.items():
            db.execute("insert or replace into manifest values(?, ?)", (key, value))
        put = "insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value) values(?, 0, 'h', 7, ?, ?, ?, ?)"
        for begin, seconds, waited in steps:
            db.execute(put, (start + int((begin + seconds) * 1e9), "step", "step", seconds, waited))
        for phase, begin, end in phases:
            db.execute(put, (start + int(end * 1e9), "phase", phase, end - begin, None))
        for key, value in metrics:
            db.execute(put, (start, "metric", key, None, value))
        db.commit()
        db.close()
        return path
    return do


def ledger(assay, *paths):
    done = assay("report", "--goodput", "--format", "json", *paths)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    parts = {p["part"]: p["seconds"] for p in found["ledger"]}
    assert list(parts) == PARTS
    assert sum(v or 0 for v in parts.values()) == pytest.approx(found["seconds"], abs=1e-6), "it adds up"
    return found, parts


def near(**parts):
    return pytest.approx({**dict.fromkeys(PARTS, 0.0), **parts}, abs=1e-3)


def test_one_run(assay, make):
    steps = [(10 + i, 1, 0.1) for i in range(20)] + [(30, 5, 0.1), (35, 3, 0.1), (38, 2, 1.1)] + [(40 + i, 1, 0.1) for i in range(20)]
    path = make("run", steps, [("warm", 0, 9), ("eval/loop", 31, 35), ("save-checkpoint", 45.2, 45.7), ("checkpoint", 62, 63)])
    found, parts = ledger(assay, path)
    length = found["seconds"]
    assert parts == near(start_up=10, waiting=42 * 0.1 + 1.1, evaluation=4, checkpoint=1.5, stalled=2, productive=40 * 0.9 - 0.5 + 0.9 + 0.9 + 0.9,
                         other=length - 60 - 1)
    assert found["goodput"] == pytest.approx(parts["productive"] / length) and (found["basis"], found["steps"], found["lost_steps"]) == ("steps", 43, 0)


def test_restarts(assay, make):
    """Two runs fail after their last checkpoint; the third does again what they lost."""
    steps = [(10 + i, 1, 0) for i in range(60)]
    first = make("a", steps, [("checkpoint", 40.5, 40.9)], exit_status=1)
    second = make("b", steps, [("checkpoint", 50, 50.5)], later=100, exit_signal=9)
    third = make("c", steps, [("checkpoint", 50, 50.5)], later=300)
    found, parts = ledger(assay, third, first, second)
    runs = found["runs"]
    assert [pathlib.Path(r["file"]).stem for r in runs] == ["a", "b", "c"], "in order of time"
    assert [(r["lost_steps"], r["repeated_steps"], r["ended"]) for r in runs] == [(30, 0, "exit status 1"), (20, 30, "signal 9"), (0, 20, None)]
    length = runs[0]["seconds"]
    assert found["seconds"] == pytest.approx(300 + length) and parts["down"] == pytest.approx(300 - 2 * length)
    assert parts["lost"] == pytest.approx(50, abs=0.01) and parts["checkpoint"] == pytest.approx(1.4)
    text = assay("report", "--goodput", first, second, third).stdout
    assert "3 runs" in text and "not running" in text and "signal 9" in text


def test_a_folder_and_ranks(assay, make, tmp_path):
    steps = [(10 + i, 1, 0) for i in range(60)]
    make("rank0", steps), make("rank1", steps, later=1)
    found, _ = ledger(assay, tmp_path)
    assert len(found["runs"]) == 1
    assert "1 recording of the same time" in " ".join(assay("report", "--goodput", tmp_path).stdout.split())


def test_lost_steps_are_unknown_without_checkpoints(assay, make):
    found, parts = ledger(assay, make("run", [(10 + i, 1, None) for i in range(60)], exit_status=1))
    assert (found["lost_steps"], parts["lost"], parts["waiting"]) == (None, None, None)
    text = " ".join(assay("report", "--goodput", make("again", [(10 + i, 1, None) for i in range(60)], exit_status=1)).stdout.split())
    assert "lost steps are not known: no checkpoint was marked" in text and "waiting for data is not known: use assay.steps(loader)" in text


def test_without_steps_the_limiters_say_it(assay, make):
    found, parts = ledger(assay, make("run"))
    assert found["basis"] == "limiters" and found["steps"] is None and parts["start_up"] == pytest.approx(9.4, abs=0.4)
    assert parts["productive"] > 60
    assert "no steps were marked (assay.step_end(), assay mark step)" in " ".join(assay("report", "--goodput", TOUR).stdout.split())


@pytest.mark.parametrize("kind, begins", [("html", "<!doctype html>"), ("markdown", "##"), ("text", "goodput")])
def test_every_format(assay, make, kind, begins):
    done = assay("report", "--goodput", make("run", [(10 + i, 1, 0) for i in range(60)]), "--format", kind)
    assert done.returncode == 0 and done.stdout.lstrip().startswith(begins), done.stdout[:200]
    assert "start-up" in done.stdout


def test_csv_is_a_row_a_run(assay, make):
    rows = list(csv.DictReader(io.StringIO(assay("report", "--goodput", make("run", [(10 + i, 1, 0) for i in range(60)]), "--format", "csv").stdout)))
    assert len(rows) == 1 and float(rows[0]["start_up_seconds"]) == pytest.approx(10) and rows[0]["steps"] == "60"


@pytest.mark.parametrize("words, what", [
    (["--goodput"], "no file to report on"), (["--goodput", TOUR, "--all"], "--all is not for --goodput"),
    (["--goodput", TOUR, "--format", "resource-summary"], "cannot be written as resource-summary"), (["--goodput", "gone.assay"], "gone.assay")])
def test_what_is_refused(assay, words, what):
    done = assay("report", *words)
    assert done.returncode != 0 and what in done.stderr


@pytest.mark.parametrize("given, flags", [("option", ["--flops-per-step", "1e14"]), ("manifest", []), ("metric", [])])
def test_mfu(assay, make, given, flags):
    """1e14 operations in half a second: 2e14 a second of 989.4e12 (bf16, the tour's one H200)."""
    steps = [(10 + i / 2, 0.5, 0) for i in range(120)]
    more = {"manifest": {"flops_per_step": 1e14}, "metric": {"metrics": [("flops_per_step", 9e14), ("flops_per_step", 1e14)]}}.get(given, {})
    path = make("run", steps, **more)
    mfu = json.loads(assay("report", path, "--format", "json", *flags).stdout)["steps"][0]["mfu"]
    assert mfu["mfu"] == pytest.approx(2e14 / 989.4e12, rel=2e-3) and (mfu["gpus"], mfu["type"], mfu["type_is_assumed"]) == (1, "bf16", True)
    assert 0 < mfu["tensor_active"] < 1 and 0 < mfu["gpu_util"] <= 1
    text = " ".join(assay("report", path, *flags).stdout.split())
    assert "MFU 20 %: 200 TFLOP/s of 989 TFLOP/s a GPU (bf16, dense; --flops names another type), 1 GPU; hardware over the same time: tensor cores active" in text
    assert "(fp8, dense), 1 GPU" in " ".join(assay("report", path, "--flops", "fp8", *flags).stdout.split())


def test_the_recorder_keeps_the_operations(assay, tmp_path):
    path = tmp_path / "run.assay"
    assert assay("record", "-q", "--duration", "0.2", "--interval", "0.1", "--flops-per-step", "3.2e15", "-o", path).returncode == 0
    assert sqlite3.connect(path).execute("select value from manifest where key = 'flops_per_step'").fetchone() == (3.2e15,)
