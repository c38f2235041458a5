"""The tests end, whatever one of them does."""
import subprocess
import sys
import time

import pytest

from conftest import HERE

sys.path.insert(0, str(HERE))
import run  # noqa: E402


def test_a_failure_ends_what_was_started():
    begun = time.monotonic()
    with pytest.raises(AssertionError), subprocess.Popen(["sleep", "100"]) as process:
        raise AssertionError
    assert process.returncode == -9 and time.monotonic() - begun < 50


def test_who_is_left_behind_keeps_nobody(tmp_path):
    begun = time.monotonic()
    assert run.Tests.wait_for(["sh", "-c", "echo said; sleep 60 & exit 7"], None, tmp_path / "log") == 7
    assert (tmp_path / "log").read_text() == "said\n" and time.monotonic() - begun < 50


def test_a_file_that_hangs_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "LONGEST_FILE", 0.2)
    assert run.Tests.wait_for(["sleep", "100"], None, tmp_path / "log") is None
    assert "ended: not done after 0.2 s" in (tmp_path / "log").read_text()
