"""A wall clock that is set while a run is recorded, and a file that is removed meanwhile."""
import json
import os
import pathlib
import sqlite3
import subprocess
import time

import pytest

STEP = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libstep-clock.so"
sanitized = pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer must be loaded first")


def ticks(path):
    """How many a growing session has."""
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        n = db.execute("select count(*) from tick").fetchone()[0]
        db.close()
        return n
    except sqlite3.Error:
        return 0


@sanitized
@pytest.mark.parametrize("seconds", [-3600, 86400], ids=["an hour back", "a day on"])
def test_durations_come_from_the_monotonic_clock(assay, program, tmp_path, seconds):
    path = tmp_path / "x.assay"
    at = time.monotonic() + 1.5
    script = (f"{program} mark phase outer --begin; {program} mark phase before --begin; sleep 0.5; {program} mark phase before --end; sleep 1.5;"
              f"{program} mark phase after --begin; sleep 0.5; {program} mark phase after --end; {program} mark phase outer --end")
    env = {"LD_PRELOAD": str(STEP), "STEP_AT": str(at), "STEP_SECONDS": str(seconds)}
    done = assay("run", "--interval", "0.1", "-o", path, "--", "sh", "-c", script, env=env)
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(path) as db:
        assert db.execute("select max(abs(skew)) from host_tick").fetchone()[0] > 3e9, "the clock was set"
        seen = {name: (took, is_open) for name, took, is_open in db.execute("select name, seconds, open from phases")}
    report = json.loads(assay("report", path, "--format", "json").stdout)
    phases = {p["name"]: p for p in report["phases"]}
    assert 2 < phases["outer"]["seconds"] < 30
    assert 0.4 < phases["before"]["seconds"] < 20 and 0.4 < phases["after"]["seconds"] < 20
    assert phases["after"]["ticks"] > 0 and phases["before"]["ticks"] > 0
    # The view of SQL says the same.
    assert {k: (pytest.approx(p["seconds"], abs=0.2), 0) for k, p in phases.items()} == seen
    text = assay("report", path).stdout.replace(str(path), "")
    assert " h " not in text.split("phases")[0] and "-3" not in text
    # Written again, it is the same run.
    assert assay("convert", path, tmp_path / "y.assay").returncode == 0
    again = json.loads(assay("report", tmp_path / "y.assay", "--format", "json").stdout)
    assert {p["name"]: pytest.approx(p["seconds"], abs=0.01) for p in again["phases"]} == {k: p["seconds"] for k, p in phases.items()}


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_run_whose_file_is_gone_was_not_recorded(assay, tmp_path, how):
    path = tmp_path / "x.assay"
    script = f"sleep 0.3; rm {path}; " + (f"echo other > {path}; " if how == "replaced" else "") + "exit 5"
    done = assay("run", "--interval", "0.1", "-o", path, "--", "sh", "-c", script)
    assert done.returncode == 5
    assert "recorded in" not in done.stderr and "was removed while it was recorded" in done.stderr
    assert how == "removed" or path.read_text() == "other\n"


def test_a_recording_whose_file_is_gone_fails(program, tmp_path):
    path = tmp_path / "x.assay"
    with subprocess.Popen([program, "record", "--interval", "0.1", "-o", path], stderr=subprocess.PIPE, text=True) as p:
        while not ticks(path):
            time.sleep(0.05)
        path.unlink()
        p.terminate()
        said = p.communicate(timeout=30)[1]
    assert p.returncode == 1 and "was removed while it was recorded" in said and "ticks in" not in said
