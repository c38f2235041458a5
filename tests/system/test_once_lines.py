"""assay once: the line that the holders of the GPUs are in, of this machine or of a recording."""
import os
import subprocess

from conftest import clean_env
from test_stacks_command import POOL, settled
from test_stacks_command import started  # noqa: F401 (a fixture)
from test_where import HELD, IDLE, LIBRARY, WAITS, line_of
from test_where import recorded  # noqa: F401 (a fixture)


def once(program, *args, env=None):
    return subprocess.run([program, "once", *map(str, args)], capture_output=True, text=True, check=True, timeout=60, env=env).stdout


def test_now(program, started, tmp_path):  # noqa: F811
    child = started(POOL)
    settled(program, child)
    (tmp_path / "scenario").write_text(IDLE + HELD.format(pid=child.pid))
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    text = once(program, env=env)
    assert "main threads now: one look, no share of the time" in text
    assert f"pid {child.pid}" in text and f"<string>:{line_of(POOL, 'main')}" in text and "waiting in read" in text
    assert "main threads" not in once(program, "--json", env=env) + once(program, "--csv", env=env)


def test_of_a_recording(program, recorded):  # noqa: F811
    path, _ = recorded(WAITS)
    text = once(program, path, "--at", 4)
    assert "main threads, for most of that second" in text and f"train.py:{line_of(WAITS, 'lock')} main" in text


def test_nothing_where_nothing_is_known(program, recorded, tmp_path):  # noqa: F811
    path, _ = recorded(WAITS, "--stacks", "off", seconds=3)
    assert "main threads" not in once(program, path, "--at", 2)
    (tmp_path / "scenario").write_text(IDLE + HELD.format(pid=999999999))
    env = {**clean_env(tmp_path), "FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    assert "main threads" not in once(program, env=env) and os.path.exists(program)
