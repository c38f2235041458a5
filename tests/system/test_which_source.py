"""A file that is named is what is read, and old values are not written as new."""
import csv
import io
import json
import os
import pathlib

import pytest

from conftest import FIXTURES, ROOT

TOUR = ROOT / "data" / "h200-tour.csv"
DCGMI = ROOT / "tests" / "fakes" / "dcgmi"
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()


@pytest.fixture
def session(assay, tmp_path):
    path = tmp_path / "x.assay"
    assert assay("run", "-q", "-o", path, "--interval", "0.2", "--source", TOUR, "--", "sleep", "0.7").returncode == 0
    return path


@pytest.mark.parametrize("backend", ["nvml", "dcgm", "drm"])
@pytest.mark.parametrize("where", ["variable", "config"])
def test_a_file_counts_before_a_backend_that_was_not_typed(assay, tmp_path, backend, where):
    """It streamed this machine for ever."""
    env = {"ASSAY_BACKEND": backend} if where == "variable" else {}
    if where == "config":
        (tmp_path / ".config" / "assay").mkdir(parents=True)
        (tmp_path / ".config" / "assay" / "config").write_text(f"backend = {backend}\n")
    plain = assay("export", "all", "--source", TOUR)
    assert assay("export", "all", "--source", TOUR, env=env).stdout == plain.stdout


def test_a_typed_backend_counts_before_a_file_that_was_not(assay, tmp_path):
    done = assay("once", "--backend", "nvml", env={"ASSAY_SOURCE": str(TOUR), "ASSAY_NVML_LIB": "/nonexistent"})
    assert done.returncode == 3, "it looks for a driver"


def test_both_typed_are_refused(assay):
    done = assay("export", "--backend", "nvml", "--source", TOUR)
    assert done.returncode == 2 and "reads this machine" in done.stderr


@pytest.mark.parametrize("words", [("report",), ("report", "--gpus", "0"), ("report", "--weights", "hpc"), ("plot", "-o", "x.svg", "--gpus", "0")])
def test_reports_read_their_file(assay, session, tmp_path, words):
    done = assay(words[0], session, *[str(tmp_path / w) if w == "x.svg" else w for w in words[1:]], env={"ASSAY_BACKEND": "nvml"})
    assert done.returncode == 0, done.stderr


def test_the_host_of_a_recording(assay, session):
    """export --host --source FILE streamed the machine it ran on."""
    done = assay("export", "--host", "--source", session)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert done.returncode == 0 and {"process", "system"} <= {r["level"] for r in rows}, done.stderr
    only = assay("export", "--host", "--source", session, "--levels", "process", "--format", "jsonl", "--count", "2")
    assert [json.loads(line)["level"] for line in only.stdout.splitlines()] == ["process", "process"]


def test_a_capture_has_no_host(assay):
    done = assay("export", "--host", "--source", TOUR)
    assert done.returncode == 3 and "nothing of the host" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("words", [("export", "--host", "--levels", "slurm"), ("export", "--host")])
def test_a_job_that_is_not_here(assay, words):
    done = assay(*words, "--job", "999999", timeout=20)
    assert done.returncode == 3 and "999999" in done.stderr and done.stdout == "", done.stdout


def test_a_dead_source_writes_no_rows(assay):
    """After three rounds dcgmi is silent: JSON tells how old values are, CSV leaves them out."""
    env = {"FAKE_DCGMI": json.dumps({"streams": [{"synth": True, "hang": 3}]})}
    words = ("export", "--backend", "dcgm", "--dcgmi", DCGMI, "--poll", "0.1", "--count", "8")
    old = [json.loads(line) for line in assay(*words, "--format", "jsonl", env=env).stdout.splitlines()]
    assert any(r["age"] for r in old)
    rows = list(csv.DictReader(io.StringIO(assay(*words, env=env).stdout)))
    assert 0 < len(rows) <= 6


def test_a_gpu_that_hangs_writes_no_rows(assay, tmp_path):
    (tmp_path / "s").write_text(RECORDED + "\n[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-b\n@0.5 nvmlDeviceGetPowerUsage = hang\n")
    done = assay("export", "--poll", "0.2", "--count", "15", env={"FAKE_NVML": str(tmp_path / "s"), "ASSAY_NVML_LIB": str(LIBRARY)})
    rows = [r["gpu_id"] for r in csv.DictReader(io.StringIO(done.stdout))]
    assert 0 < rows.count("1") < 10 < rows.count("0"), done.stderr
