"""Bad input gets a clear error and loses nothing that could be read."""
import json
import os
import subprocess
import time

import pytest

from conftest import FIXTURES

GOOD = (FIXTURES / "dcgm" / "dmon-basic-2gpu-c3.txt").read_text()
TOUR = FIXTURES / "tour" / "h200-tour.dmon.txt"


def save(tmp_path, data):
    path = tmp_path / "input"
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.write_text(data)
    return path


def rows(text):
    return len(text.splitlines()) - 1


@pytest.mark.parametrize("data, message", [
    ("", "it is empty"),
    ("\n\n", "unknown format"),
    (os.urandom(5000) + b"\0", "it is not text"),
    ("x" * 2000000, "unknown format"),
    ("hello\nworld\n", "unknown format"),
    ("{}\n{}\n", "no rows"),
    ("timestamp,gpu_id\n", "no rows"),
])
def test_nothing_readable(assay, tmp_path, data, message):
    done = assay("export", "--source", save(tmp_path, data))
    assert done.returncode == 3 and done.stdout == ""
    assert message in done.stderr


def test_directory_and_missing_file(assay, tmp_path):
    done = assay("once", "--source", tmp_path)
    assert done.returncode == 3 and "it is a folder" in done.stderr
    done = assay("once", "--source", tmp_path / "nowhere")
    assert done.returncode == 3 and "no such file" in done.stderr


def test_long_line_is_passed_over(assay, tmp_path):
    lines = GOOD.splitlines()
    lines.insert(4, "GPU 0 " + "9" * 1000000)
    done = assay("export", "--source", save(tmp_path, "\n".join(lines) + "\n"))
    assert done.returncode == 0 and rows(done.stdout) == 6
    assert "1 line longer than any source writes" in done.stderr


def test_names_that_would_do_something(assay, tmp_path):
    """An exporter's labels reach neither the terminal nor JSON when they are not text."""
    path = save(tmp_path, b'DCGM_FI_DEV_GPU_UTIL{UUID="GPU-\xff\x1b[2J",modelName="H\x1b[31m1\\n0",Hostname="a\x07\xc3"} 50\n')
    for form in ((), ("--json",), ("--csv",)):
        done = assay("once", "--source", path, *form)
        assert done.returncode == 0 and "\x1b" not in done.stdout and "\x07" not in done.stdout
    who = json.loads(assay("once", "--source", path, "--json").stdout)["gpus"][0]
    assert who["gpu"] == "GPU-??[2J" and who["identity"]["model"] == "H?[31m1?0" and who["identity"]["hostname"] == "a??"


def test_dos_line_ends(assay, tmp_path):
    path = save(tmp_path, GOOD.replace("\n", "\r\n").encode())
    assert assay("export", "all", "--source", path).stdout == assay(
        "export", "all", "--source", save(tmp_path, GOOD)).stdout


def test_noise_between_rows_is_counted(assay, tmp_path):
    lines = GOOD.splitlines()
    lines.insert(3, "segmentation fault (core dumped)")
    lines.insert(6, "GPU x 1 2")
    done = assay("export", "--source", save(tmp_path, "\n".join(lines) + "\n"))
    assert done.returncode == 0 and rows(done.stdout) == 6
    assert "2 lines could not be understood, the first at line 4; 6 rows read" in done.stderr


@pytest.mark.parametrize("cut", range(1, 200, 7))
def test_cut_last_row(assay, tmp_path, cut):
    """A file cut anywhere in its last row: whole cells stay, a half number is never taken for a number."""
    whole = assay("export", "full", "--source", save(tmp_path, GOOD)).stdout.splitlines()
    done = assay("export", "full", "--source", save(tmp_path, GOOD[:-cut]))
    got = done.stdout.splitlines()
    assert done.returncode == 0
    assert got[:-1] == whole[:len(got) - 1]
    if len(got) == len(whole):
        derived = {"mem_used_pct", "mem_total_mib", "pcie_replay_rate_s", "health", "status"}
        for name, a, b in zip(whole[0].split(","), got[-1].split(","), whole[-1].split(",")):
            assert a == b or a == "" or name in derived
    if cut > 1 + len("               "):
        assert "cut off" in done.stderr


def test_two_layouts_in_one_file(assay, tmp_path):
    other = (FIXTURES / "dcgm" / "dmon-prof-2gpu-c3.txt").read_text()
    done = assay("export", "all", "--source", save(tmp_path, GOOD + other))
    assert done.returncode == 0 and done.stderr == "" and rows(done.stdout) == 12


@pytest.mark.parametrize("args, status, message", [
    (["export", "gpu_utl_pct"], 2, "did you mean 'gpu_util_pct'"),
    (["export", "all", "more"], 2, "two sources"),
    (["export", ","], 2, "no columns"),
    (["--weights", "1,2,3"], 2, "fewer than four"),
    (["--weights", "1,2,3,-4"], 2, "negative"),
    (["--weights", "0,0,0,0"], 2, "not above 0"),
    (["--weights", "a,b,c,d"], 2, "not four numbers"),
    (["--gpus", "9"], 2, "there is no GPU '9'"),
    (["--gpus", "bogus!"], 2, "is not a GPU"),
    (["--gpus", "none"], 2, "chooses no GPU"),
    (["--poll", "0"], 2, "is out of range"),
    (["--poll", "-1"], 2, "not a time such as"),
    (["--poll", "fast"], 2, "a time such as"),
    (["--backend", "prometheus", "--poll", "0.5"], 2, "too short for prometheus"),
    (["--backend", "bogus"], 2, "choose one of"),
    (["--bogus"], 2, "unknown option '--bogus'"),
    (["--pool", "1"], 2, "did you mean '--poll'"),
    (["--poll"], 2, "needs a value"),
    (["--missing", "maybe"], 2, "unknown|zero"),
    (["exprt"], 2, "did you mean 'assay export'"),
    (["once", "--focus-gpu", "7"], 2, "no GPU '7'"),
    (["once", "--at", "9999"], 2, "beyond the end"),
    (["--config", "/nowhere/config"], 2, "config file"),
])
def test_wrong_usage(assay, tmp_path, args, status, message):
    done = assay(*args, "--source", save(tmp_path, GOOD)) if args != ["--poll"] else assay("--poll")
    assert message in done.stderr
    assert done.returncode == status and done.stdout == ""


def test_gpu_list_partly_there(assay, tmp_path):
    done = assay("export", "gpu_id", "--gpus", "1,9", "--source", save(tmp_path, GOOD))
    assert done.returncode == 0 and done.stdout.split() == ["gpu_id", "1", "1", "1"]
    assert "there is no GPU '9', ignoring" in done.stderr


def test_pipe_into_head(program):
    done = subprocess.run(["sh", "-c", f"'{program}' export all --source '{TOUR}' | head -2"], timeout=10,
                          capture_output=True, text=True, check=False)
    assert done.stderr == "" and len(done.stdout.splitlines()) == 2


def test_full_disk_is_an_error(assay, program):
    with open("/dev/full", "w") as full:
        done = subprocess.run([program, "export", "all", "--source", str(TOUR)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=10, check=False)
    assert done.returncode == 1 and "No space left" in done.stderr


def test_ctrl_c_ends_a_replay_at_once(program):
    child = subprocess.Popen([program, "export", "--speed", "1", "--source", str(TOUR)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline().startswith("timestamp")
    assert child.stdout.readline().startswith("0.00")
    asked = time.monotonic()
    child.send_signal(2)
    assert child.wait(timeout=5) == 0
    assert time.monotonic() - asked < 0.4
    assert child.stderr.read() == ""


def test_speed_plays_in_real_time(assay):
    began = time.monotonic()
    assay("export", "--speed", "10", "--count", "6", "--source", TOUR)
    assert 0.45 < time.monotonic() - began < 1.5
