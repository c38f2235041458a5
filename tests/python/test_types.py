"""The package's types hold, and a program that uses them wrongly is told by mypy."""
import inspect
import subprocess
import sys

import pytest

import assay

from .conftest import PACKAGE

FLAGS = ["--strict", "--ignore-missing-imports", "--allow-untyped-decorators", "--allow-subclassing-any", "--python-version=3.9"]

RIGHT = """
from pathlib import Path
from typing import Dict, Optional
import assay
with assay.Monitor(interval=0.5, gpus=[0, 1], levels="process") as monitor:
    latest: Optional[Dict[str, object]] = monitor.latest()
session: assay.Session = assay.open_session("run.assay")
plot: assay.Plot = session.plot(metrics=["sm_active"])
path: Path = session.plot("x.svg", level="process")
text: str = session.report("html", phase="train")
counts: int = session.counts.missed
summary: assay.ResourceSummary = assay.build_resource_summary(gpu_csv_path=None, cpu_csv_path=Path("x"))
mean: float = summary.peak_vram_mb
try:
    assay.open_session("nowhere")
except assay.AssayError as error:
    code: int = error.code
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy found out about the modules that all of them import."""
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture
def mypy(tmp_path, cache):
    pytest.importorskip("mypy")

    def run(*files):
        return subprocess.run([sys.executable, "-m", "mypy", *FLAGS, f"--cache-dir={cache}", *map(str, files)], capture_output=True, text=True, cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin", "MYPYPATH": str(PACKAGE), "HOME": str(tmp_path)}, check=False)
    return run


@pytest.mark.slow
def test_the_package(mypy):
    done = mypy(PACKAGE / "assay")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_program(mypy, tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    done = mypy(tmp_path / "right.py")
    assert done.returncode == 0, done.stdout
    wrong = ['session.report("poem")', 'session.plot(level="moon")', 'assay.Monitor(interval="fast")', 'x: int = session.report()',
             'session.export("x", to="stone")', 'assay.build_resource_summary(gpu_csv_path=5)']
    (tmp_path / "wrong.py").write_text('import assay\nsession = assay.open_session("x")\n' + "\n".join(wrong) + "\n")
    told = mypy(tmp_path / "wrong.py").stdout
    for line in range(3, 3 + len(wrong)):
        assert f"wrong.py:{line}: error" in told, told


@pytest.mark.parametrize("function, names", [
    (assay.Monitor, "interval levels session gpus backend source pid history show_all pss"),
    (assay.Monitor.report, "format level phase gpus"),
    (assay.Monitor.plot, "path metrics phase last level gpus per_gpu title width height"),
    (assay.Monitor.data, "what phase last gpus"),
    (assay.Session.export, "path to"),
    (assay.build_resource_summary, "gpu_csv_path cpu_csv_path dmon_csv_path jax_peak_bytes_mb"),
    (assay.HWMonitor.start, "output_dir interval_sec"),
    (assay.RunLog.log_event, "event_type data"),
])
def test_signatures_complete(function, names):
    """What an editor offers."""
    known = inspect.signature(function).parameters
    assert [n for n in names.split() if n not in known] == []
    assert (PACKAGE / "assay/py.typed").exists()
