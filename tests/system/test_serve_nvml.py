"""`assay serve` on a driver that is well, hangs, loses a GPU, or is not there yet."""
import os
import pathlib
import re
import time

import pytest

from conftest import FIXTURES
from serving import Server, total

RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"


def second(uuid, *lines):
    return "\n".join(["[gpu copy 0]", f"nvmlDeviceGetUUID = 0 {uuid}", *lines, ""])


@pytest.fixture
def nvml(program, tmp_path):
    servers = []

    def start(*args, add=""):
        path = tmp_path / f"scenario{len(servers)}"
        path.write_text(RECORDED + "\n" + add)
        servers.append(Server(program, tmp_path, *args, env={"FAKE_NVML": str(path), "ASSAY_NVML_LIB": str(LIBRARY)}).start())
        return servers[-1]

    yield start
    for s in servers:
        s.stop()


def test_ten_samples_a_second_without_being_asked(nvml):
    s = nvml().ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total") > 2)
    text = s.metrics()
    observed = total(text, "assay_gpu_observed_seconds_total")
    active = total(text, "assay_gpu_active_seconds_total", unit="sm")
    assert active / observed == pytest.approx(0.95524937947, rel=0.001)
    ticks = total(text, "assay_sampler_ticks_total")
    assert ticks / max(observed, 0.1) > 5  # on a loaded machine too
    assert total(text, "DCGM_FI_PROF_SM_ACTIVE") == pytest.approx(0.955249)
    assert re.search(r'pci_bus_id="00000000:00:06\.0",device="nvidia0",modelName="NVIDIA H200"', text)


def test_scrapes_make_no_driver_calls(nvml):
    """The sampler keeps its beat, however many ask."""
    s = nvml("--poll", "1").ready()
    before = total(s.metrics(), "assay_sampler_ticks_total")
    begun = time.monotonic()
    for _ in range(200):
        s.metrics()
    assert total(s.metrics(), "assay_sampler_ticks_total") - before <= time.monotonic() - begun + 2


def test_a_gpu_that_hangs(nvml):
    """Its values go after three intervals, the other's stay, nothing freezes."""
    s = nvml(add=second("GPU-22222222-0000-0000-0000-000000000000", "@3 * = hang")).ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_up") == 2)
    s.wait(lambda: total(s.metrics(), "assay_gpu_up") == 1, 40)
    text = s.metrics()
    assert 'assay_gpu_up{uuid="GPU-22222222-0000-0000-0000-000000000000",gpu="1"} 0' in text
    assert not re.search(r'^DCGM_\w+\{gpu="1"', text, re.M)
    assert re.search(r'^DCGM_FI_DEV_POWER_USAGE\{gpu="0"', text, re.M)
    stuck = total(text, "assay_gpu_observed_seconds_total", gpu="1")
    assert stuck > 0
    going = total(text, "assay_gpu_observed_seconds_total", gpu="0")
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="0") > going + 0.5)
    assert total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1") == stuck
    assert s.ask("/health")[0] == 200


def test_a_gpu_that_is_lost_and_comes_back(nvml):
    s = nvml(add=second("GPU-22222222-0000-0000-0000-000000000000", "@2 * = 15", "@6 * = -")).ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_up", gpu="1") == 0 and total(s.metrics(), "assay_gpu_up", gpu="0") == 1, 40)
    before = total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1")
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="1") > before + 0.3, 40)
    log = s.json("/api/v1/findings")["log"]
    assert [e for e in log if e["gpu"] == "1"]


def test_an_xid_is_counted(nvml):
    s = nvml(add="@1 xid = 79\n@2 xid = 31\n").ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_xid_total", xid="31") >= 1, 40)


