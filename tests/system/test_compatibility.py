"""docs/COMPATIBILITY.md: old sessions, CSV and JSON lines are read for ever, newer sessions are refused with a hint."""
import csv
import io
import json
import re
import shutil
import sqlite3

import pytest

from conftest import FIXTURES, ROOT

# Each file was written by the version that first had its schema. Never remove one.
OLD = {"schema1.assay": 1, "schema1-marks.assay": 1}
READ = {**OLD, "schema2.assay": 2}


@pytest.mark.parametrize("name, schema", READ.items())
def test_old_sessions_are_read(assay, tmp_path, name, schema):
    path = tmp_path / name
    shutil.copy(FIXTURES / "session" / name, path)
    with sqlite3.connect(path) as db:
        assert db.execute("select value from manifest where key = 'schema_version'").fetchone()[0] in (schema, str(schema))
    before = path.read_bytes()
    for args in (("report", path), ("report", path, "--format", "html"), ("once", path), ("plot", path, "-o", tmp_path / "p.svg"),
                 ("export", path), ("convert", path, tmp_path / "c.csv")):
        done = assay(*args)
        assert done.returncode == 0, (args, done.stderr)
    report = json.loads(assay("report", path, "--format", "json").stdout)
    assert report["ticks_taken"] > 0
    assert path.read_bytes() == before, "reading changes nothing"


# Written by 0.1.0: `export all --count 6` of schema1.assay, `--count 2` of dcgm/dmon-mig-all.txt. Never change one.
WRITTEN = FIXTURES / "0.1"


@pytest.mark.parametrize("source, same, more", [
    (WRITTEN / "h200.csv", "h200.csv", ()), (WRITTEN / "h200.jsonl", "h200.csv", ()),
    (WRITTEN / "mig.csv", "mig.csv", ()), (WRITTEN / "mig.jsonl", "mig.csv", ()),
    (FIXTURES / "session/schema1.assay", "h200.csv", ("--count", "6")),
], ids=lambda x: getattr(x, "name", None))
def test_values_of_0_1_are_the_same(assay, source, same, more):
    """Every column that 0.1.0 wrote, from each kind of file: what was missing is missing, what was there has its value."""
    written = (WRITTEN / same).read_text()
    columns = written.split("\n", 1)[0]
    done = assay("export", columns, source, *more)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == written


def views(path, *names):
    with sqlite3.connect(path) as db:
        columns = {name: [row[1] for row in db.execute(f"pragma table_info({name})")] for name in names}
        found = {name: [dict(zip(columns[name], row)) for row in db.execute(f"select * from {name}")] for name in names}
    db.close()
    return found


def near(a, b):
    """The same, but for the last bits of numbers: times of phases are kept to a microsecond when a session is written anew."""
    return abs(a - b) <= 1e-6 * max(1, abs(a)) if isinstance(a, (int, float)) and isinstance(b, (int, float)) else a == b


@pytest.mark.parametrize("name", OLD)
def test_views_of_an_old_session_say_the_same_when_it_is_written_anew(assay, tmp_path, name):
    """The file's own views, which 0.1.0 wrote into it, and those of this version: what is read of each level, process and mark."""
    old, new = FIXTURES / "session" / name, tmp_path / "new.assay"
    assert assay("convert", old, new).returncode == 0
    names = ("ticks", "gpus", "verdicts", "levels", "level_gpus", "system", "cores", "processes", "phases", "events", "user_metrics")
    before, after = views(old, *names), views(new, *names)
    assert {n: len(rows) for n, rows in before.items()} == {n: len(rows) for n, rows in after.items()}
    for view in names:
        for was, now in zip(before[view], after[view]):
            assert {k: (v, now[k]) for k, v in was.items() if not near(v, now[k])} == {}, view


def test_marks_processes_and_levels_of_0_1():
    """What was recorded: the fixture itself is not empty, so that the others compare something."""
    found = views(FIXTURES / "session" / "schema1-marks.assay", "phases", "events", "user_metrics", "processes", "levels")
    assert [(p["name"], round(p["seconds"], 3), p["open"], p["data"]) for p in found["phases"]] == [
        ("load", 1.583, 0, '{"files":3}'), ("train", 1.342, 0, None), ("step", 0.608, 0, None), ("step", 0.722, 0, None), ("save", 0.064, 1, None)]
    assert [(e["event"], e["data"]) for e in found["events"]] == [("checkpoint", '{"path":"a.pt","step":7}')]
    assert [(m["name"], m["value"]) for m in found["user_metrics"]] == [("loss", 0.25)]
    assert [(p["pid"], p["user"], p["command"], p["gpu_memory"], p["memory"]) for p in found["processes"]] == [
        (11606, "alice", "sleep 30", 916455424, 1769472)] * 2
    assert {x["level"]: sum(y["level"] == x["level"] for y in found["levels"]) for x in found["levels"]} == dict.fromkeys(
        ("process", "user", "slurm", "cgroup", "system"), 14)


# What reports of 0.2 say otherwise: a finding became findings, what held a GPU back became limiters, and tags have other rules. Schema 2 tells so.
CHANGED = {"version", "schema", "input", "finding", "held_back", "tags"}


def differences(was, now, path=""):
    """What a report of 0.1.0 says and one of now does not."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in was.keys() - CHANGED:
            yield from differences(was[key], now[key], f"{path}.{key}") if key in now else [f"{path}.{key} is gone"]
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for i, (a, b) in enumerate(zip(was, now)):
            yield from differences(a, b, f"{path}[{i}]")
    elif not near(was, now):
        yield f"{path}: {was} is {now}"


@pytest.mark.parametrize("name, phases", [("schema1", 0), ("schema1-marks", 4)])
def test_reports_of_0_1_are_the_same(assay, name, phases):
    """Every figure of the run, its phases, levels and GPUs that 0.1.0 reported of its own session."""
    written = json.loads((WRITTEN / f"{name}.report.json").read_text())
    assert len(written["phases"]) == phases and written["run"]["level"]["samples"] > 10
    assert list(differences(written, json.loads(assay("report", FIXTURES / "session" / f"{name}.assay", "--format", "json").stdout))) == []


@pytest.mark.parametrize("name", OLD)
def test_the_host_of_an_old_session_is_exported(assay, name):
    """0.1.0 could not: a row a level and tick, with the values of the file's own view."""
    path = FIXTURES / "session" / name
    rows = list(csv.DictReader(io.StringIO(assay("export", "--host", path).stdout)))
    order = ("process", "user", "slurm", "cgroup", "system").index
    levels = sorted((x for x in views(path, "levels")["levels"] if x["absent"] is None), key=lambda x: (x["tick"], order(x["level"])))
    assert len(rows) == len(levels) > 40

    def scaled(value, factor):
        return "" if value is None else pytest.approx(value * factor, abs=0.006)
    for row, level in zip(rows, levels):
        assert row["level"] == level["level"]
        shown = {k: float(row[k]) if row[k] else "" for k in ("timestamp", "cpu_util_avg_pct", "memory_gib", "processes", "io_write_bytes_s")}
        assert shown == {"timestamp": scaled(level["time"], 1), "cpu_util_avg_pct": scaled(level["cpu_share"], 100), "memory_gib": scaled(level["memory"], 2**-30),
                         "processes": scaled(level["processes"], 1), "io_write_bytes_s": scaled(level["io_write"], 1)}


# The first line of `export --host` of 0.1.0, of two CPUs and one GPU.
HOST_0_1 = ("time,level,cpu_util_avg,cpu_util_min,cpu_util_max,cpu_util_0,cpu_util_1,memory,io_read,io_write,io_read_count,io_write_count,processes,threads,"
            "cpu_cores,cpus,cpu_time,memory_limit,memory_peak,rss,pss,uss,io_read_total,io_write_total,io_read_count_total,io_write_count_total,"
            "io_read_chars_total,io_write_chars_total,ticks_late,ticks_missed,gpu_util_0,gpu_band_0,gpu_mem_0").split(",")


def test_columns_of_the_host_are_those_that_the_document_tells(assay):
    """Each that 0.1.0 had is there, in its place, under its name or the one in the table; its order is that of 0.1.0."""
    renamed = {}
    for left, right in re.findall(r"^\| (`[^|]+`) \| (`[^|]+`) \|$", (ROOT / "docs/COMPATIBILITY.md").read_text(), re.M):
        old, new = (re.findall(r"`(\w+)`", side) for side in (left, right))
        assert len(old) == len(new)
        renamed |= {a.replace("_N", f"_{n}"): b.replace("_N", f"_{n}") for a, b in zip(old, new) for n in range(2)}
    columns = assay("export", "--host", "--count", "1", FIXTURES / "session" / "schema1-marks.assay").stdout.split("\n")[0].split(",")
    assert columns[:len(HOST_0_1)] == [renamed.get(c, c) for c in HOST_0_1]
    assert set(renamed) - {"gpu_util_1", "gpu_band_1", "gpu_mem_1"} <= set(HOST_0_1)


def test_newer_session_is_refused(assay, tmp_path):
    path = tmp_path / "future.assay"
    shutil.copy(FIXTURES / "session" / "schema1.assay", path)
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 999")
    db.close()
    done = assay("report", path)
    assert done.returncode != 0 and "newer" in done.stderr, done.stderr
