"""Captures that went through an editor, a spreadsheet or grep, and nvidia-smi's with dates: the same values."""
import csv
import io
import pathlib
import random
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DCGM = ROOT / "tests/fixtures/dcgm"
SMI = ROOT / "tests/fixtures/nvidia-smi"

# What the dashboard asked dcgmi for: 23 values a row, 25 in later versions.
DASHBOARD = ("SMCLK MMCLK MMTMP TMPTR POWER TOTEC RPCTR GPUTL MCUTL FBFRE FBUSD FBRSV NBWLT GRACT SMACT SMOCC TENSO DRAMA FP64A FP32A "
             "FP16A PCITX PCIRX NVLTX NVLRX").split()
VALUES = ("1515 2619 50 60 689.5 123456789 3 99 25 70000 11000 473 0 0.95 0.91 0.4 0.88 0.3 0.01 0.02 0.03 1000000 2000000 5000000 "
          "6000000").split()


def columns(assay, path, *more):
    done = assay("export", "full", "--source", path, *more)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def unexpand(text):
    return subprocess.run(["unexpand", "-a"], input=text, capture_output=True, text=True, check=True).stdout


def with_tabs(text):
    """One tab between columns, as a spreadsheet writes."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "GPU":
            words[:2] = [" ".join(words[:2])]
        lines.append("\t".join(words))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("change, why", [
    (lambda t: "".join(f"    {x}\n" for x in t.splitlines()), "indented"),
    (lambda t: "".join(f"\t{x}\n" for x in t.splitlines()), "indented by a tab"),
    (unexpand, "blanks were made tabs"),
    (with_tabs, "divided by tabs"),
    (lambda t: t.replace("\n", "\r\n"), "from another system"),
    (lambda t: "\n\n   \n" + t, "after empty lines"),
    (lambda t: "".join(" ".join(x.split()) + "\n" for x in t.splitlines()), "one blank between words"),
])
@pytest.mark.parametrize("name", ["dmon-8gpu.txt", "dmon-prof-2gpu-c3.txt"])
def test_the_same_values(assay, tmp_path, name, change, why):
    (tmp_path / "changed.txt").write_text(change((DCGM / name).read_text()))
    assert columns(assay, tmp_path / "changed.txt") == columns(assay, DCGM / name), why


def test_texts_with_blanks_keep_their_columns(assay, tmp_path):
    """Indented captures are read by the header's offsets too: a model's name has blanks, a field may be empty."""
    text = (DCGM / "dmon-strings.txt").read_text()
    (tmp_path / "in.txt").write_text("".join(f"   {x}\n" for x in text.splitlines()))
    assert columns(assay, tmp_path / "in.txt") == columns(assay, DCGM / "dmon-strings.txt")


def test_a_number_with_a_word_after_it_is_no_number(assay, tmp_path):
    """Nobody says in which unit it is."""
    (tmp_path / "x.txt").write_text("#Entity   POWER      SMACT\nID\nGPU 0     250.5      0.500\nGPU 1     250 kW     0.500\n")
    rows = columns(assay, tmp_path / "x.txt")
    assert [(r["power_w"], r["sm_active_pct"]) for r in rows] == [("250.5000", "50.00"), ("", "50.00")]


@pytest.mark.parametrize("words, why", [("10 0.25 3", "one more"), ("10", "one fewer")])
def test_a_row_with_another_number_of_words(assay, tmp_path, words, why):
    """Nobody knows which value is whose."""
    (tmp_path / "x.txt").write_text(f"#Entity POWER SMACT\nID\nGPU 0 250 0.5\nGPU 1 {words}\n")
    assert [(r["gpu_id"], r["power_w"]) for r in columns(assay, tmp_path / "x.txt")] == [("0", "250.0000")], why


@pytest.mark.parametrize("n", [23, 25])
def test_without_a_header(assay, tmp_path, n):
    """As `grep GPU` leaves a capture of the dashboard's own columns."""
    rows = "".join(f"GPU {g}   " + "   ".join(VALUES[:n]) + "\n" for _ in range(3) for g in (0, 1))
    head = "#Entity   " + "   ".join(DASHBOARD[:n]) + "\nID\n"
    (tmp_path / "bare.txt").write_text(rows)
    (tmp_path / "whole.txt").write_text(head + rows)
    bare = columns(assay, tmp_path / "bare.txt")
    assert bare == columns(assay, tmp_path / "whole.txt") and len(bare) == 6
    assert (bare[0]["sm_active_pct"], bare[0]["power_w"], bare[0]["gpu_util_pct"]) == ("91.00", "689.5000", "99.00")


def test_other_columns_without_a_header(assay, tmp_path):
    """Nobody says what they are."""
    (tmp_path / "x.txt").write_text("GPU 0   1   2   3\n" * 3)
    done = assay("once", "--source", tmp_path / "x.txt")
    assert done.returncode == 3 and "unknown format" in done.stderr


@pytest.mark.parametrize("dates", ["DT", "T", "indented"])
def test_nvidia_smi_dmon_with_times(assay, tmp_path, dates):
    """`nvidia-smi dmon -o DT`: the date and the time stand first."""
    lines = []
    at = {"DT": ("#Date       Time      ", "#YYYYMMDD   HH:MM:SS  ", " 20260102   03:04:{:02}   "),
          "T": ("#Time      ", "#HH:MM:SS  ", " 03:04:{:02}   "), "indented": ("   # ", "   # ", "     ")}[dates]
    rows = 0
    for line in (SMI / "smi-dmon-all.txt").read_text().splitlines():
        if line.startswith("#"):
            lines.append((at[1] if "Idx" in line else at[0]) + line.lstrip("# "))
        else:
            lines.append(at[2].format(rows) + line)
            rows += 1
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    plain, dated = columns(assay, SMI / "smi-dmon-all.txt"), columns(assay, tmp_path / "t.txt")
    if dates == "DT":
        assert [float(r["timestamp"]) for r in dated[:2]] == [1767323040.0, 1767323041.0], "UTC in the tests"
    for row in plain + dated:
        del row["timestamp"]
        row.pop("pcie_replay_rate_s", None)
    assert dated == plain


@pytest.mark.parametrize("env, more, expected, why", [
    ({"CUDA_VISIBLE_DEVICES": "1,3"}, [], ["1", "3"], "as the dashboard did"),
    ({"NVIDIA_VISIBLE_DEVICES": "2"}, [], ["2"], "likewise"),
    ({"ROCR_VISIBLE_DEVICES": "0-1"}, [], ["0", "1"], "another vendor's: a capture does not tell whose GPUs these are"),
    ({"SLURM_STEP_GPUS": "7"}, [], ["7"], "a batch system's"),
    ({"CUDA_VISIBLE_DEVICES": "1"}, ["--show-all"], list("01234567"), "all are asked for"),
    ({"CUDA_VISIBLE_DEVICES": "1"}, ["--gpus", "5"], ["5"], "the option wins"),
])
def test_variables_choose_gpus_of_a_capture(assay, env, more, expected, why):
    done = assay("export", "gpu_id", "--source", DCGM / "dmon-8gpu.txt", *more, env=env)
    got = sorted({r["gpu_id"] for r in csv.DictReader(io.StringIO(done.stdout))})
    assert got == expected, why


def test_variables_leave_other_hosts_and_reports_alone(assay):
    """A capture that names another host is not this machine's; what was recorded is reported whole."""
    prom = ROOT / "tests/fixtures/exposition/dcgm-exporter.prom"
    env = {"CUDA_VISIBLE_DEVICES": "1"}
    assert len(assay("export", "gpu_id", "--source", prom, env=env).stdout.splitlines()) == 3
    assert "GPU 7" in assay("report", DCGM / "dmon-8gpu.txt", "--format", "html", env=env).stdout


# --- blanks that were squeezed -------------------------------------------------------------------

def moments(seed, rows=40):
    """A capture's header and rows of values: columns in a random order, numbers of all widths, N/A among them."""
    draw = random.Random(seed)
    names = draw.sample([n for n in DASHBOARD if n not in ("RPCTR", "TOTEC")], 9)
    value = lambda: draw.choice(["0", "1", "N/A", "0.5", f"{draw.random():.3f}", str(draw.randrange(200)), str(draw.randrange(10**6))])
    return names, [(entity, [value() for _ in names]) for _ in range(rows) for entity in ("GPU 0", "GPU 10")]


def laid_out(names, rows, gap=None):
    """Padded as dcgmi does it, or with so many blanks between any two cells."""
    table = [["#Entity", *names], *[[entity, *cells] for entity, cells in rows]]
    if gap:
        return "".join((" " * gap).join(row) + "\n" for row in table)
    return "".join("".join(f"{cell:<15}" for cell in row) + "\n" for row in table)


@pytest.mark.parametrize("gap", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(4))
def test_squeezed_blanks_lose_no_row(assay, tmp_path, seed, gap):
    names, rows = moments(seed)
    (tmp_path / "padded").write_text(laid_out(names, rows))
    (tmp_path / "squeezed").write_text(laid_out(names, rows, gap))
    padded = columns(assay, tmp_path / "padded")
    assert len(padded) == len(rows)
    assert columns(assay, tmp_path / "squeezed") == padded


def test_squeezed_rows_below_a_padded_header(assay, tmp_path):
    names, rows = moments(5)
    head = laid_out(names, rows).splitlines(keepends=True)[0]
    (tmp_path / "padded").write_text(laid_out(names, rows))
    for gap in (1, 2, 5):
        (tmp_path / "squeezed").write_text(head + "".join(laid_out(names, rows, gap).splitlines(keepends=True)[1:]))
        assert columns(assay, tmp_path / "squeezed") == columns(assay, tmp_path / "padded"), gap


def test_what_squeezing_made_ambiguous_is_told(assay, tmp_path):
    """Which of the columns an empty cell was in can no longer be known."""
    rows = [("GPU 0", ["12", "", "0.5"]), ("GPU 0", ["12", "80", "0.5"])]
    (tmp_path / "squeezed").write_text(laid_out(["GPUTL", "POWER", "SMACT"], rows, 1).replace("12  0.5", "12 0.5"))
    done = assay("export", "full", "--source", tmp_path / "squeezed")
    assert len(done.stdout.splitlines()) == 2
    assert "line 2" in done.stderr, done.stderr
