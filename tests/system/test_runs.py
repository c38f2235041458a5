"""A folder of recordings: the ranks of a job when they say so, else a list of runs; the same from every command."""

import csv
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRUTH = ROOT / "tests" / "truth"
sys.path.insert(0, str(ROOT / "tests" / "ranks"))
import common  # noqa: E402

UNRELATED = ("gemm_bf16", "checkpoints", "generator")
DAY = 86400


@pytest.fixture
def run(program):
    def call(*words, code=0):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60)
        assert done.returncode == code, (done.returncode, done.stderr)
        return done
    return call


@pytest.fixture
def weave(program):
    path = pathlib.Path(program).parent / "tests" / "weave"
    if not path.exists():
        pytest.skip("built without tests")
    return str(path)


@pytest.fixture
def unrelated(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in UNRELATED:
        shutil.copy(TRUTH / f"{name}.assay", folder)
    return folder


def write(weave, path, node="n0", begin=0, seconds=20, gpus=(0,), command=None, **facts):
    """A recording of a busy GPU; facts: rank, world_size, job_id, launcher."""
    base = common.Base("gemm_bf16")
    r = common.Rank(base, None, None, node, start_s=begin)
    r.lines = [line for line in r.lines if not line.startswith(("text launcher", "text job_id"))]
    r.lines += [f"text {k} {v}" if k in ("job_id", "launcher") else f"number {k} {v}" for k, v in facts.items()]
    if command:
        r.lines.append(f"text command {json.dumps(command.split())}")
    for t in range(1, seconds):
        r.tick(begin + t, [(g, base.busy[t % len(base.busy)], {"pid": f"={100 + g}"}) for g in gpus])
    r.write(weave, path, begin + seconds)


def rows(run, folder, *words):
    return json.loads(run("report", folder, "--format", "json", *words).stdout)["runs"]


def kind(run, folder):
    """'job', or how many rows the list has."""
    found = json.loads(run("report", folder, "--format", "json").stdout)
    return "job" if "job_schema_version" in found else len(found["runs"])


# ---- the list ----

def test_unrelated_runs_are_a_list(run, unrelated):
    """They were called three ranks on one node, of which one held the others up."""
    text = run("report", unrelated).stdout
    assert "rank" not in text and "holds the others" not in text
    assert text.startswith(f"3 runs in {str(unrelated)[:100]}: 0.011 GPU-hours, of which 0.0082 wasted (77 %)\n")
    assert re.search(r"^2026-11-16 09:52  python3 programs\.py .* +13\.5 s +1  tensor cores +51\.4  0\.0037 +0\.0020  54\.6", text, re.M)
    assert [r["command"].split()[2] for r in rows(run, unrelated)] == ["generator", "checkpoints", "gemm_bf16"], "the newest first"


def test_each_row_is_what_the_report_of_its_file_says(run, unrelated, tmp_path):
    """The tour waits before its work began, too, which is a finding of its own."""
    for name in ("docs/example/tour.assay", "tests/truth/gather.assay"):
        shutil.copy(ROOT / name, tmp_path)
    tour = next(row for row in rows(run, tmp_path) if row["file"].endswith("tour.assay"))
    assert (tour["limiter"], round(tour["limiter_share"], 3)) == ("host.waiting", 0.157), "as its first finding says: 16 %"
    for row in rows(run, unrelated):
        one = json.loads(run("report", row["file"], "--format", "json").stdout)
        first = one["findings"][0]
        limiter, startup = first["limiter"], one["stretches"][first["stretch"]]["before_work"]
        times = [((t["limiter"], t["before_work"]), (t["end_s"] - t["begin_s"]) * len(t["gpus"])) for t in one["stretches"]]
        gpu = one["run"]["gpus"][0]
        assert (row["command"], row["node"], row["limiter"], row["gpus"]) == (one["command"], one["host"], limiter, 1)
        assert row["limiter_share"] == pytest.approx(sum(t for key, t in times if key == (limiter, startup)) / sum(t for _, t in times), abs=1e-3)
        assert row["seconds"] == one["command_s"] and row["gpu_seconds"] == gpu["seconds"] and row["energy_j"] == gpu["energy_j"]
        assert row["wasted_seconds"] == pytest.approx(gpu["classes_s"].get("idle", 0), abs=1e-6)
        assert row["wasted"] == pytest.approx(row["wasted_seconds"] / row["gpu_seconds"])


def test_the_same_in_every_format(run, unrelated):
    found = rows(run, unrelated)
    table = list(csv.DictReader(io.StringIO(run("report", unrelated, "--format", "csv").stdout)))
    assert [{k: v or None for k, v in r.items()} for r in table] == [{k: None if v is None else str(v) for k, v in r.items()} for r in found]
    marked = [line for line in run("report", unrelated, "--format", "markdown").stdout.splitlines() if line.startswith("|")]
    words = {"compute.tensor": "tensor cores", "host.storage": "storage", "host.code": "CPU code"}
    assert len(marked) == 2 + len(found) and all(f"| {words[r['limiter']]} |" in line for r, line in zip(found, marked[2:]))
    page = run("report", unrelated, "--format", "html").stdout
    assert re.findall(r'<td class="number" data-v=([\d.e-]+)>[\d.]+ s<', page) == [f"{r['seconds']:.6g}" for r in found]
    assert "script-src 'sha256-" in page and "http" not in page.split("</style>")[1]
    refused = run("report", unrelated, "--format", "resource-summary", code=2).stderr
    assert "a list of runs cannot be written as resource-summary" in refused and "choose text, json, csv, markdown or html" in refused


@pytest.mark.parametrize("sort, key", [("when", "start"), ("length", "seconds"), ("gpu-hours", "gpu_seconds"), ("wasted", "wasted_seconds")])
def test_the_largest_first(run, unrelated, sort, key):
    values = [r[key] for r in rows(run, unrelated, "--sort", sort)]
    assert values == sorted(values, reverse=True) and len(set(values)) == 3


def test_by_name(run, unrelated):
    for sort in ("command", "limiter"):
        values = [r[sort] for r in rows(run, unrelated, "--sort", sort)]
        assert values == sorted(values)


def test_a_narrow_screen_has_the_numbers(run, unrelated, monkeypatch):
    """Spare columns go before a command is cut to nothing; what is cut says so, and limiters never are."""
    whole = {r["command"] for r in rows(run, unrelated)}
    for columns in ("80", "90", "100", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = run("report", unrelated).stdout.splitlines()[2:6]
        assert all(len(line) <= int(columns) for line in lines) and "WASTED" in lines[0] and ("RECORDING" in lines[0]) == (columns == "200")
        for line, words in zip(lines[1:], ("CPU code", "storage", "tensor cores")):
            assert re.search(rf"  {words} +\d", line), line
            command = line[18:].split("  ")[0]
            assert command in whole or (command.endswith("…") and len(command) >= 16 and any(c.startswith(command[:-1]) for c in whole)), line


# ---- the other commands ----

def test_once_lists_them_too(run, unrelated):
    assert json.loads(run("once", unrelated, "--json").stdout) == json.loads(run("report", unrelated, "--format", "json").stdout)
    assert run("once", unrelated, "--csv").stdout == run("report", unrelated, "--format", "csv").stdout
    assert run("once", unrelated, "--width", "100").stdout == run("report", unrelated).stdout


def test_plot_draws_them_over_each_other(run, unrelated, tmp_path):
    run("plot", unrelated, "-o", tmp_path / "folder.svg", "--metrics", "power")
    run("plot", *sorted(unrelated.glob("*.assay")), "-o", tmp_path / "files.svg", "--metrics", "power")
    drawn = [re.sub(r"<dc:date>.*?</dc:date>", "", (tmp_path / f"{n}.svg").read_text()) for n in ("folder", "files")]
    assert drawn[0] == drawn[1] and "checkpoints.assay" in drawn[0]


@pytest.mark.parametrize("words", [("export", "--source"), ("convert",)])
def test_who_needs_one_says_so(run, unrelated, tmp_path, words):
    more = [tmp_path / "x.csv"] if words[0] == "convert" else []
    said = run(*words, unrelated, *more, code=2).stderr
    assert "has 3 recordings that are no ranks of one job" in said and f"'assay report {unrelated}' lists them" in said


def test_a_folder_of_repeats_is_compared_as_that(run, tmp_path, program):
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for name in ("plain_a", "plain_b"):
            shutil.copy(TRUTH / "pairs" / f"{name}.assay", tmp_path / side)
    done = subprocess.run([program, "diff", tmp_path / "a", tmp_path / "b", "--format", "json"], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout)
    assert [len(found[side]) for side in ("base", "new")] == [2, 2], done.stdout


def test_a_folder_of_one_is_played(run, tmp_path):
    (tmp_path / "one").mkdir()
    shutil.copy(TRUTH / "gemm_bf16.assay", tmp_path / "one")
    assert kind(run, tmp_path / "one") == 1
    assert [g["gpu"] for g in json.loads(run("once", tmp_path / "one", "--json").stdout)["gpus"]] == ["0"]


# ---- what is a job ----

def test_the_same_command_at_one_time_on_other_gpus_is_a_job(run, weave, tmp_path):
    for node in range(3):
        write(weave, tmp_path / f"{node}.assay", node=f"n{node}", begin=node, command="python3 train.py")
    assert kind(run, tmp_path) == "job"


@pytest.mark.parametrize("second", [
    {"command": "python3 other.py"}, {"begin": 30}, {"node": "n0", "begin": 2}, {"command": None}, {"begin": 15},
], ids=["another command", "later", "the same GPU", "no command", "hardly together"])
def test_what_has_less_in_common_is_none(run, weave, tmp_path, second):
    write(weave, tmp_path / "a.assay", command="python3 train.py")
    write(weave, tmp_path / "b.assay", **{"node": "n1", "command": "python3 train.py", **second})
    assert kind(run, tmp_path) == 2


def test_a_sweep_over_two_gpus_is_no_job(run, weave, tmp_path):
    """Each run overlaps with the next, on the other GPU; the first and the last share one."""
    for i in range(4):
        write(weave, tmp_path / f"{i}.assay", begin=10 * i, gpus=(i % 2,), command="python3 sweep.py")
    assert kind(run, tmp_path) == 4


def test_ranks_without_a_name_for_the_job(run, weave, tmp_path):
    """Rank and world size say so, whatever the clocks of the nodes say."""
    for i in range(3):
        write(weave, tmp_path / f"{i}.assay", node=f"n{i}", begin=i * DAY, rank=i, world_size=3, launcher="pmi")
    assert kind(run, tmp_path) == "job"


def test_a_world_of_one_is_a_run(run, weave, tmp_path):
    for i in range(2):
        write(weave, tmp_path / f"{i}.assay", begin=i * DAY, rank=0, world_size=1, job_id=f"{i}", launcher="slurm")
    assert kind(run, tmp_path) == 2


def test_a_job_that_was_started_again_is_two_runs(run, weave, tmp_path):
    for again in range(2):
        for i in range(2):
            write(weave, tmp_path / f"{again}{i}.assay", node=f"n{i}", begin=again * DAY, rank=i, world_size=2, job_id="9", launcher="slurm")
    found = rows(run, tmp_path)
    assert [(r["job"], r["ranks"], r["gpus"]) for r in found] == [("9", 2, 2)] * 2


def test_jobs_and_single_runs_are_grouped(run, weave, tmp_path):
    for job in ("7", "8"):
        for i in range(2):
            write(weave, tmp_path / f"job{job}-{i}.assay", node=f"n{i}", begin=DAY * int(job), rank=i, world_size=2, job_id=job, launcher="slurm")
    for name in UNRELATED[:2]:
        shutil.copy(TRUTH / f"{name}.assay", tmp_path)
    found = {r["job"] or r["command"].split()[2]: r for r in rows(run, tmp_path)}
    assert {k: (r["ranks"], r["gpus"]) for k, r in found.items()} == {"7": (2, 2), "8": (2, 2), "gemm_bf16": (None, 1), "checkpoints": (None, 1)}
    assert found["7"]["seconds"] == 20 and found["7"]["gpu_seconds"] == pytest.approx(2 * 18)
    # The files of one of them are that job.
    named = json.loads(run("report", *sorted(tmp_path.glob("job7-*.assay")), "--format", "json").stdout)
    assert named["job"] == "7" and len(named["ranks"]) == 2


def test_a_gpu_that_ranks_share_counts_once(run, tmp_path):
    for name in ("core2", "healthy2"):
        shutil.copytree(TRUTH / "ranks" / name, tmp_path, dirs_exist_ok=True, copy_function=lambda a, b, n=name: shutil.copy(a, b.replace("rank-", f"{n}-")))
    found = rows(run, tmp_path)
    assert [(r["ranks"], r["gpus"]) for r in found] == [(2, 1), (2, 1)]
    assert all(r["gpu_seconds"] <= r["seconds"] for r in found)


# ---- what is none ----

def test_what_cannot_be_read_is_skipped(run, unrelated):
    (unrelated / "empty.assay").touch()
    (unrelated / "text.assay").write_text("no session at all, and long enough to be looked at" * 20)
    (unrelated / "cut.assay").write_bytes((TRUTH / "gemm_bf16.assay").read_bytes()[:40000])
    (unrelated / "copy.assay").write_bytes((TRUTH / "gemm_bf16.assay").read_bytes())
    (unrelated / "notes.txt").write_text("x")
    done = run("report", unrelated, "--format", "json")
    assert len(json.loads(done.stdout)["runs"]) == 3
    for name, why in (("empty", ""), ("text", ""), ("cut", ""), ("gemm_bf16", "a copy of another")):
        assert re.search(rf"{name}\.assay': .*{why}.*, skipping", done.stderr), (name, done.stderr)


def test_many_that_are_left_out_are_counted(run, unrelated):
    """A few names and a count a reason, not a line a file."""
    copy, text = (TRUTH / "gemm_bf16.assay").read_bytes(), "no session at all, and long enough to be looked at" * 20
    for i in range(200):
        (unrelated / f"copy-{i}.assay").write_bytes(copy)
        (unrelated / f"text-{i}.assay").write_text(text)
    lines = run("report", unrelated).stderr.splitlines()
    assert len(lines) == 8, lines
    assert sum("a copy of another" in line for line in lines) == 4 and any(re.fullmatch(r"assay: 19[67] more: a copy of another, skipping", line) for line in lines), lines
    assert sum("unknown format" in line for line in lines) == 4 and any(line.startswith("assay: 197 more: unknown format") for line in lines), lines


def test_tries_of_ranks_are_found_in_no_time(run, tmp_path):
    """20,000 names that may be tries of one rank; each with each would take a minute."""
    folder = tmp_path / "many"
    folder.mkdir(mode=0o700)
    for i in range(1, 20001):
        (folder / f"rank-0-{i}.assay").touch()
    began = time.monotonic()
    done = run("report", folder, code=3)
    assert time.monotonic() - began < 5 and "19999 older recordings of ranks that were started again" in done.stderr, done.stderr


def test_names_of_others_do_nothing_to_a_terminal(run, unrelated):
    for i, file in enumerate(sorted(unrelated.glob("*.assay"))):
        common.change_fact(file, command=json.dumps(["\x1b]0;owned\x07", "=cmd|'!A1", "<script>alert(1)</script>", "a|b\nforged 99 %"]), host="\x1b[2J\u202eevil")
    for words in (["report"], ["report", "--format", "csv"], ["report", "--format", "markdown"], ["report", "--format", "html"], ["once", "--source"]):
        done = run(*words, unrelated)
        assert "\x1b" not in done.stdout + done.stderr and "\u202e" not in done.stdout and "\nforged" not in done.stdout
        assert "<script>alert" not in done.stdout or "csv" in words or "--format" not in words
    assert json.loads(run("report", unrelated, "--format", "json").stdout)["runs"]
