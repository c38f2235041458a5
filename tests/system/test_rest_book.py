"""What a GPU draws at rest is learned once and kept by its UUID, whoever wrote the file and whatever is in it."""
import json
import os

import pytest

from test_nvml import RECORDED, nvml  # noqa: F401  (the fixture)

UUID = "GPU-82e5c952-b504-9803-37da-f5b10c0cce6c"
# At rest at full clocks for two seconds, then the recorded load.
RESTS = """nvmlDeviceGetUtilizationRates = 0 0 0
nvmlDeviceGetPowerUsage = 0 126000
nvmlDeviceGetClockInfo/1 = 0 1980
nvmlDeviceGetPcieThroughput/0 = 0 0
nvmlDeviceGetPcieThroughput/1 = 0 0
"""
RUN = ("export", "--format", "jsonl", "--no-profiling", "--poll", "0.1")


def last(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout.splitlines()[-1])


def at_rest(row):
    return row["limit"]["power_at_rest"]


def kept(tmp_path):
    return tmp_path / ".local" / "state" / "assay" / "power-at-rest"


def test_what_a_run_learns_is_kept_for_the_next(nvml, tmp_path):  # noqa: F811
    first = last(nvml(*RUN, "--count", "15", add=RESTS))
    assert at_rest(first)["from"] == "run" and first["metrics"]["power_at_rest"] == pytest.approx(126)
    assert kept(tmp_path).read_text() == f"{UUID} 126000\n"
    assert kept(tmp_path).stat().st_mode & 0o777 == 0o600 and kept(tmp_path).parent.stat().st_mode & 0o777 == 0o700
    second = last(nvml(*RUN, "--count", "3"))
    assert at_rest(second)["from"] == "kept"
    assert at_rest(second)["lo"] < 126 / 700 < at_rest(second)["hi"]
    # The load alone, of a GPU that nothing was kept of.
    other = last(nvml(*RUN, "--count", "3", base=RECORDED.replace(UUID, "GPU-other")))
    assert at_rest(other)["from"] == "model"
    assert os.listdir(kept(tmp_path).parent) == ["power-at-rest"]


def test_a_recording_takes_it_along(nvml, assay, tmp_path):  # noqa: F811
    kept(tmp_path).parent.mkdir(parents=True)
    kept(tmp_path).write_text(f"{UUID} 126000\n")
    kept(tmp_path).chmod(0o600)
    path = tmp_path / "run.assay"
    done = nvml("record", "-o", path, "--interval", "0.1", "--duration", "3", "--no-profiling")
    assert done.returncode == 0, done.stderr
    kept(tmp_path).unlink()
    found = json.loads(assay("report", path, "--format", "json").stdout)["findings"]
    assert found[0]["power_at_rest"]["from"] == "kept"


def test_a_recorder_learns_too(nvml, tmp_path):  # noqa: F811
    done = nvml("record", "-o", tmp_path / "run.assay", "--interval", "0.1", "--duration", "2", "--no-profiling", add=RESTS)
    assert done.returncode == 0, done.stderr
    assert kept(tmp_path).read_text() == f"{UUID} 126000\n"


BAD = {
    "nothing": b"", "not text": bytes(range(256)) * 40, "another GPU's": b"GPU-x 100000\n", "no power": f"{UUID} 0\n".encode(), "too much": f"{UUID} 9e9\n".encode(),
    "no number": f"{UUID} nan\n".encode(), "more than the limit": f"{UUID} 900000\n".encode(), "cut off": f"{UUID} 126000".encode(), "a long line": b"x" * 100000,
    "a million lines": b"GPU-y 5000\n" * 1_000_000,
}


@pytest.mark.parametrize("what", BAD)
def test_what_makes_no_sense_is_nobodys(nvml, tmp_path, what):  # noqa: F811
    kept(tmp_path).parent.mkdir(parents=True)
    kept(tmp_path).write_bytes(BAD[what])
    kept(tmp_path).chmod(0o600)
    assert at_rest(last(nvml(*RUN, "--count", "2")))["from"] == "model"


def make_link(path, good):
    good.rename(path.parent / "elsewhere")
    path.symlink_to("/dev/zero")


def make_pipe(path, good):
    good.unlink()
    os.mkfifo(path)


WAYS = {"others may write it": lambda path, good: path.chmod(0o666), "a device": make_link, "a pipe": make_pipe, "a folder": lambda path, good: (good.unlink(), path.mkdir())}
if os.geteuid() == 0:
    WAYS["another user's"] = lambda path, good: os.chown(path, 65534, 65534)


@pytest.mark.parametrize("way", WAYS)
def test_whom_it_is_not_taken_from(nvml, tmp_path, way):  # noqa: F811
    path = kept(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(f"{UUID} 126000\n")
    path.chmod(0o600)
    WAYS[way](path, path)
    assert at_rest(last(nvml(*RUN, "--count", "2")))["from"] == "model"


def test_no_place_to_write_is_no_trouble(nvml, tmp_path):  # noqa: F811
    kept(tmp_path).parent.parent.mkdir(parents=True)
    kept(tmp_path).parent.write_text("a file, where the folder would be")
    assert at_rest(last(nvml(*RUN, "--count", "15", add=RESTS)))["from"] == "run"
    assert kept(tmp_path).parent.read_text() == "a file, where the folder would be"


def test_other_gpus_stay_and_the_oldest_goes(nvml, tmp_path):  # noqa: F811
    kept(tmp_path).parent.mkdir(parents=True)
    kept(tmp_path).write_text("".join(f"GPU-{i} {50000 + i}\n" for i in range(256)))
    kept(tmp_path).chmod(0o600)
    last(nvml(*RUN, "--count", "15", add=RESTS))
    lines = kept(tmp_path).read_text().splitlines()
    assert len(lines) == 256 and lines[0] == "GPU-1 50001" and lines[-1] == f"{UUID} 126000"
