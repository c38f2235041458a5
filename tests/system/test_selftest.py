"""assay selftest without a GPU: it says what is missing and touches nothing. What reading costs is measured on a fake."""
import os
import pathlib
import re
import shutil

import pytest

from conftest import FIXTURES

BUILD = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent


def test_without_cuda(assay):
    done = assay("selftest")
    assert done.returncode == 3
    assert "cannot load CUDA's driver library" in done.stderr
    assert "needs an NVIDIA GPU" in done.stderr
    assert done.stdout == ""


def test_refuses_what_it_does_not_take(assay):
    done = assay("selftest", "--phase", "x")
    assert done.returncode == 2
    assert "does not take --phase" in done.stderr


@pytest.fixture
def gpu(assay, tmp_path):
    """Runs assay beside a GPU that only waits, and waits longer while something reads it."""
    scenario = (FIXTURES / "nvml" / "h200-idle.scn").read_text()
    uuid = re.search(r"nvmlDeviceGetUUID = 0 GPU-(\S+)", scenario).group(1)
    shutil.copy(BUILD / "tests" / "libcuda-fake.so", tmp_path / "libcuda.so.1")
    (tmp_path / "scenario").write_text(scenario)

    def run(*args, slow_us=0):
        env = {"FAKE_NVML": str(tmp_path / "scenario"), "LD_LIBRARY_PATH": str(tmp_path),
               "ASSAY_NVML_LIB": str(BUILD / "tests" / "libnvidia-ml-fake.so"), "PATH": "/nowhere",
               "FAKE_CUDA_UUID": uuid.replace("-", ""), "FAKE_CUDA_WAIT_US": "2000", "FAKE_CUDA_SLOW_US": str(slow_us)}
        return assay("selftest", "--observer", *args, env=env)

    return run


def costs(done):
    """Of each rate: the cost in percent, its interval, and the reads."""
    found = re.findall(r"(\d+) Hz +([-+][\d.]+) %  \(([-+][\d.]+) to ([-+][\d.]+)\).* (\d+) reads", done.stdout)
    return {int(hz): tuple(map(float, rest)) for hz, *rest in found}


@pytest.mark.slow
@pytest.mark.quiet
def test_observer_finds_a_cost_that_is_there(gpu):
    done = gpu("--duration", "0.2", slow_us=1000)
    assert done.returncode == 0, done.stderr
    assert "training-like  not run: there is no cuBLAS" in done.stdout
    cost = costs(done)
    assert set(cost) == {1, 10}
    for share, low, high, reads in cost.values():
        assert 25 < share < 75 and low < share < high, done.stdout
        assert low > 0, "a cost of half a step is beyond doubt"
    assert cost[10][3] > 2 * cost[1][3], "ten reads a second are more than one"
