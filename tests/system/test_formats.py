"""Every capture we have replays; what is blank stays blank; what we write we read back."""
import csv
import io
import json

import pytest

from conftest import FIXTURES

DCGM = FIXTURES / "dcgm"
SMI = FIXTURES / "nvidia-smi"
TOUR = FIXTURES / "tour" / "h200-tour.dmon.txt"


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("name, rows", [
    ("dmon-8gpu.txt", 16), ("dmon-basic-2gpu-c3.txt", 6), ("dmon-he-dies.txt", 3), ("dmon-mig-all.txt", 14),
    ("dmon-prof-2gpu-c3.txt", 6), ("dmon-remap-2gpu-c2.txt", 4), ("dmon-strings.txt", 2),
])
def test_dcgm_captures(assay, name, rows):
    done = assay("export", "full", "--source", DCGM / name)
    assert done.returncode == 0 and done.stderr == ""
    assert len(table(done.stdout)) == rows


def test_texts_hold_blanks(assay):
    row = table(assay("export", "full", "--source", DCGM / "dmon-strings.txt").stdout)[1]
    assert row["model"] == "H100"
    assert row["uuid"] == "GPU-00000001-1111-2222-3333-444444440001"
    assert row["pci"] == "00000000:28:00.0"
    assert row["sm_clock_mhz"] == "1980.0000"


def test_mig_rows_are_entities(assay):
    rows = table(assay("export", "full", "--source", DCGM / "dmon-mig-all.txt").stdout)
    ids = [r["gpu_id"] for r in rows[:7]]
    assert sorted(ids) == sorted(["0", "1", "GPU-I 7", "GPU-I 8", "GPU-CI 7", "GPU-CI 8", "GPU-CI 9"])
    instance = next(r for r in rows if r["gpu_id"] == "GPU-I 7")
    assert instance["mem_used_mib"] == "2045.0000"
    assert instance["gr_engine_active_pct"] == "" and instance["dram_active_pct"] == ""


def test_uncorrectable_rows_are_critical(assay):
    rows = table(assay("export", "all", "--source", DCGM / "dmon-remap-2gpu-c2.txt").stdout)
    assert [r["health"] for r in rows] == ["OK", "CRIT", "OK", "CRIT"]


@pytest.mark.parametrize("name, text", [
    ("shim-watch-rc-29.txt", "no rows"), ("dmon-unreachable.txt", "unable to establish"),
    ("shim-watch-rc-34.stderr.txt", "Error setting watches"), ("discovery-l-2gpu.txt", "unknown format"),
])
def test_files_without_rows(assay, name, text):
    done = assay("export", "--source", DCGM / name)
    assert done.returncode == 3 and done.stdout == ""
    assert text in done.stderr and "a capture of" in done.stderr


def test_nvidia_smi(assay):
    rows = table(assay("export", "full", "--source", SMI / "smi-query.csv").stdout)
    assert len(rows) == 4
    assert rows[0]["timestamp"] == "1794727578.01"
    assert (rows[0]["gpu_util_pct"], rows[0]["mem_used_mib"]) == ("99.00", "1011.0000")
    assert (rows[0]["power_w"], rows[0]["mem_used_pct"]) == ("691.3800", "0.70")
    assert rows[0]["status"] == "unknown" and rows[0]["sm_active_pct"] == ""
    rows = table(assay("export", "full", "--source", SMI / "smi-dmon-mu.txt").stdout)
    assert len(rows) == 5
    assert (rows[0]["memcpy_util_pct"], rows[0]["gpu_util_pct"], rows[0]["power_w"]) == ("25.00", "99.00", "")
    rows = table(assay("export", "full", "--source", SMI / "smi-dmon-all.txt").stdout)
    assert (rows[1]["pcie_rx_bytes_s"], rows[1]["sm_clock_mhz"]) == ("16000000.0000", "1485.0000")
    for name in ("smi-pmon.txt", "smi-apps.csv"):
        rows = table(assay("export", "full", "--source", SMI / name).stdout)
        assert rows[0]["processes"] == "1"


A, B = "GPU-1d3b5c0e-7a52-4a1e-9c35-0f5a0d8b9a11", "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52"
QUERY = (f"timestamp, utilization.gpu [%], uuid\n2026/11/15 07:26:18.010, 10 %, {A}\n2026/11/15 07:26:18.012, 20 %, {B}\n"
         f"2026/11/15 07:26:19.010, 30 %, {A}\n")
INDEXED = "index, timestamp, utilization.gpu, power.draw\n1, 2026/11/15 07:26:18.010, 10, 300.00\n12, 2026/11/15 07:26:18.012, 20, 400.00\n"
DMON = "# gpu    pwr  gtemp     sm\n# Idx      W      C      %\n    0    300     50     10\n    1    400     60     20\n"


@pytest.mark.parametrize("text, rows, why", [
    (QUERY + f"2026/11/15 07:26:19.012, 40 %, {B}\n", [("GPU-1d3b5c0e", "10.00", ""), ("GPU-604ac76c", "20.00", ""), ("GPU-1d3b5c0e", "30.00", ""), ("GPU-604ac76c", "40.00", "")], "whole"),
    (QUERY + "2026/11/15 07:26:19.012, 40 %", [("GPU-1d3b5c0e", "10.00", ""), ("GPU-604ac76c", "20.00", ""), ("GPU-1d3b5c0e", "30.00", "")], "whose row it is was cut off"),
    (QUERY + "2026/11/15 07:26:19.0", [("GPU-1d3b5c0e", "10.00", ""), ("GPU-604ac76c", "20.00", ""), ("GPU-1d3b5c0e", "30.00", "")], "a moment may be half a moment"),
    (INDEXED, [("1", "10.00", "300.0000"), ("12", "20.00", "400.0000")], "whole"),
    (INDEXED + "1, 2026/11/15 07:26:19.010, 30, 500.00\n12, 2026/11/15 07:26:19.012, 40",
     [("1", "10.00", "300.0000"), ("12", "20.00", "400.0000"), ("1", "30.00", "500.0000"), ("12", "", "")], "40 may be the start of 400"),
    (INDEXED + "1", [("1", "10.00", "300.0000"), ("12", "20.00", "400.0000")], "of GPU 1 or 12"),
    (DMON + "    0    310     51     11\n    1    410", [("0", "10.00", "300.0000"), ("1", "20.00", "400.0000"), ("0", "11.00", "310.0000"), ("1", "", "")],
     "410 may be the start of 4100"),
    (DMON + "    0    310     51     11\n    1    410   6", [("0", "10.00", "300.0000"), ("1", "20.00", "400.0000"), ("0", "11.00", "310.0000"), ("1", "", "410.0000")],
     "what is whole counts"),
    (DMON + "    0    310     51     11\n    1", [("0", "10.00", "300.0000"), ("1", "20.00", "400.0000"), ("0", "11.00", "310.0000")], "of GPU 1 or 12"),
], ids=map(str, range(9)))
def test_a_row_that_was_cut_counts_for_nobody_else(assay, tmp_path, text, rows, why):
    """A log that was copied while it grew ends in half a row: what is whole counts, for the GPU that it names."""
    (tmp_path / "log").write_text(text)
    done = assay("export", "gpu_id,gpu_util_pct,power_w", "--source", tmp_path / "log")
    got = [tuple(row.values()) for row in table(done.stdout)]
    assert done.returncode == 0 and got == rows, (why, got, done.stderr)


def test_query_log_with_header_and_units(assay, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("index, timestamp, name, utilization.gpu [%], memory.used [MiB], temperature.memory\n"
                   "0, 2026/11/15 07:26:18.010, NVIDIA H200, 99 %, 1011 MiB, N/A\n"
                   "1, 2026/11/15 07:26:18.012, NVIDIA H200, [N/A], 3 MiB, 40\n"
                   "0, 2026/11/15 07:26:19.010, NVIDIA H200, 12 %, 1011 MiB, 41\n")
    rows = table(assay("export", "all", "--source", log).stdout)
    assert [(r["gpu_id"], r["gpu_util_pct"], r["mem_temp_c"]) for r in rows] == [
        ("0", "99.00", ""), ("1", "", "40.0000"), ("0", "12.00", "41.0000")]
    assert rows[0]["model"] == "H200"


def test_old_dcgm_does_not_pad(assay, tmp_path):
    """DCGM 3.3 writes a missing value without its padding, so that the columns shift."""
    capture = tmp_path / "old.txt"
    capture.write_text("#Entity   SMCLK        POWER             GRACT        \n"
                       "ID                      W                              \n"
                       "GPU 0     345          68.512            N/A\n"
                       "GPU 1     N/A 70.5              0.500        \n")
    rows = table(assay("export", "all", "--source", capture).stdout)
    assert [(r["sm_clock_mhz"], r["power_w"], r["gr_engine_active_pct"]) for r in rows] == [
        ("345.0000", "68.5120", ""), ("", "70.5000", "50.00")]


def test_empty_cells_stay_in_their_column(assay, tmp_path):
    capture = tmp_path / "empty.txt"
    capture.write_text("#Entity         SMCLK        POWER             GRACT        \n"
                       "GPU 0                        68.512            0.250        \n"
                       "CPU Core 71     1            2                 3            \n"
                       "GPU 5 LINK 17   1            2                 3            \n")
    done = assay("export", "all", "--source", capture)
    rows = table(done.stdout)
    assert len(rows) == 1 and done.stderr == ""
    assert (rows[0]["sm_clock_mhz"], rows[0]["power_w"]) == ("", "68.5120")


def test_csv_round_trip(assay, tmp_path):
    """An export replays to the same export."""
    first = assay("export", "full", "--source", TOUR, "--poll", "0.1").stdout
    saved = tmp_path / "saved.csv"
    saved.write_text(first)
    second = assay("export", "full", "--source", saved).stdout
    a, b = table(first), table(second)
    assert len(a) == len(b)
    for x, y in zip(a, b):
        for key in x:
            # The class and the score are computed again from rounded percents; the rest is the same.
            if key not in ("real_util_pct", "status", "provenance"):
                assert x[key] == y[key], key
    assert sum(x["status"] != y["status"] for x, y in zip(a, b)) <= 2


def test_lines_of_our_csv(assay, tmp_path):
    """Slices, two hosts, another table in the same file, and lines that make no sense: each figure stays with the GPU that its line names."""
    log = tmp_path / "log.csv"
    log.write_text("timestamp,gpu_id,hostname,uuid,gpu_util_pct,mem_used_mib\n"
                   "1760000000,0,n1,GPU-a,10,100\n"
                   "1760000000,1/7,n1,MIG-b,,200\n"
                   "1760000000,1/7/2,n1,MIG-c,30,300\n"
                   "1760000000,0,n2,GPU-d,40,400\n"
                   "1760000001,0,n1,GPU-a,50,500\n"
                   "1760000001,1/7,n1,MIG-b,41,9,9\n"
                   "nonsense,0,n1,GPU-a,7,7\n"
                   "1760000001,3/70000,n1,,60,600\n"
                   "\n"
                   "1760000002,4/x,n1,,70,700\n"
                   "timestamp,mem_used_mib,gpu_id\n"
                   "1760000003,800,0\n"
                   "1760000004,900,0\n"
                   "1760000005,10\n"
                   "1760000006,1")
    done = assay("export", "timestamp,gpu_id,hostname,uuid,mem_used_mib", "--source", log)
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["assay: 3 lines could not be understood, the first at line 7; 9 rows read", "assay: the last row was cut off: what it lost is missing"]
    assert [list(r.values()) for r in table(done.stdout) if r["mem_used_mib"]] == [
        ["1760000000.00", "0", "n1", "GPU-a", "100.0000"], ["1760000000.00", "1/7", "n1", "MIG-b", "200.0000"], ["1760000000.00", "1/7/2", "n1", "MIG-c", "300.0000"],
        ["1760000000.00", "0", "n2", "GPU-d", "400.0000"], ["1760000001.00", "0", "n1", "GPU-a", "500.0000"], ["1760000001.00", "3/70000", "n1", "3/70000", "600.0000"],
        ["1760000002.00", "4/x", "n1", "4/x", "700.0000"], ["1760000003.00", "0", "", "", "800.0000"], ["1760000004.00", "0", "", "", "900.0000"]]


def test_json_round_trip(assay, tmp_path):
    first = assay("export", "--format", "jsonl", "--source", DCGM / "dmon-mig-all.txt").stdout
    saved = tmp_path / "saved.jsonl"
    saved.write_text(first)
    second = assay("export", "--format", "jsonl", "--source", saved).stdout
    a, b = ([json.loads(x) for x in t.splitlines()] for t in (first, second))
    for x, y in zip(a, b):
        x.pop("source"), y.pop("source")
        assert x == y
    assert len(a) == 14


def test_json_schema(assay):
    frame = json.loads(assay("once", "--json", "--source", TOUR, "--at", "400").stdout)
    gpu = frame["gpus"][0]
    assert frame["schema"] == 1 and gpu["gpu"] == "0"
    assert gpu["metrics"]["gpu_util"] == 1 and gpu["metrics"]["power"] > 100
    assert gpu["metrics"]["enc_util"] is None
    verdict = gpu["verdict"]
    assert verdict["class"] == "I/O or data-loading" and verdict["rule"] == 5 and verdict["bottleneck"] == "io"
    assert verdict["evidence"]["sm_active"] < 0.01 and verdict["evidence"]["pcie_rx"] > 5e10
    assert verdict["nearest"]["metric"] == "sm_active"


def test_names_do_not_matter(assay, tmp_path):
    odd = tmp_path / "picture.png"
    odd.write_bytes((DCGM / "dmon-8gpu.txt").read_bytes())
    assert assay("once", "--source", odd).returncode == 0
    done = assay("once", "--source", "-", stdin=(DCGM / "dmon-8gpu.txt").read_text())
    assert done.returncode == 0 and "dcgmi dmon capture" in done.stdout
