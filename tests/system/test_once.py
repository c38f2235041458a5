"""assay once: what one pastes into a ticket."""
import json
import subprocess

from conftest import FIXTURES, ROOT

SESSION = ROOT / "docs/example/tour.assay"
DMON = FIXTURES / "tour" / "h200-tour.dmon.txt"


def test_a_ticket_has_it_all(assay):
    text = assay("once", SESSION, "--at", "13").stdout
    for what in ("host vm", "driver 580.159.04", "2026-11-15 12:01:57 UTC", "H200", "689/700", "61/49", "1455/1980", "power limit",
                 "426 root", "python3 tour.py"):
        assert what in text, what
    assert max(len(line) for line in text.splitlines()) <= 100


def test_of_a_capture_the_first_round_with_counters(assay):
    """DCGM's first round has none; a moment that is asked for is the one that is shown."""
    assert json.loads(assay("once", DMON, "--json").stdout)["gpus"][0]["metrics"]["sm_active"] is not None
    assert json.loads(assay("once", DMON, "--json", "--at", "0").stdout)["gpus"][0]["metrics"]["sm_active"] is None
    assert json.loads(assay("once", DMON, "--json").stdout)["gpus"][0]["verdict"]["class"] != "unknown"


def test_a_capture_that_ends_before_them_shows_its_last(assay, tmp_path):
    lines = DMON.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("GPU "))
    (tmp_path / "one.txt").write_text("\n".join(lines[:first + 1]) + "\n")
    done = assay("once", tmp_path / "one.txt")
    assert done.returncode == 0 and "unknown" in done.stdout


def test_without_clocks_and_processes_nothing_is_said_of_them(assay, tmp_path):
    (tmp_path / "a.csv").write_text("timestamp,gpu_id,gpu_util_pct\n0.00,0,50.00\n")
    text = assay("once", tmp_path / "a.csv").stdout
    assert "Clock" not in text and "process" not in text and "host" not in text


def test_this_host_is_named(program, assay):
    name = subprocess.run(["uname", "-n"], capture_output=True, text=True, check=True).stdout.strip()
    assert name in assay("once").stdout


def test_columns_have_the_words_of_the_glossary(assay):
    head = next(line for line in assay("once", SESSION, "--at", "13", "--width", "200").stdout.splitlines() if "Tensor" in line)
    assert "MemCtl" in head and "Copy" not in head, "it is the memory controller that is busy, by NVML"
