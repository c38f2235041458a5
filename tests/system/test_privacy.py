"""What a session keeps of command lines, and who may read it."""
import json
import os
import pathlib
import sqlite3
import stat
import subprocess

import pytest
from conftest import FIXTURES

LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
SECRET = "hunter2-and-more"


def ask(path, sql):
    db = sqlite3.connect(path)
    try:
        return [row[0] for row in db.execute(sql)]
    finally:
        db.close()


def test_secrets_of_the_command_are_masked(assay, tmp_path):
    path = tmp_path / "x.assay"
    done = assay("run", "-q", "-o", path, "--", "sh", "-c", "exit 0", "train", "--token", SECRET, f"--db=postgres://me:{SECRET}@h/x", f"API_KEY={SECRET}")
    assert done.returncode == 0, done.stderr
    assert json.loads(ask(path, "select value from manifest where key = 'command'")[0]) == [
        "sh", "-c", "exit 0", "train", "--token", "***", "--db=postgres://me:***@h/x", "API_KEY=***"]
    assert SECRET.encode() not in path.read_bytes()
    assert SECRET not in assay("report", path, "--format", "json").stdout


def test_redact_keeps_the_name_alone(assay, tmp_path):
    path = tmp_path / "x.assay"
    assert assay("run", "-q", "--redact", "-o", path, "--", "sh", "-c", "exit 0", "private").returncode == 0
    assert ask(path, "select value from manifest where key = 'command'") == ['["sh"]']
    assert b"private" not in path.read_bytes()


@pytest.mark.parametrize("flags, owner, kept", [
    ([], "me", "sh -c read x train --token ***"),
    (["--redact"], "me", "sh"),
    ([], "other", "sh"),
    (["--all-commands"], "other", "sh -c read x train --token ***"),
])
def test_processes_on_the_gpu(assay, tmp_path, flags, owner, kept):
    """Of other users' processes only the name is kept, unless asked."""
    if owner == "other" and os.geteuid() != 0:
        pytest.skip("takes two users")
    user = {"user": 65534, "group": 65534} if owner == "other" else {}
    path = tmp_path / "x.assay"
    with subprocess.Popen(["sh", "-c", "read x", "train", "--token", SECRET], stdin=subprocess.PIPE, **user) as worker:
        (tmp_path / "scenario").write_text(RECORDED.replace("437:", f"{worker.pid}:"))
        env = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
        done = assay("record", "-q", "--backend", "nvml", "--duration", "2", "--interval", "0.5", *flags, "-o", path, env=env)
        worker.kill()
    assert done.returncode == 0, done.stderr
    assert ask(path, "select distinct command from process where command like 'sh%'") == [kept]
    assert SECRET.encode() not in path.read_bytes()


def test_files_are_private(assay, tmp_path):
    path = tmp_path / "x.assay"
    assert assay("record", "-q", "--duration", "0.1", "-o", path).returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert assay("convert", path, tmp_path / "copy.assay").returncode == 0
    assert stat.S_IMODE((tmp_path / "copy.assay").stat().st_mode) == 0o600
