"""The hardware-monitor module: three files while it runs, and their summary."""
import copy
import csv
import json
import os
import pathlib
import pickle
import sys
import time
import types

import pytest

import assay

from .conftest import ROOT

SMI = ROOT / "tests/fixtures/nvidia-smi"


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
    assert files.gpu_csv is None and files.dmon_csv is None and files.cpu_csv == str(tmp_path / "hw/cpu_metrics.csv")
    assert set(assay.build_resource_summary(*files).to_dict()) == {"cpu_usr_mean_pct", "cpu_idle_mean_pct"}
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


def test_names_are_texts_and_paths(tmp_path):
    """Sweeps put the names into JSON and log lines, or use them as paths."""
    (tmp_path / "cpu_metrics.csv").write_text("timestamp,usr_pct,idle_pct\n")
    monitor = assay.HWMonitor()
    monitor._folder = tmp_path
    name = monitor.stop().cpu_csv
    expected = str(tmp_path / "cpu_metrics.csv")
    assert json.loads(json.dumps({"cpu": name})) == {"cpu": expected}
    assert f"{name}" == str(name) == os.fspath(name) == expected and os.path.exists(name)
    assert name.exists() and name.parent == tmp_path and name.suffix == ".csv" and pathlib.Path(name) == pathlib.Path(expected)
    assert name.parent / "x" == tmp_path / "x"
    assert pickle.loads(pickle.dumps(name)) == copy.deepcopy(name) == name
    with pytest.raises(AttributeError):
        name.nothing_of_the_kind


def test_a_program_that_goes_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    monitor = assay.HWMonitor()
    monitor.start("hw", interval_sec=0.1)
    monkeypatch.chdir(tmp_path / "other")
    time.sleep(0.4)
    cpu_csv = monitor.stop().cpu_csv
    assert cpu_csv == str(tmp_path / "hw/cpu_metrics.csv") and assay.build_resource_summary(None, cpu_csv).to_dict()


def test_never_started():
    assert assay.HWMonitor().stop() == (None, None, None)
    assert assay.build_resource_summary(None, None, None).to_dict() == {}


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
    assert assay.build_resource_summary(tmp_path / "a", str(tmp_path / "b"), None).to_dict() == {}


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
    assert assay.build_resource_summary(jax_peak_bytes_mb=12.34).to_dict() == {"jax_peak_bytes_mb": 12.3}
    assert assay.build_resource_summary(jax_peak_bytes_mb=0.0).to_dict() == {}
