"""Neither pandas nor IPython: clear words, and all the rest works."""
import sys
import venv

import pytest

from .conftest import PACKAGE

# Whatever is not of the standard library or ours cannot be imported.
BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "numpy", "IPython", "PIL", "matplotlib", "jax", "psutil"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""

PROGRAM = """
import assay, json, sys, time
with assay.Monitor(interval=0.1, session=sys.argv[1] + "/run.assay") as m:
    with assay.RunLog().phase("work"):
        time.sleep(0.6)
    print("latest", m.latest()["tick"] >= 0)
print("columns", len(m.columns("process")["time"]) > 2)
print("report", "work" in m.report())
try:
    m.data("process")
except assay.AssayError as e:
    print("data", e.message, "|", e.hint)
print("jpeg", m.plot(sys.argv[1] + "/a.jpg").read_bytes()[:3].hex() == "ffd8ff")
print("plot", m.plot(sys.argv[1] + "/a.png").stat().st_size > 1000)
try:
    assay.load_ipython_extension(None)
except ImportError as e:
    print("magics", "IPython" in str(e))
print("jax", assay.probe_jax_peak_memory_mb())
hw = assay.HWMonitor()
hw.start(sys.argv[1] + "/hw", 0.1)
time.sleep(0.5)
print("hw", assay.build_resource_summary(*hw.stop()).to_dict().keys() >= {"cpu_usr_mean_pct", "cpu_idle_mean_pct"})
print("third party", sorted({n.split(".")[0] for n in sys.modules} & {"numpy", "pandas", "IPython"}))
"""

EXPECTED = ["latest True", "columns True", "report True",
            "data a data frame needs pandas: No module named 'pandas' | install pandas, or use columns(), which needs nothing",
            "jpeg True", "plot True", "magics True", "jax 0.0", "hw True", "third party []"]


def test_blocked(python, tmp_path):
    done = python(BLOCK + PROGRAM, tmp_path)
    assert done.stdout.splitlines() == EXPECTED, done.stderr


@pytest.mark.slow
def test_an_interpreter_with_nothing(tmp_path):
    """A virtual environment without any package."""
    import subprocess
    venv.create(tmp_path / "venv", with_pip=False)
    done = subprocess.run([tmp_path / "venv/bin/python", "-c", PROGRAM, tmp_path], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.stdout.splitlines() == EXPECTED, done.stderr


def test_importing_is_cheap(python):
    """pandas and IPython are not imported along, though they are there."""
    done = python("import assay, sys; print(sorted({n.split('.')[0] for n in sys.modules} & {'numpy', 'pandas', 'IPython'}))")
    assert done.stdout == "[]\n"
    assert sys.executable and PACKAGE
