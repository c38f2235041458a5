"""AMD's ROCm SMI library: what it adds to sysfs, and that it never disturbs. A fake answers in its place."""
import json
import pathlib
import subprocess
import time

import pytest

from conftest import clean_env
from drm_tree import Tree, mi300x_node

MI250X = "0000:c1:00.0"


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root").add("names").add("mi250x")


@pytest.fixture
def scenario(program, tmp_path):
    """Writes a scenario; gives the environment that makes the program load the fake."""

    def write(*lines):
        path = tmp_path / "rocm.scn"
        path.write_text("\n".join([f"log {tmp_path}/calls", *lines]) + "\n")
        return {"FAKE_ROCM": str(path),
                "ASSAY_ROCM_LIB": str(pathlib.Path(program).parent / "tests" / "librocm-smi-fake.so")}

    return write


@pytest.fixture
def calls(tmp_path):
    """The calls so far."""

    def read():
        path = tmp_path / "calls"
        return path.read_text().split() if path.exists() else []

    return read


@pytest.fixture
def rows(assay, tree):
    """The first GPU in each of some ticks."""

    def run(ticks, env, **kwargs):
        done = assay("export", "--backend", "drm", "--root", tree.root, "--format", "jsonl", "--poll", "0.3", "--count",
                     ticks, env=env, **kwargs)
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr
        return [r for r in map(json.loads, done.stdout.splitlines()) if r["gpu"] == "0"]

    return run


def test_sysfs_alone(rows):
    """Without the library: nothing is said, the values are missing with the reason."""
    row, = rows(1, {})
    assert row["metrics"]["nvlink_tx"] is None and row["missing"]["nvlink_tx"] == "unsupported"
    assert "mig_profile" not in row["identity"] and rows.stderr == ""
    assert row["metrics"]["energy"] == 2000 and row["metrics"]["power"] == 430


def test_traffic_on_links(rows, scenario):
    """Two of six links, 1,000,000 and 500,000 beats of 32 bytes a second: 48 MB/s."""
    last = rows(4, scenario(f"device {MI250X}", "group 10", "link 10 1000000", "link 12 500000"))[-1]
    assert last["metrics"]["nvlink_tx"] == pytest.approx(48e6, rel=0.02)
    # The library does not count what comes in.
    assert last["metrics"]["nvlink_rx"] is None and last["metrics"]["nvlink_total"] is None


def test_vega_has_two_links(rows, scenario):
    last = rows(4, scenario(f"device {MI250X}", "group 0", "link 3 1000000", "link 7 1000000"))[-1]
    assert last["metrics"]["nvlink_tx"] == pytest.approx(64e6, rel=0.02)


def test_counters_that_take_turns(rows, scenario):
    """Counted half of the time: the library's times say so, and the value is scaled up."""
    last = rows(4, scenario(f"device {MI250X}", "group 10", "link 10 1000000", "share 0.5"))[-1]
    assert last["metrics"]["nvlink_tx"] == pytest.approx(32e6, rel=0.02)


def test_partition_modes(rows, scenario):
    last = rows(3, scenario("device 0000:03:00.0", "compute SPX", f"device {MI250X}", "compute CPX", "memory NPS4"))[-1]
    assert last["identity"]["mig_profile"] == "CPX/NPS4"


def test_needs_root(rows, scenario):
    last = rows(3, scenario(f"device {MI250X}", "group 10", "link 10 1", "status 4"))[-1]
    assert last["missing"]["nvlink_tx"] == "denied"


@pytest.mark.parametrize("line", ["init 8", "device 0000:99:00.0", ""])
def test_library_that_cannot_help(rows, scenario, line):
    """It does not start, does not know the GPU, or has none: no trouble."""
    row = rows(2, scenario(line))[-1]
    assert row["metrics"]["power"] == 430 and rows.stderr == ""


def test_not_a_library(rows, tmp_path):
    (tmp_path / "lib.so").write_text("no")
    assert rows(2, {"ASSAY_ROCM_LIB": str(tmp_path / "lib.so")})[-1]["metrics"]["power"] == 430


@pytest.mark.parametrize("lines", [["init hang"], [f"device {MI250X}", "group 10", "link 10 1", "hang"]])
def test_library_that_hangs(program, tree, scenario, tmp_path, lines):
    """Ticks come at their time, and the program ends at once."""
    start = time.monotonic()
    command = [program, "export", "--backend", "drm", "--root", str(tree.root), "--poll", "0.2", "--count", "4"]
    done = subprocess.run(command, env={**clean_env(tmp_path), **scenario(*lines)}, timeout=10, capture_output=True,
                          check=False)
    assert done.returncode == 0 and time.monotonic() - start < 2


def test_ends_in_order(rows, scenario, calls):
    rows(2, scenario(f"device {MI250X}", "group 10", "link 10 1"))
    assert calls()[-2:] == ["counter_destroy", "shut_down"]


def test_not_loaded_when_sysfs_tells_all(assay, tmp_path, scenario, calls):
    """An MI300X under a current driver has counters and modes in sysfs; desktop GPUs have neither links nor modes."""
    tree = mi300x_node(Tree(tmp_path / "other").add("names").add("rx7900"), 1)
    env = scenario("device 0000:15:00.0", "compute CPX", "group 10", "link 10 1")
    done = assay("once", "--backend", "drm", "--root", tree.root, "--json", env=env)
    assert done.returncode == 0 and calls() == []
    assert [r["identity"].get("mig_profile") for r in json.loads(done.stdout)["gpus"]][-1] == "SPX/NPS1"


@pytest.mark.parametrize("who", ["itself", "another"])
def test_never_started_while_one_sleeps(rows, tree, scenario, calls, who):
    """Starting the library looks at every AMD GPU, and may wake one."""
    if who == "another":
        tree.add("rx7900")
    pci = MI250X if who == "itself" else "0000:03:00.0"
    tree.file(pci, "power/runtime_status").write_text("suspended\n")
    rows(2, scenario(f"device {MI250X}", "group 10", "link 10 1"))
    assert calls() == []


def test_not_asked_when_it_may_fall_asleep(rows, tree, scenario, calls):
    tree.file(MI250X, "power/control").write_text("auto\n")
    tree.file(MI250X, "power/autosuspend_delay_ms").write_text("5000\n")
    rows(2, scenario(f"device {MI250X}", "group 10", "link 10 1"))
    assert calls() == []


def test_silent_once_one_sleeps(program, tree, scenario, calls, tmp_path):
    """A GPU that falls asleep while we watch: the library is not asked from then on."""
    tree.add("rx7900")
    env = {**clean_env(tmp_path), **scenario(f"device {MI250X}", "group 10", "link 10 1")}
    command = [program, "export", "--backend", "drm", "--root", str(tree.root), "--poll", "0.2", "--count", "8",
               "--format", "jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:
        for _ in range(6):  # three ticks of two GPUs
            child.stdout.readline()
        tree.file("0000:03:00.0", "power/runtime_status").write_text("suspended\n")
        for _ in range(2):
            child.stdout.readline()
        time.sleep(0.1)
        before = calls().count("counter_read")
        child.stdout.read()
    assert before > 0 and calls().count("counter_read") == before
