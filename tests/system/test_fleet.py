"""GPUs of several vendors in one machine: NVIDIA's from a fake NVML, the others from a tree, at the same time."""
import csv
import io
import json
import os
import pathlib
import subprocess
import time

import pytest

from conftest import FIXTURES, clean_env
from drm_tree import Tree, fdinfo

SECOND = """[gpu copy 0]
nvmlDeviceGetUUID = 0 GPU-00000000-0000-0000-0000-000000000001
nvmlDeviceGetPciInfo_v3 = 0 00000000:07:00.0
"""
MODELS = ["NVIDIA H200", "NVIDIA H200", "Intel Iris Xe Graphics", "AMD Radeon RX 7900 XTX", "AMD Instinct MI300X OAM"]


@pytest.fixture
def tree(tmp_path):
    tree = Tree(tmp_path / "root").add("names").add("tigerlake").add("rx7900")
    return tree.add("mi300x", root="10", bus="15", card=3, render=131, busy=50, used=1 << 30, mode="SPX", ppt=100,
                    xgmi="1000,2000", partitions=1, xcp="50")


@pytest.fixture
def nvml(program, tmp_path):
    """The environment in which NVML answers; more is added to the scenario."""

    def make(more=""):
        path = tmp_path / "nvml.scn"
        path.write_text((FIXTURES / "nvml/h200-bf16.scn").read_text() + SECOND + more)
        return {"FAKE_NVML": str(path),
                "ASSAY_NVML_LIB": str(pathlib.Path(program).parent / "tests/libnvidia-ml-fake.so")}

    return make


@pytest.fixture
def once(assay, tree, nvml):
    """The GPUs of one frame."""

    def run(*args, env=None, more=""):
        done = assay("once", "--root", tree.root, "--json", *args, env={**nvml(more), **(env or {})})
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr
        return json.loads(done.stdout)["gpus"]

    return run


def by_gpu(rows):
    return {r["gpu"]: r for r in rows}


def stream(program, env, tree, tmp_path, ticks, *args):
    """Ticks, each {gpu: row}."""
    command = [program, "export", "--root", str(tree.root), "--format", "jsonl", "--count", str(ticks), *args]
    done = subprocess.run(command, env={**clean_env(tmp_path), **env}, timeout=30,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    for row in map(json.loads, done.stdout.splitlines()):
        found.setdefault(row["time"], {})[row["gpu"]] = row
    return list(found.values()), done.stderr


def test_one_fleet(once):
    """Numbers continue in one order; every value comes from its own source."""
    rows = once()
    assert [r["gpu"] for r in rows] == list("01234")
    assert [r["identity"]["model"] for r in rows] == MODELS
    assert len({r["identity"]["hostname"] for r in rows}) == 1
    assert [r["metrics"]["gpu_util"] for r in rows] == [0.99, 0.99, 0, 0.87, 0.5]
    assert rows[0]["metrics"]["power"] == pytest.approx(692, abs=1) and rows[3]["metrics"]["power"] == 287
    # Counters that a vendor lacks are missing, so the class is unknown; health is not.
    assert rows[0]["verdict"]["class"] == "tensor-heavy compute" and rows[0]["health"]["state"] == "OK"
    assert rows[3]["verdict"]["class"] == "unknown" and rows[3]["health"]["state"] == "WARN"
    assert rows[4]["metrics"]["sm_active"] is None and rows[4]["metrics"]["energy"] == 1000


def test_provenance_names_both(assay, tree, nvml):
    text = assay("once", "--root", tree.root, env=nvml()).stdout
    assert "nvml+gpm, drm" in text.splitlines()[0] and "5 GPUs" in text.splitlines()[0]


def test_devices(assay, tree, nvml):
    done = assay("devices", "--root", tree.root, env=nvml())
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == list("01234")
    assert all(model in line for model, line in zip(MODELS, lines[1:6]))
    assert "GPU 2, 3, 4 lack SM and tensor counters" in done.stdout
    found = json.loads(assay("devices", "--root", tree.root, "--json", env=nvml()).stdout)
    assert found["source"] == "nvml+gpm, drm" and len(found["devices"]) == 5


def test_csv(program, tree, nvml, tmp_path):
    command = [program, "export", "gpu_id,model,power_w", "--root", str(tree.root), "--count", "3", "--poll", "0.2"]
    done = subprocess.run(command, env={**clean_env(tmp_path), **nvml()}, capture_output=True, text=True, timeout=20,
                          check=False)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [r["gpu_id"] for r in rows] == list("01234") * 3, done.stderr
    assert {r["model"] for r in rows} == {"H200", "Iris", "RX7900", "MI300X"}


def test_only_nvidia_opens_nothing_else(assay, nvml, tmp_path):
    """A tree whose only render node is NVIDIA's, and one whose only other is a display: as before."""
    tree = Tree(tmp_path / "other")
    for bus, driver, node in (("0000:81:00.0", "nvidia", "card5 renderD133"), ("0000:c1:00.0", "ast", "card6")):
        folder = tree.root / "sys/devices/pci0000:80" / bus
        folder.mkdir(parents=True)
        tree.put(folder, "driver", driver)
        tree.put(folder, "nodes", node)
    done = assay("once", "--root", tree.root, "--json", env=nvml())
    found = json.loads(done.stdout)
    assert found["source"] == "nvml+gpm" and len(found["gpus"]) == 2


def test_only_others(assay, tree):
    done = assay("once", "--root", tree.root, "--nvml-lib", "/nonexistent", "--json")
    found = json.loads(done.stdout)
    assert found["source"] == "drm" and [r["gpu"] for r in found["gpus"]] == list("012")


def test_backend_chooses_one(once):
    assert len(once("--backend", "nvml")) == 2 and len(once("--backend", "drm")) == 3


def test_same_card_once(once, tree):
    """A card that NVML shows and that the kernel shows too, under another driver, is one GPU."""
    folder = tree.root / "sys/devices/pci0000:06/0000:07:00.0"
    folder.mkdir(parents=True)
    files = {"driver": "nouveau", "nodes": "card7 renderD135", "vendor": "0x10de", "device": "0x1234"}
    for key, value in files.items():
        tree.put(folder, key, value)
    rows = once()
    assert [r["identity"]["pci"] for r in rows].count("0000:07:00.0") == 1 and len(rows) == 5


@pytest.mark.parametrize("env, shown", [
    ({}, "01234"),
    ({"CUDA_VISIBLE_DEVICES": "1"}, "1234"),
    ({"CUDA_VISIBLE_DEVICES": "none"}, "234"),
    ({"ROCR_VISIBLE_DEVICES": "1"}, "0124"),
    ({"HIP_VISIBLE_DEVICES": "0"}, "0123"),
    ({"ROCR_VISIBLE_DEVICES": "GPU-a1b2c3d4e5f60703"}, "0124"),
    ({"ZE_AFFINITY_MASK": "0.0"}, "01234"),
    ({"ZE_AFFINITY_MASK": "1"}, "0134"),
    ({"CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0", "ZE_AFFINITY_MASK": "0"}, "023"),
    ({"SLURM_STEP_GPUS": "0,4"}, "04"),
])
def test_visibility(once, env, shown):
    assert "".join(r["gpu"] for r in once(env=env)) == shown


def test_gpus_wins(once):
    assert [r["gpu"] for r in once("--gpus", "1,3-4", env={"CUDA_VISIBLE_DEVICES": "0"})] == ["1", "3", "4"]
    assert len(once("--show-all", env={"CUDA_VISIBLE_DEVICES": "0"})) == 5


def test_hung_nvidia_driver(program, tree, nvml, tmp_path):
    """Every call of NVIDIA's driver hangs after a second: its GPUs grow old, the others do not."""
    ticks, _ = stream(program, nvml("@1 * = hang\n").copy(), tree, tmp_path, 15, "--poll", "0.2")
    last = ticks[-1]
    assert set(last) == set("01234")
    assert last["1"]["age"]["power"] > 0.5 and last["0"]["metrics"]["power"] is not None
    assert "power" not in last["3"].get("age", {})


def test_hung_amd_driver(program, tree, nvml, tmp_path):
    """A sensor that never answers, as of a GPU in reset: NVIDIA's GPUs go on at their pace, and closing is quick."""
    sensor = tree.file("0000:03:00.0", "gpu_metrics")
    command = [program, "export", "--root", str(tree.root), "--format", "jsonl", "--poll", "0.2"]
    with subprocess.Popen(command, env={**clean_env(tmp_path), **nvml()}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        for _ in range(10):
            child.stdout.readline()
        sensor.unlink()
        os.mkfifo(sensor)  # opening it waits for a writer, who never comes
        end = time.monotonic() + 2.5
        rows = []
        while time.monotonic() < end:
            rows.append(json.loads(child.stdout.readline()))
        start = time.monotonic()
        child.send_signal(2)
        _, said = child.communicate(timeout=5)
        assert time.monotonic() - start < 1
    assert {r["gpu"] for r in rows[-5:]} == set("01234")
    last = by_gpu(rows[-5:])
    assert last["3"]["age"]["power"] > 1 and last["2"]["age"]["sm_clock"] > 1
    assert len([r for r in rows if r["gpu"] == "0"]) >= 8
    assert "age" not in last["0"] or last["0"]["age"].get("power", 0) < 1
    assert "drm: no answer" in said


def test_processes(program, tree, nvml, tmp_path):
    """Who uses which GPU, by the fleet's numbers: the recorded NVIDIA process, and one of AMD's."""
    tree.process(100, {3: ("/dev/dri/renderD131", fdinfo("amdgpu", 1, "0000:15:00.0", memory_vram="2048 KiB",
                                                        engine_gfx="0 ns"))})
    ticks, _ = stream(program, nvml(), tree, tmp_path, 2, "--poll", "0.3")
    assert ticks[-1]["4"]["metrics"]["processes"] == 1 and ticks[-1]["3"]["metrics"]["processes"] == 0


def test_doctor(assay, tree):
    """A list that names a GPU of its vendor that is not here."""

    def visible(**env):
        found = json.loads(assay("doctor", "--root", tree.root, "--json", env=env).stdout)
        return next(c for c in found["checks"] if c["check"] == "visible")

    assert visible(ROCR_VISIBLE_DEVICES="1", ZE_AFFINITY_MASK="0.1")["outcome"] == "ok"
    assert "names a GPU that is not here: '2'" in visible(ROCR_VISIBLE_DEVICES="2")["says"]
    assert "ZE_AFFINITY_MASK" in visible(ZE_AFFINITY_MASK="4")["says"]
    assert visible(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="0")["outcome"] == "ok"
    assert "hides all" in visible(HIP_VISIBLE_DEVICES="-1")["says"]
