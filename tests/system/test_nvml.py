"""assay with a fake NVML: what users see when GPUs are well, slow, gone, or not there."""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import FIXTURES

RECORDED = (FIXTURES / "nvml" / "h200-bf16.scn").read_text()
LIBRARY = pathlib.Path(os.environ.get("ASSAY", "build/assay")).resolve().parent / "tests" / "libnvidia-ml-fake.so"
COUNTERS = ("sm_active_pct", "tensor_active_pct", "dram_active_pct")


def second(uuid, *lines):
    """A GPU that answers as the first, but for these lines."""
    return "\n".join(["[gpu copy 0]", f"nvmlDeviceGetUUID = 0 {uuid}", *lines, ""])


@pytest.fixture
def nvml(assay, tmp_path):
    """Runs assay over a scenario: the recorded GPU, and what is added to it."""

    def run(*args, add="", base=RECORDED, env=None, **more):
        path = tmp_path / "scenario"
        path.write_text(base + "\n" + add)
        return assay(*args, env={"FAKE_NVML": str(path), "ASSAY_NVML_LIB": str(LIBRARY), **(env or {})}, **more)

    return run


def rows(done):
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_once_chooses_nvml_and_shows_counters(nvml):
    done = nvml("once", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    frame = json.loads(done.stdout)
    gpu = frame["gpus"][0]
    assert frame["source"] == "nvml+gpm"
    assert gpu["metrics"]["sm_active"] == pytest.approx(0.95524937947)
    assert gpu["metrics"]["pcie_rx"] == pytest.approx(12.80699195386636 * 2**20)
    assert gpu["metrics"]["power"] == pytest.approx(691.608)
    assert gpu["verdict"]["class"] == "tensor-heavy compute"
    assert gpu["health"]["state"] == "OK"
    assert gpu["identity"]["pci"] == "0000:00:06.0"


def test_short_polls_are_raised_and_give_no_zeros(nvml):
    done = nvml("export", "all", "--poll", "0.01", "--count", "12")
    assert "--poll 0.01 raised to 0.1" in done.stderr
    for row in rows(done):
        for name in COUNTERS:
            assert float(row[name]) > 1


def test_plain_nvml_says_that_there_are_no_counters(nvml):
    done = nvml("once", "--json", add="nvmlGpmQueryDeviceSupport = 0 0\n")
    gpu = json.loads(done.stdout)["gpus"][0]
    assert done.returncode == 0
    assert "no SM, tensor and DRAM counters" in done.stderr
    assert gpu["metrics"]["sm_active"] is None
    assert gpu["missing"]["sm_active"] == "unsupported"
    assert gpu["metrics"]["gpu_util"] == 0.99


def calls_of(path):
    """What the fake counted: function → how often."""
    data = path.read_bytes()
    rows = (data[at:at + 64] for at in range(0, len(data), 64))
    return {row[:56].rstrip(b"\0").decode(): int.from_bytes(row[56:], "little") for row in rows if row[0]}


@pytest.mark.parametrize("words", ["export all --count 3 --poll 0.1", "once --json", "export all --count 3 --poll 0.1 --backend nvml",
                                   "record --duration 0.5 --poll 0.1", "run --poll 0.1 -o run.assay -- sleep 0.4"])
def test_no_profiling_counter_is_read_where_none_may_be(nvml, tmp_path, words):
    """The same command with counters reads them, so that this test can fail."""
    seen = {}
    for name in ("with", "without"):
        own = tmp_path / name
        own.mkdir()
        extra = ["-o", str(own / "rec.assay")] if words.startswith("record") else []
        first, _, command = words.partition(" -- ")
        option = ["--no-profiling"] if name == "without" else []
        done = nvml(*first.replace("run.assay", str(own / "run.assay")).split(), *extra, *option, *(["--", *command.split()] if command else []),
                    env={"FAKE_NVML_CALLS": str(own / "calls")})
        assert done.returncode == 0, done.stderr
        assert "no SM, tensor and DRAM counters" not in done.stderr
        seen[name] = calls_of(own / "calls")
    assert seen["with"]["nvmlGpmMetricsGet"] > 0
    assert not [f for f, n in seen["without"].items() if "Gpm" in f and n], seen["without"]
    assert seen["without"]["nvmlDeviceGetUtilizationRates"] > 0


def test_without_profiling_counters_the_limiter_is_likely(nvml):
    for option, source, basis, sm in ((), "nvml+gpm", "counters", 0.955), (("--no-profiling",), "nvml", "driver", None):
        frame = json.loads(nvml("once", "--json", *option).stdout)
        gpu = frame["gpus"][0]
        assert (frame["source"], gpu["limit"]["basis"]) == (source, basis)
        assert gpu["metrics"]["sm_active"] == (sm and pytest.approx(sm, abs=1e-3))
        assert gpu["metrics"]["gpu_util"] == 0.99


@pytest.mark.parametrize("answer, words, remedy", [
    ("nvmlInit_v2 = 18", "different versions", "reboot"),
    ("nvmlInit_v2 = 9", "not loaded", "modprobe"),
    ("nvmlInit_v2 = 4", "may not be used", "/dev/nvidiactl"),
    ("nvmlInit_v2 = 999", "NVML error 999", "nvidia-smi"),
    ("nvmlDeviceGetCount_v2 = 0 0", "no NVIDIA GPU", "lspci"),
])
def test_what_cannot_start_says_why(nvml, answer, words, remedy):
    done = nvml("once", "--backend", "nvml", base=answer)
    assert done.returncode == 3
    assert words in done.stderr and remedy in done.stderr


def test_without_the_library(assay):
    done = assay("once", "--backend", "nvml", env={"ASSAY_NVML_LIB": "/nowhere/libnvidia-ml.so.1"})
    assert done.returncode == 3
    assert "cannot be loaded" in done.stderr and "install the NVIDIA driver" in done.stderr


def test_the_environment_chooses(nvml):
    more = second("GPU-bbbbbbbb-1") + second("GPU-cccccccc-2")
    chosen = lambda env, *args: {r["gpu_id"] for r in rows(nvml("once", "--csv", *args, add=more, env=env))}
    assert chosen({}) == {"0", "1", "2"}
    assert chosen({"CUDA_VISIBLE_DEVICES": "2"}) == {"2"}
    assert chosen({"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}) == {"1"}
    assert chosen({"CUDA_VISIBLE_DEVICES": "2"}, "--show-all") == {"0", "1", "2"}
    done = nvml("once", add=more, env={"CUDA_VISIBLE_DEVICES": "7"})
    assert done.returncode == 2 and "there is: 0, 1, 2" in done.stderr


def test_mig(nvml):
    add = """nvmlDeviceGetMigMode = 0 1 1
nvmlDeviceGetMaxMigDeviceCount = 0 7
nvmlDeviceGetUtilizationRates = 3
[mig 7 0]
nvmlDeviceGetUUID = 0 MIG-11112222
nvmlDeviceGetName = 0 NVIDIA H200 MIG 1g.18gb
nvmlDeviceGetMemoryInfo_v2 = 0 19000000000 0 18000000000 1000000000
gpm/2 = 0 44
gpm/10 = 0 5
"""
    got = {r["gpu_id"]: r for r in rows(nvml("export", "full", "--count", "1", add=add))}
    assert set(got) == {"0", "0/7"}
    assert got["0/7"]["sm_active_pct"] == "44.00" and got["0/7"]["gpu_util_pct"] == ""
    assert float(got["0/7"]["mem_used_mib"]) == pytest.approx(1e9 / 2**20, abs=1e-3)
    only = rows(nvml("once", "--csv", add=add, env={"CUDA_VISIBLE_DEVICES": "MIG-1111"}))
    assert [r["gpu_id"] for r in only] == ["0/7"]


def test_memory_that_is_the_systems(nvml, tmp_path):
    """GB10 has no memory of its own, NVML says so, and what is shown says whose it is."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:  125829120 kB\nMemFree:  1048576 kB\nMemAvailable:  83886080 kB\n")
    shares = RECORDED.replace("NVIDIA H200", "NVIDIA GB10") + "\nnvmlDeviceGetMemoryInfo = 3\nnvmlDeviceGetMemoryInfo_v2 = 3\n"
    done = nvml("once", "--json", "--root", tmp_path, base=shares)
    m = json.loads(done.stdout)["gpus"][0]["metrics"]
    assert (m["shared_memory_used"], m["shared_memory_total"]) == (40 * 2**30, 120 * 2**30)
    assert m["fb_used"] is None and m["fb_total"] is None
    text = nvml("once", "--root", tmp_path, base=shares).stdout
    assert "40.0G/120G*" in text and "* the system's memory: this GPU has none of its own" in text, text
    whole = nvml("once", "--root", tmp_path).stdout
    assert "*" not in whole and json.loads(nvml("once", "--json", "--root", tmp_path).stdout)["gpus"][0]["metrics"]["shared_memory_total"] is None


@pytest.mark.slow
def test_a_gpu_vanishes_at_second_3_and_returns(nvml):
    got = rows(nvml("export", "full", "--poll", "0.5", "--count", "16",
                    add=second("GPU-bbbbbbbb-1", "@3 * = 15", "@5 * = -")))
    first = [r for r in got if r["gpu_id"] == "0"]
    other = [r for r in got if r["gpu_id"] == "1"]
    assert all(r["health"] == "OK" and float(r["sm_active_pct"]) > 90 for r in first)
    health = [r["health"] for r in other]
    assert health[0] == "OK" and "CRIT" in health and health[-1] == "OK"
    assert all(r["power_w"] == "" for r in other if r["health"] == "CRIT")
    assert float(other[-1]["sm_active_pct"]) > 90


@pytest.mark.slow
def test_a_gpu_is_plugged_in(program, tmp_path):
    """NVML finds GPUs when it starts; the kernel's list says when to start it again."""
    kernel = tmp_path / "proc/driver/nvidia/gpus"
    (kernel / "0000:00:06.0").mkdir(parents=True)
    scenario = tmp_path / "s"
    scenario.write_text("found = 1\n@1 found = 2\n" + RECORDED + second("GPU-bbbbbbbb-1"))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
    child = subprocess.Popen([program, "export", "all", "--poll", "0.5", "--count", "22", "--root", str(tmp_path)], env=env,
                             stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    (kernel / "0000:00:07.0").mkdir()
    got = list(csv.DictReader(io.StringIO(child.communicate(timeout=30)[0])))
    first = [r for r in got if r["gpu_id"] == "0"]
    other = [r for r in got if r["gpu_id"] == "1"]
    assert child.returncode == 0
    # A busy machine may make some rows stale, and those are left out.
    assert 18 <= len(first) <= 22 and all(r["health"] == "OK" for r in first)
    assert sum(r["sm_active_pct"] == "" for r in first) <= 2
    assert 3 <= len(other) < len(first) and float(other[-1]["sm_active_pct"]) > 90


@pytest.mark.slow
def test_a_call_that_hangs_delays_nobody(nvml):
    start = time.time()
    done = nvml("export", "--format", "jsonl", "--poll", "0.1", "--count", "25",
                add=second("GPU-bbbbbbbb-1", "@1 nvmlDeviceGetPowerUsage = hang"))
    assert time.time() - start < 5
    assert done.returncode == 0
    got = [json.loads(x) for x in done.stdout.splitlines()]
    first = [r for r in got if r["gpu"] == "0"]
    other = [r for r in got if r["gpu"] == "1"]
    assert len(first) == len(other) == 25
    assert sum("power" in r["age"] for r in first) < 8  # a busy machine may delay some
    assert other[-1]["age"]["power"] > 0.5
    assert "GPU 1: stale" in done.stderr and "does not answer" in done.stderr


@pytest.mark.slow
def test_stopping_is_at_once_while_a_call_hangs(program, tmp_path):
    scenario = tmp_path / "s"
    scenario.write_text(RECORDED + "@0.5 * = hang\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(LIBRARY)}
    child = subprocess.Popen([program, "export", "--poll", "30"], env=env, stdout=subprocess.DEVNULL)
    time.sleep(1.5)
    start = time.time()
    child.send_signal(signal.SIGINT)
    child.wait(20)
    assert time.time() - start < 5  # the poll takes 30 s


@pytest.mark.slow
def test_a_driver_that_hangs_at_the_start_is_given_up(nvml):
    done = nvml("once", "--backend", "nvml", base="nvmlInit_v2 = hang")
    assert done.returncode == 3
    assert "does not answer" in done.stderr


def test_a_fatal_xid_is_critical(nvml):
    got = rows(nvml("export", "full", "--poll", "0.2", "--count", "6", add="xid = 79\n"))
    assert got[-1]["xid"] == "79" and got[-1]["health"] == "CRIT"


def test_xids_in_a_report(nvml, assay, tmp_path):
    """Two that come within a tick are two, a harmless one hides no grave one, and a flood is one line."""
    path = tmp_path / "x.assay"
    flood = "@0.6 xid = 31\n" * 40
    done = nvml("run", "--poll", "0.2", "-o", path, "--", "sleep", "4", add="@0.3 xid = 79\n@0.3 xid = 45\n" + flood)
    assert done.returncode == 0, done.stderr
    text = " ".join(assay("report", path).stdout.split())
    assert "XID 79: the GPU has fallen off the bus; cause: the hardware" in text
    assert "XID 45: the program's work was removed: it was ended, or it failed before; cause: a program" in text
    assert "XID 31, 40 times: a kernel of the program used an invalid address; cause: a program" in text
    assert "try: drain the node and reboot it" in text
    [gpu] = json.loads(assay("report", path, "--format", "json").stdout)["run"]["gpus"]
    assert [(x["xid"], x["count"]) for x in gpu["xids"]] == [(79, 1), (45, 1), (31, 40)]
    once = assay("once", path, "--json", "--at", "3").stdout
    assert "XID 79: the GPU has fallen off the bus" in once and '"CRIT"' in once


def test_counters_that_reset_leave_a_hole_and_no_spike(nvml):
    got = rows(nvml("export", "all", "--poll", "0.1", "--count", "15", add="@0.7 gpm_epoch = 1\n"))
    values = [r["sm_active_pct"] for r in got]
    assert 1 <= values.count("") <= 2
    assert set(values) - {""} == {"95.52"}
    assert {r["pcie_rx_bytes_s"] for r in got} - {""} == {got[0]["pcie_rx_bytes_s"]}


def test_the_numa_node_is_the_kernels(nvml, tmp_path):
    folder = tmp_path / "sys/bus/pci/devices/0000:00:06.0"
    folder.mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (folder / "numa_node").write_text("1\n")
    gpu = json.loads(nvml("once", "--json", "--root", tmp_path).stdout)["gpus"][0]
    assert gpu["identity"]["numa_node"] == "1"


def test_memory_that_is_not_there_is_not_zero(nvml):
    """Unified-memory parts have no framebuffer of their own."""
    got = rows(nvml("once", "--csv", add="nvmlDeviceGetMemoryInfo_v2 = 3\nnvmlDeviceGetMemoryInfo = 3\n"))
    assert got[0]["mem_used_mib"] == "" and got[0]["mem_total_mib"] == ""
    assert got[0]["power_w"] != ""


def test_ends_in_order_at_a_signal(program, tmp_path):
    """The driver's threads were there before the one that waits for signals, and take none."""
    lib = pathlib.Path(program).parent / "tests/libnvidia-ml-fake.so"
    env = {"FAKE_NVML": str(FIXTURES / "nvml/h200-bf16.scn"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    command = [program, "export", "--backend", "nvml", "--nvml-lib", str(lib), "--poll", "5"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=5) == 0


@pytest.mark.parametrize("driver, lines, clock, why", [
    ("590.44.01", "gpm/248 = 0 1376e6", 1376e6, "cycles of one SM in each window"),
    ("590.44.01", "gpm/248 = 0 181632e6", 1376e6, "cycles of all 132 SMs"),
    ("590.44.01", "gpm_since/248 = 0 1376e6", 1376e6, "cycles since long ago"),
    ("590.44.01", "gpm/248 = 0 9e9", None, "no unit that is known"),
    ("590.44.01", "", None, "a driver that does not count them"),
    ("580.159.04", "gpm/248 = 0 1376e6", None, "a driver that is not asked"),
])
def test_effective_clock(nvml, driver, lines, clock, why):
    """The clock from counted cycles, and FLOP/s that follow it; else an interval from NVML's clock."""
    done = nvml("export", "--format", "jsonl", "--poll", "0.15", "--count", "4", "--flops", "bf16", add=lines,
                base=RECORDED.replace("580.159.04", driver, 1))
    gpu = json.loads(done.stdout.splitlines()[-1])
    assert gpu["metrics"]["sm_clock_effective"] == (clock and pytest.approx(clock, rel=1e-3)), why
    assert gpu["metrics"]["sm_active"] == pytest.approx(0.95524937947)
    flops, formula = gpu["flops"], gpu["metrics"]["tensor_active"] * 132 * 4096 * (clock or 1470e6)
    assert flops["type"] == "bf16" and flops["lo"] < formula * 0.98 <= flops["hi"] * 1.001
    assert flops["hi"] / flops["lo"] < (1.06 if clock else 1.12)


def test_a_metric_that_the_driver_refuses_costs_no_other(nvml):
    """A driver may refuse the whole call for one number that it does not know."""
    done = nvml("export", "--format", "jsonl", "--poll", "0.15", "--count", "4", add="refuse = 248",
                base=RECORDED.replace("580.159.04", "590.44.01", 1))
    gpu = json.loads(done.stdout.splitlines()[-1])
    assert gpu["metrics"]["sm_active"] == pytest.approx(0.95524937947) and gpu["metrics"]["sm_clock_effective"] is None
    assert gpu["flops"] is None


def test_run_ends_with_what_is_wrong(nvml, tmp_path):
    """A GPU that was hot for most of the run is told at its end, and on the page."""
    path = tmp_path / "hot.assay"
    done = nvml("run", "--poll", "0.1", "-o", path, "--", "sleep", "0.6", add="nvmlDeviceGetTemperature/0 = 0 93\n")
    said = [line for line in done.stderr.splitlines() if "not healthy" in line]
    assert len(said) == 1 and said[0].startswith("assay: GPU 0 was not healthy for "), done.stderr
    assert "GPU 0 was not healthy for" in nvml("report", path, "--format", "html").stdout
