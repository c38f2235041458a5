"""No invalid access and no leak, as valgrind sees it."""
import os
import shutil
import subprocess

import pytest

from conftest import FIXTURES

CASES = [
    ["export", "full", "--source", FIXTURES / "dcgm" / "dmon-mig-all.txt"],
    ["export", "full", "--source", FIXTURES / "nvidia-smi" / "smi-query.csv"],
    ["export", "--format", "jsonl", "--source", FIXTURES / "nvidia-smi" / "smi-dmon-all.txt"],
    ["once", "--source", FIXTURES / "tour" / "h200-tour.dmon.txt", "--at", "20", "--focus-gpu", "0"],
    ["once", "--json", "--source", FIXTURES / "dcgm" / "dmon-strings.txt"],
    ["export", "--gpus", "9", "--source", FIXTURES / "dcgm" / "dmon-8gpu.txt"],
    ["export", "nonsense"],
    ["metrics"],
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer is at work already")
@pytest.mark.parametrize("args", CASES, ids=lambda a: "-".join(map(str, a[:2])))
def test_valgrind(program, args, tmp_path):
    done = subprocess.run(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect",
                           program, *map(str, args)], capture_output=True, text=True, timeout=120, check=False,
                          env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert done.returncode != 99, done.stderr
