"""The examples in docs/example run: on a machine without a GPU they say so."""
import importlib.util
import json
import subprocess
import sys

import pytest

import assay

from .conftest import ROOT

EXAMPLES = ROOT / "docs/example"


@pytest.mark.parametrize("name", ["torch_loop.py", "jax_probe.py"])
def test_what_they_use_is_there(name):
    """Names of ours, also where neither torch nor JAX is installed."""
    source = (EXAMPLES / name).read_text()
    compile(source, name, "exec")
    for line in source.splitlines():
        if line.startswith("from assay import"):
            for word in line.removeprefix("from assay import ").split(", "):
                assert hasattr(assay, word)


@pytest.mark.slow
@pytest.mark.parametrize("name, module, leaves", [
    ("torch_loop.py", "torch", ["torch_loop.assay", "torch_loop.jsonl", "torch_loop.svg"]),
    ("jax_probe.py", "jax", ["hw"]),
])
def test_they_run(name, module, leaves, tmp_path):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    done = subprocess.run([sys.executable, EXAMPLES / name, "1", tmp_path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert {p.name for p in tmp_path.iterdir()} >= set(leaves)


@pytest.mark.slow
def test_the_notebook(tmp_path):
    """It runs, and what it shows is what is checked in, but for the numbers."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    book = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    before = json.loads(json.dumps(book))
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()

    def kinds(cells):
        return [[sorted(o.get("data", {o.get("name"): 1})) for o in c.get("outputs", [])] for c in cells]

    assert kinds(book.cells) == kinds(before["cells"])
    assert all(o.get("name") != "stderr" for c in book.cells for o in c.get("outputs", []))
