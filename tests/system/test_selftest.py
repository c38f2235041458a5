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

    def run(*args, slow_us=0, observer=True, **more):
        env = {"FAKE_NVML": str(tmp_path / "scenario"), "LD_LIBRARY_PATH": str(tmp_path),
               "ASSAY_NVML_LIB": str(BUILD / "tests" / "libnvidia-ml-fake.so"), "PATH": "/nowhere",
               "FAKE_CUDA_UUID": uuid.replace("-", ""), "FAKE_CUDA_WAIT_US": "2000", "FAKE_CUDA_SLOW_US": str(slow_us), **more}
        return assay("selftest", *(["--observer"] if observer else []), *args, env=env)

    return run


WAIT_S = 0.02  # the eight runs of a load that are started at once
MATRIX = 8 * 2 * 8192**3 / WAIT_S / 1e12
# What each load can reach at most on a GPU that only waits, in which unit, and the H200's own limit.
LOADS = {"copy in GPU memory": (8 * 2 * 2**30 / WAIT_S / 1e9, "GB/s", 4800), "copy to the GPU": (8 * 2**28 / WAIT_S / 1e9, "GB/s", 63),
         "copy from the GPU": (8 * 2**28 / WAIT_S / 1e9, "GB/s", 63), "BF16 matrix product": (MATRIX, "TFLOP/s", 989), "TF32 matrix product": (MATRIX, "TFLOP/s", 495),
         "FP32 matrix product": (MATRIX, "TFLOP/s", 67), "FP64 matrix product": (MATRIX / 8, "TFLOP/s", 67)}


@pytest.mark.slow
def test_every_load_is_measured(assay, gpu, tmp_path):
    """What was done in the time, beside what the GPU could do; the products are those that the words say."""
    done = gpu("--duration", "0.2", "--blas", BUILD / "tests" / "libcublas-fake.so", observer=False, FAKE_CUDA_WAIT_US=str(int(WAIT_S * 1e6)), FAKE_BLAS_LOG=str(tmp_path / "products"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == "assay: this loads GPU 0 fully for about 8 s\n"
    first, head, *rows = done.stdout.splitlines()
    assert first == "GPU 0  NVIDIA H200" and head.split() == ["load", "measured", "peak", "counters"]
    told = {row[2:24].strip(): row[24:].split() for row in rows}
    assert list(told) == list(LOADS)
    for words, (most, unit, peak) in LOADS.items():
        measured, of, limit = told[words][:3]
        assert (of, limit) == (unit, str(peak)) and most / 20 < float(measured) <= most + 0.5, (words, told[words])
    assert (tmp_path / "products").read_text().splitlines() == [
        "8192 x 8192 x 8192, type 14, sums 68", "8192 x 8192 x 8192, type 0, sums 77", "8192 x 8192 x 8192, type 0, sums 68", "4096 x 4096 x 4096, type 1, sums 70"]


def test_a_gpu_that_works_is_left_alone(gpu, tmp_path):
    """Nothing is loaded beside the work of somebody else."""
    scenario = tmp_path / "scenario"
    assert "nvmlDeviceGetUtilizationRates = 0 0 0" in scenario.read_text()
    scenario.write_text(scenario.read_text().replace("nvmlDeviceGetUtilizationRates = 0 0 0", "nvmlDeviceGetUtilizationRates = 0 7 0"))
    done = gpu("--duration", "0.2", observer=False)
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr.startswith("assay: no GPU to test: it is busy")


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
