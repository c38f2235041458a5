"""The hardware-monitor module: three files while it runs, and their summary."""
import csv
import datetime
import inspect
import json
import pathlib
import subprocess
import sys
import time
import types

import pytest

import assay

from .conftest import BUILD, ROOT

SMI = ROOT / "tests/fixtures/nvidia-smi"
NOTHING = dict.fromkeys(("peak_vram_mb", "gpu_util_mean_pct", "gpu_util_max_pct", "power_watts_mean", "power_watts_max",
                         "cpu_usr_mean_pct", "cpu_idle_mean_pct"))
QUERY = "2026/01/02 03:04:05.678, 50, 20, 1000, 80000, 300.00, 40, 1500, 2000\n"
DMON = "# gpu     fb   bar1     sm    mem\n# Idx     MB     MB      %      %\n    0   1000      1     50     20\n"
CPU = "timestamp,usr_pct,idle_pct\n2026-01-02T03:04:05.678+00:00,30.0,60.0\n"


@pytest.fixture
def assay_program():
    return lambda *args: subprocess.run([BUILD / "assay", *args], capture_output=True, text=True, check=True)


def test_files_and_summary(gpu, tmp_path):
    monitor = assay.HWMonitor(**gpu)
    monitor.start(tmp_path / "hw", 0.2)
    time.sleep(1.5)
    early = (tmp_path / "hw/hw_metrics.csv").read_text()
    assert early, "the files grow while it runs"
    gpu_csv, cpu_csv, dmon_csv = monitor.stop()
    assert (gpu_csv.name, cpu_csv.name, dmon_csv.name) == ("hw_metrics.csv", "cpu_metrics.csv", "hw_dmon.csv")
    row = next(csv.reader(gpu_csv.open()))
    assert len(row) == 9 and row[0][4] == "/", "the nine columns of nvidia-smi's query"
    assert next(csv.reader(cpu_csv.open())) == ["timestamp", "usr_pct", "idle_pct"]
    assert dmon_csv.read_text().startswith("#")
    summary = assay.build_resource_summary(gpu_csv, cpu_csv, dmon_csv)
    told = summary.to_dict()
    assert told["power_watts_max"] == pytest.approx(691.6, abs=1)
    assert told["gpu_util_max_pct"] > 50 and told["peak_vram_mb"] > 500
    assert 0 <= told["cpu_usr_mean_pct"] <= 100 and 0 <= told["cpu_idle_mean_pct"] <= 100
    assert summary.peak_vram_mb == told["peak_vram_mb"]
    assert "jax_peak_bytes_mb" not in told


def test_without_a_gpu(tmp_path, scratch):
    monitor = assay.HWMonitor()
    monitor.start(str(tmp_path / "hw"), interval_sec=0.1)
    monitor.start(str(tmp_path / "other"), interval_sec=0.1)  # does nothing: it runs
    time.sleep(0.6)
    files = monitor.stop()
    assert files.gpu_csv is None and files.dmon_csv is None and files.cpu_csv == tmp_path / "hw/cpu_metrics.csv"
    told = assay.build_resource_summary(*files).to_dict()
    assert {k for k, v in told.items() if v is not None} == {"cpu_usr_mean_pct", "cpu_idle_mean_pct"}
    assert monitor.stop() == files, "stopping again tells the same"
    assert not list(scratch.iterdir()) and not (tmp_path / "other").exists()


def test_files_of_a_run_before(tmp_path):
    """A sweep that uses its folder again, this time without a GPU."""
    for name in ("hw_metrics.csv", "hw_dmon.csv", "cpu_metrics.csv"):
        (tmp_path / name).write_text("old\n")
    monitor = assay.HWMonitor()
    monitor.start(tmp_path, 0.1)
    time.sleep(0.4)
    files = monitor.stop()
    assert files.gpu_csv is None and files.dmon_csv is None and "old" not in files.cpu_csv.read_text()


def test_names_are_paths(tmp_path):
    (tmp_path / "cpu_metrics.csv").write_text("timestamp,usr_pct,idle_pct\n")
    monitor = assay.HWMonitor()
    monitor._folder = tmp_path
    files = monitor.stop()
    assert files == (None, tmp_path / "cpu_metrics.csv", None) and isinstance(files.cpu_csv, pathlib.Path)


def test_a_program_that_goes_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    monitor = assay.HWMonitor()
    monitor.start("hw", interval_sec=0.1)
    monkeypatch.chdir(tmp_path / "other")
    time.sleep(0.4)
    cpu_csv = monitor.stop().cpu_csv
    assert cpu_csv == tmp_path / "hw/cpu_metrics.csv" and assay.build_resource_summary(None, cpu_csv).to_dict()


def test_never_started():
    assert assay.HWMonitor().stop() == (None, None, None)
    assert assay.build_resource_summary(None, None, None).to_dict() == NOTHING


def test_what_nvidia_smi_wrote(tmp_path):
    """The memory controller's column is found by its header, wherever it stands."""
    told = assay.build_resource_summary(SMI / "smi-query.csv", None, SMI / "smi-dmon-mu.txt").to_dict()
    rows = list(csv.reader((SMI / "smi-query.csv").open(), skipinitialspace=True))
    assert told["peak_vram_mb"] == max(float(r[3]) for r in rows)
    assert told["power_watts_max"] == pytest.approx(max(float(r[5]) for r in rows), abs=0.05)
    lines = (SMI / "smi-dmon-mu.txt").read_text().splitlines()
    at = lines[0].lstrip("#").split().index("mem")
    mem = [float(x.split()[at]) for x in lines if not x.startswith("#") and x.split()[at] != "-"]
    assert told["mem_util_max_pct"] == pytest.approx(max(mem), abs=0.05)
    assert told["mem_util_mean_pct"] == pytest.approx(sum(mem) / len(mem), abs=0.06)


def test_files_that_are_not_there(tmp_path):
    assert assay.build_resource_summary(tmp_path / "a", str(tmp_path / "b"), None).to_dict() == NOTHING


@pytest.mark.parametrize("query, dmon, expected, why", [
    ("No devices were found\n", DMON, {"gpu_util_mean_pct": 50.0, "mem_util_mean_pct": 20.0}, "the other file has them"),
    ("No devices were found\n", None, {}, "no GPU"),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
     "installed and running.\n\n", "NVIDIA-SMI has failed because it\n", {}, "no driver"),
    ("Failed to initialize NVML: Driver/library version mismatch\n", "", {}, "a driver that was replaced"),
    ("Failed to initialize NVML: Driver/library version mismatch\n" + QUERY, None, {"peak_vram_mb": 1000.0}, "it came back"),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure.\n" + QUERY, None,
     {"power_watts_max": 300.0}, "likewise"),
    ("timestamp, utilization.gpu [%], utilization.memory [%]\n", None, {}, "only a header"),
    ("2026/01/02 03:04:05.678, 50, 20\n", None, {}, "columns that nobody names"),
    ("2026/01/02 03:04:05.678, 50, 20\n", "# gpu sm\n# Idx %\n", {}, "and a dmon file of only a header"),
    ("what is this\n", "nor\nthis\n", {}, "neither"),
    (QUERY + "No devices were found\n" + QUERY.replace("05.678", "06.678"), None, {"gpu_util_max_pct": 50.0}, "in the middle"),
])
def test_files_that_tell_nothing(tmp_path, assay_program, query, dmon, expected, why):
    """The summary is of the rest, in the library and on the command line."""
    for name, text in (("hw_metrics.csv", query), ("hw_dmon.csv", dmon), ("cpu_metrics.csv", CPU)):
        if text is not None:
            (tmp_path / name).write_text(text)
    told = assay.build_resource_summary(gpu_csv_path=tmp_path / "hw_metrics.csv", cpu_csv_path=tmp_path / "cpu_metrics.csv",
                                        dmon_csv_path=tmp_path / "hw_dmon.csv").to_dict()
    assert told["cpu_usr_mean_pct"] == 30.0 and told["cpu_idle_mean_pct"] == 60.0, why
    assert expected.items() <= told.items(), why
    if not expected:
        assert {k for k, v in told.items() if v is not None} == {"cpu_usr_mean_pct", "cpu_idle_mean_pct"}, why
    assert json.loads(assay_program("report", tmp_path, "--format", "resource-summary").stdout) == told, why


@pytest.mark.parametrize("text, usr, idle, why", [
    ("timestamp,usr_pct,idle_pct\n2026-01-02T03:04:05,30.0,60.0\n", 30, 60, "as it is written"),
    ("2026-01-02T03:04:05,30.0,60.0\n", 30, 60, "its three columns in their order"),
    ("idle_pct,x,usr_pct\n2026-01-02T03:04:05,1,30.0\n", 30, None, "names decide"),
    ("a,b,c\n1,2,3\n", None, None, "names that are none of its"),
    ("timestamp, index, utilization.gpu [%]\n2026/01/02 03:04:05.678, 0, 50\n", None, None, "the GPUs' file"),
    ("2026/01/02 03:04:05.678, 0, 50, 20, 1000, 2000, 300, 50, 1500\n", None, None, "the GPUs' file without a header"),
], ids=lambda v: v if isinstance(v, str) and "\n" not in v else "")
def test_columns_of_the_cpu_file(tmp_path, text, usr, idle, why):
    (tmp_path / "cpu.csv").write_text(text)
    told = assay.build_resource_summary(cpu_csv_path=tmp_path / "cpu.csv").to_dict()
    if "idle_pct,x" in text:
        assert told["cpu_usr_mean_pct"] == usr, why
    else:
        assert (told["cpu_usr_mean_pct"], told["cpu_idle_mean_pct"]) == (usr, idle), why


def test_what_was_not_measured_is_nan():
    summary = assay.build_resource_summary()
    assert f"{summary.peak_vram_mb:.1f} MiB" == "nan MiB" and not summary.gpu_util_mean_pct > 5
    assert json.loads(summary.to_json()) == NOTHING


def test_times_are_iso_8601(tmp_path):
    monitor = assay.HWMonitor()
    began = datetime.datetime.now(datetime.timezone.utc)
    monitor.start(tmp_path, 0.1)
    while len((tmp_path / "cpu_metrics.csv").read_text().splitlines() if (tmp_path / "cpu_metrics.csv").exists() else []) < 3:
        time.sleep(0.05)
    rows = list(csv.DictReader(monitor.stop().cpu_csv.open()))
    times = [datetime.datetime.fromisoformat(r["timestamp"]) for r in rows]
    assert began - datetime.timedelta(seconds=1) <= times[0] < times[1] and times[-1] - began < datetime.timedelta(minutes=2)
    assert inspect.signature(monitor.start).parameters["interval_sec"].default == 2.0


def device(platform, peak):
    return types.SimpleNamespace(platform=platform, memory_stats=lambda: peak if peak is None else {"peak_bytes_in_use": peak})


@pytest.mark.parametrize("devices, expected, why", [
    (None, 0.0, "JAX was not imported"),
    ([], 0.0, "no device"),
    ([device("cpu", 2**30)], 0.0, "the host is no GPU"),
    ([device("gpu", 3 * 2**20), device("gpu", 5 * 2**20)], 5.0, "the fullest GPU"),
    ([device("gpu", None)], 0.0, "a backend without statistics"),
    (RuntimeError("no backend"), 0.0, "a broken backend"),
])
def test_jax(monkeypatch, devices, expected, why):
    if devices is None:
        monkeypatch.delitem(sys.modules, "jax", raising=False)
    else:
        def local_devices():
            if isinstance(devices, Exception):
                raise devices
            return devices
        monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(local_devices=local_devices))
    assert assay.probe_jax_peak_memory_mb() == expected, why


def test_jax_in_the_summary():
    assert assay.build_resource_summary(jax_peak_bytes_mb=12.34).to_dict() == {**NOTHING, "jax_peak_bytes_mb": 12.3}
    assert assay.build_resource_summary(jax_peak_bytes_mb=0.0).to_dict() == NOTHING


@pytest.mark.parametrize("first", [
    "WARNING: infoROM is corrupted at gpu 0000:3B:00.0", "Warning, persistence mode is off, see nvidia-smi.1", "2026/11/15 07:26:17.010, 99, 25",
    "2026/11/15 07:26:17.010, 99, 25, 1011, 143771, 691.38, 61, 1515, 3201, 7", ", , , , , , , ,"])
def test_a_bad_first_line_is_one_bad_line(tmp_path, first):
    (tmp_path / "hw_metrics.csv").write_text(first + "\n" + (SMI / "smi-query.csv").read_text())
    (tmp_path / "hw_dmon.csv").write_text(first + "\n" + (SMI / "smi-dmon-mu.txt").read_text())
    whole = assay.build_resource_summary(SMI / "smi-query.csv", None, SMI / "smi-dmon-mu.txt").to_dict()
    assert assay.build_resource_summary(tmp_path / "hw_metrics.csv", None, tmp_path / "hw_dmon.csv").to_dict() == whole


def test_another_tools_table_is_no_log_of_nvidia_smi(tmp_path):
    """Nine columns with a time first, but with names of their own above."""
    (tmp_path / "other.csv").write_text("when,a,b,c,d,e,f,g,h\n2026/11/15 07:26:17.010, 1, 2, 3, 4, 5, 6, 7, 8\n")
    assert assay.build_resource_summary(tmp_path / "other.csv").to_dict()["peak_vram_mb"] is None


def test_fields_by_their_places():
    """As positions and in JSON, the order is that of the module before."""
    order = ["peak_vram_mb", "gpu_util_mean_pct", "gpu_util_max_pct", "mem_util_mean_pct", "mem_util_max_pct", "power_watts_mean", "power_watts_max",
             "cpu_usr_mean_pct", "cpu_idle_mean_pct", "jax_peak_bytes_mb"]
    summary = assay.ResourceSummary(*range(1, 11))
    assert [getattr(summary, name) for name in order] == list(range(1, 11)) and list(summary.to_dict()) == order
