"""What the machine draws, on trees of sysfs: counters of processors that start over or that are root's alone, meters of firmware, machines without either. 0 is never said for what nothing counts."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from conftest import FIXTURES
from drm_tree import Tree
from serving import Server, total
from test_host import anybody, asked, needs_root, NOBODY  # noqa: F401
from test_serve_nvml import LIBRARY, RECORDED
from test_top import Terminal

RANGE = 262143328850  # microjoules; what many kernels say


class Machine:
    """The tree of a machine without meters, to which some are added."""

    def __init__(self, folder):
        self.root = folder / "root"
        shutil.copytree(FIXTURES / "proc" / "node", self.root, symlinks=True)

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(file.name + ".new")
        new.write_text(f"{text}\n")
        # The reader keeps its descriptor, as of sysfs: the bytes change in place.
        if file.exists():
            with open(file, "r+") as f:
                f.write(f"{text}\n")
                f.truncate()
            new.unlink()
        else:
            new.rename(file)
        return file

    def zone(self, number, name, energy, range_=RANGE):
        folder = f"sys/class/powercap/{number}"
        self.put(f"{folder}/name", name)
        self.put(f"{folder}/max_energy_range_uj", range_)
        return self.put(f"{folder}/energy_uj", energy)

    def meter(self, number, microwatts, name="power_meter", file="power1_average"):
        self.put(f"sys/class/hwmon/hwmon{number}/name", name)
        return self.put(f"sys/class/hwmon/hwmon{number}/{file}", microwatts)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def sockets(machine):
    """Two of them, with parts that are in others or repeat them, and the memory of one, which is not."""
    machine.zone("intel-rapl:0", "package-0", 1_000_000)
    machine.zone("intel-rapl:0:0", "core", 70_000_000)
    machine.zone("intel-rapl:0:1", "dram", 250_000)
    machine.zone("intel-rapl:1", "package-1", 2_000_000)
    machine.zone("intel-rapl:2", "psys", 900_000_000)
    machine.zone("intel-rapl-mmio:0", "package-0", 1_000_000)
    machine.meter(0, 45000000, name="coretemp", file="power1_input")
    return machine


class Rows:
    """What an export says of the machine, row by row."""

    def __init__(self, program, machine, *more):
        self.process = subprocess.Popen([program, "export", "--host", "--root", machine.root, "--pid", "4242", "--levels", "system", "--format", "jsonl", "--poll", "0.05", *more],
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def until(self, wanted, rows=400):
        for _ in range(rows):
            row = json.loads(self.process.stdout.readline())["system"]
            if wanted(row):
                return row
        raise AssertionError(f"never: {row}")


def test_counters_of_the_processors(program, sockets):
    with Rows(program, sockets) as rows:
        first = rows.until(lambda row: True)
        assert first["figures"]["cpu_energy"] == 3.25, "packages and memory, each once"
        assert first["missing"]["node_power"] == "unsupported", "a chip that is no power meter"
        sockets.zone("intel-rapl:1", "package-1", 12_000_000)
        row = rows.until(lambda row: row["figures"]["cpu_energy"] != 3.25)
        assert row["figures"]["cpu_energy"] == 13.25 and row["figures"]["cpu_power"] > 0
        # It starts over.
        sockets.zone("intel-rapl:0", "package-0", RANGE - 500_000)
        high = rows.until(lambda row: row["figures"]["cpu_energy"] > 1000)["figures"]["cpu_energy"]
        sockets.zone("intel-rapl:0", "package-0", 1_500_000)
        row = rows.until(lambda row: row["figures"]["cpu_energy"] != high)
        assert row["figures"]["cpu_energy"] == pytest.approx(high + 2, abs=1e-3)


def test_a_part_is_not_the_whole(program, sockets):
    """One counter that cannot be read, or says nonsense, leaves the sum unknown; when it is back the sum goes on."""
    with Rows(program, sockets) as rows:
        rows.until(lambda row: row["figures"].get("cpu_energy") == 3.25)
        sockets.zone("intel-rapl:1", "package-1", "many")
        row = rows.until(lambda row: row["figures"].get("cpu_energy") is None)
        assert row["missing"]["cpu_energy"] == "error" and row["missing"]["cpu_power"] == "error"
        sockets.zone("intel-rapl:1", "package-1", RANGE + 1)
        sockets.zone("intel-rapl:1", "package-1", 2_000_000)
        rows.until(lambda row: row["figures"].get("cpu_energy") is not None)


def test_a_counter_that_never_counts(program, machine):
    """Virtual machines have such: its 0 is no energy."""
    machine.zone("intel-rapl:0", "package-0", 0)
    with Rows(program, machine) as rows:
        assert rows.until(lambda row: True)["missing"]["cpu_energy"] == "error"


@needs_root
def test_counters_that_are_roots_alone(anybody, sockets, tmp_path):
    """As they are on most kernels: unknown for others, with the reason."""
    for file in sockets.root.glob("sys/class/powercap/*/energy_uj"):
        file.chmod(0o400)
    for folder in (tmp_path, *tmp_path.parents):
        if folder != pathlib.Path("/") and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o55)
    done = subprocess.run([anybody, "export", "--host", "--root", sockets.root, "--pid", "4242", "--levels", "system", "--format", "jsonl", "--poll", "0.02", "--count", "2"],
                          capture_output=True, text=True, user=NOBODY, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line)["system"] for line in done.stdout.splitlines()]
    assert all(row["missing"]["cpu_energy"] == "denied" and row["missing"]["cpu_power"] == "denied" for row in rows)


@pytest.mark.parametrize("values, want", [
    ({"power1_average": 512000000}, 512),
    ({"power1_input": 512000000}, 512),  # of drivers without a mean
    ({"power1_average": 0}, "error"),  # a running machine draws something
    ({"power1_average": "none"}, "error"),
    ({"power1_average": 10**15}, "error"),
    ({"power1_average": 10**30}, "error"),
    ({}, "unsupported"),
])
def test_a_meter_of_the_whole_machine(program, machine, values, want):
    machine.put("sys/class/hwmon/hwmon3/name", "power_meter")
    for file, value in values.items():
        machine.meter(3, value, file=file)
    with Rows(program, machine) as rows:
        row = rows.until(lambda row: True)
    assert row["missing"]["cpu_energy"] == "unsupported"
    if isinstance(want, str):
        assert row["figures"]["node_power"] is None and row["missing"]["node_power"] == want
    else:
        assert row["figures"]["node_power"] == want


def test_of_several_meters_none_is_the_machines(program, machine):
    machine.meter(3, 512000000)
    machine.meter(4, 200000000)
    with Rows(program, machine) as rows:
        assert rows.until(lambda row: True)["missing"]["node_power"] == "unsupported"


def test_once_says_it_where_it_is_known(assay, sockets):
    assert "power  " not in assay("once", "--root", FIXTURES / "proc" / "node", "--pid", "4242").stdout
    sockets.meter(5, 1240000000)
    assert re.search(r"^  power     processors 0 W  whole machine 1240 W$", assay("once", "--root", sockets.root, "--pid", "4242").stdout, re.M), "a counter that stands still is 0 W"


def test_top_shows_it_beside_the_cores(program, sockets, tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("needs tmux")
    sockets.meter(5, 1240000000)
    Tree(tmp_path / "gpus").add("names").add("rx7900")
    shutil.copytree(tmp_path / "gpus", sockets.root, dirs_exist_ok=True, symlinks=True)
    terminal = Terminal(program, tmp_path, 160, 40)
    try:
        terminal.type(f"{program} top --backend drm --root {sockets.root}")
        terminal.wait("GPU 0 RX7900", 20)
        terminal.keys("5")
        assert "cores, load " in terminal.wait(re.compile(r", machine 1240 W"), 20)
    finally:
        terminal.close()


def find(value, name):
    """The first member of that name, however deep."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    found = (find(one, name) for one in value) if isinstance(value, list) else ()
    return next((one for one in found if one is not None), None)


def test_a_recording_and_its_report(program, assay, sockets, tmp_path):
    path, energy = tmp_path / "x.assay", sockets.meter(5, 300000000)
    with subprocess.Popen([program, "record", "-q", "--root", sockets.root, "--levels", "system", "--interval", "0.05", "-o", path]) as p:
        # Until ten samples are in the file: each after the first saw the counter grow.
        given, rows = 0, []
        for given in range(1, 1200):
            sockets.zone("intel-rapl:0", "package-0", 1_000_000 + given * 5_000_000)
            time.sleep(0.05)
            rows = asked(path, "select count(*) from levels")
            if rows and rows[0][0] >= 10:
                break
        p.terminate()
    assert energy.exists() and rows, "nothing was recorded"
    used = find(json.loads(assay("report", "--format", "json", path).stdout), "machine_energy")
    assert 0 < used["cpu_j"] <= given * 5 * 1.01 and used["node_j"] == pytest.approx(300 * used["node_known_s"], rel=0.01)
    assert re.search(r"^  energy    processors .*J \(mean .* W\), whole machine .*J \(mean 300 W\)$", assay("report", "--all", path).stdout, re.M)
    assert re.search(r"processors .*J \(mean .* W\),\s+whole\s+machine .*J \(mean 300 W\)", assay("report", path).stdout)


def test_series_of_serve(program, sockets, tmp_path):
    """Counters from when it began to watch; without counters there are no series."""
    (tmp_path / "scenario").write_text(RECORDED)
    env = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    with Server(program, tmp_path, "--root", sockets.root, "--state", "none", env=env) as s:
        text = s.wait(lambda: (t := s.metrics()) and "assay_node_power_watts" in t and t)
        assert total(text, "assay_node_energy_joules_total", part="cpu") == 0
        assert 'part="node"' not in text
        sockets.zone("intel-rapl:1", "package-1", 12_000_000)
        text = s.wait(lambda: (t := s.metrics()) and total(t, "assay_node_energy_joules_total", part="cpu") and t)
        assert total(text, "assay_node_energy_joules_total", part="cpu") == pytest.approx(10, abs=0.01)
        host = json.loads(s.ask("/api/v1/now")[2])["host"]["system"]
        assert host["figures"]["cpu_energy"] == 13.25 and host["missing"]["node_power"] == "unsupported"


def test_no_series_without_counters(program, machine, tmp_path):
    (tmp_path / "scenario").write_text(RECORDED)
    env = {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY)}
    with Server(program, tmp_path, "--root", machine.root, "--state", "none", env=env) as s:
        s.wait(lambda: json.loads(s.ask("/api/v1/now")[2])["host"])
        assert "assay_node_" not in s.metrics()
