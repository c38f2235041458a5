"""What the tests of the Python package share. They use Debian's Python, the build's library, and a fake GPU."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "python"
BUILD = pathlib.Path(os.environ.get("ASSAY", ROOT / "build" / "assay")).resolve().parent

# A library with a sanitizer inside cannot be loaded into an interpreter without one.
collect_ignore_glob = ["test_*.py"] if os.environ.get("SANITIZED") else []

sys.path.insert(0, str(PACKAGE))
os.environ.setdefault("ASSAY_LIB", str(BUILD / "libassay.so.0"))
os.environ["PYTHONPATH"] = str(PACKAGE)
os.environ.pop("ASSAY_SESSION", None)


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Each test has its own folder for temporary files; what is left there is a finding."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def gpu(monkeypatch):
    """An H200 at work, as far as a process can tell."""
    monkeypatch.setenv("FAKE_NVML", str(ROOT / "tests/fixtures/nvml/h200-bf16.scn"))
    monkeypatch.setenv("ASSAY_NVML_LIB", str(BUILD / "tests/libnvidia-ml-fake.so"))
    return {"backend": "nvml", "nvml_lib": str(BUILD / "tests/libnvidia-ml-fake.so")}


@pytest.fixture
def python():
    """Runs a program of Python in a process of its own."""

    def run(code, *args, timeout=60, flags=(), **env):
        return subprocess.run([sys.executable, *flags, "-c", code, *map(str, args)], env={**os.environ, **env},
                              capture_output=True, text=True, timeout=timeout, check=False)

    return run
