"""assay diff on files: the same twice, traps, repeats, gates, formats."""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree

import pytest

from conftest import ROOT

TRUTH = ROOT / "tests" / "truth"
RUN = TRUTH / "train_block.assay"


def diff(assay, *args):
    done = assay("diff", *args, "--format", "json")
    return json.loads(done.stdout), done.returncode


def put_steps(path, seconds, n=200, name="step", noise=0.01, seed=1):
    """Marks so many steps in a session, about so long each."""
    rng = random.Random(seed)
    with sqlite3.connect(path) as db:
        start = int(db.execute("select value from manifest where key = 'start_ns'").fetchone()[0])
        mono = int(db.execute("select value from manifest where key = 'start_mono_ns'").fetchone()[0])
        at = 1_000_000_000
        for _ in range(n):
            took = seconds * (1 + noise * rng.gauss(0, 1))
            at += int(took * 1e9)
            db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values(?,?,?,?,?,?,?)",
                       (start + at, mono + at, "vm", 1, "phase", name, took))


@pytest.fixture
def run(tmp_path):
    """Makes copies of a real recording, with steps when asked for."""

    def make(file, source=RUN, **steps):
        path = tmp_path / f"{file}.assay"
        shutil.copy(source, path)
        os.chmod(path, 0o600)
        if steps:
            put_steps(path, **steps)
        return path

    return make


def write_log(path, seconds, seed, n=200):
    """A run log, as a program under no recorder writes it."""
    rng, at = random.Random(seed), 1_767_225_600.0
    with open(path, "w") as log:
        for _ in range(n):
            took = seconds * rng.gauss(1, 0.02)
            at += took
            ts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}+00:00"
            log.write(json.dumps({"ts": ts, "type": "phase", "name": "step", "seconds": round(took, 3)}) + "\n")
        log.write("not an entry\n")
    return path


def test_run_logs_are_sides(assay, run, tmp_path):
    a, same, slow = (write_log(tmp_path / f"{n}.jsonl", s, k) for n, s, k in (("a", 0.1, 1), ("b", 0.1, 2), ("c", 0.112, 3)))
    assert diff(assay, a, same)[0]["verdict"] == "no difference"
    got, status = diff(assay, a, slow)
    assert (got["verdict"], status) == ("slower", 1) and 0.08 < [r for r in got["rows"] if r["name"] == got["main"]][0]["change"] < 0.15
    mixed, _ = diff(assay, a, run("session", seconds=0.1))
    assert mixed["comparable"], "a log does not tell how many GPUs there were"
    assert "a run log" in assay("diff", a, slow).stdout
    assert assay("report", a).returncode == 0 and assay("convert", a, tmp_path / "x.csv").returncode != 0


@pytest.mark.parametrize("path", sorted(TRUTH.glob("*.assay")), ids=lambda p: p.stem)
def test_same_file_twice(assay, path, tmp_path):
    copy = tmp_path / "copy.assay"
    shutil.copy(path, copy)
    for other in (path, copy):
        got, status = diff(assay, path, other)
        assert (got["verdict"], status) == ("no difference", 0)
        assert all(row["change"] in (0, None) for row in got["rows"])


def test_steps_carry_the_verdict(assay, run):
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.055, seed=2)
    got, status = diff(assay, base, slow)
    assert (got["verdict"], got["main"], status) == ("slower", "step", 1)
    row = next(r for r in got["rows"] if r["name"] == "step")
    assert row["low"] < 0.1 < row["high"] and row["method"] == "steps"
    got, status = diff(assay, slow, base)
    assert (got["verdict"], status) == ("faster", 0)
    got, status = diff(assay, base, run("again", seconds=0.05, seed=3))
    assert (got["verdict"], status) == ("no difference", 0)


@pytest.mark.parametrize("base, new, word, cause", [
    ("plain_a", "plain_b", "no difference", ""),
    ("plain_a", "plain_c", "no difference", ""),
    ("plain_b", "plain_c", "no difference", ""),
    ("plain_a", "precise", "slower", "the kernels take longer"),
    ("precise", "plain_a", "faster", "the kernels take less time"),
    ("plain_a", "power", "slower", "the power limit: 420 W instead of 700 W"),
])
def test_one_training_on_an_h200(assay, base, new, word, cause):
    """300 steps as they were recorded: again, in another precision, under another power limit (that one was ended early)."""
    got, _ = diff(assay, TRUTH / "pairs" / f"{base}.assay", TRUTH / "pairs" / f"{new}.assay", "--allow", "exit")
    assert got["verdict"] == word and cause in (got["cause"]["text"] if got["cause"] else ""), got["text"]


def test_one_run_without_steps_is_inconclusive(assay):
    got, status = diff(assay, RUN, TRUTH / "llm_decode.assay")
    assert (got["verdict"], status) == ("inconclusive", 3) and got["why"]


@pytest.mark.parametrize("gate, status", [("time=5%", 1), ("time=50%", 0), ("memory=2GiB", 0), ("time=50%,memory=1MiB", 0)])
def test_gates(assay, run, gate, status):
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.06, seed=2)
    assert diff(assay, base, slow, "--gate", gate)[1] == status


@pytest.mark.parametrize("args, words", [
    (["--gate", "time"], "is not a limit"), (["--gate", "speed=5%"], "unknown figure"), (["--gate", "time=2GiB"], "is not a limit"),
    (["--gate", "time=5%,time=6%"], "stands twice"), (["--allow", "all"], "unknown difference")])
def test_wrong_usage(assay, args, words):
    done = assay("diff", RUN, RUN, *args)
    assert done.returncode == 2 and words in done.stderr


def test_two_sides_are_needed(assay, tmp_path):
    for args in ([], [RUN], [RUN, RUN, RUN], ["--base", RUN], [RUN, tmp_path / "none.assay"]):
        assert assay("diff", *args).returncode == 2


def test_empty_file_is_no_answer(assay, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    for args in ([RUN, tmp_path / "empty.csv"], [tmp_path / "empty.csv", RUN], [tmp_path / "empty.csv"] * 2):
        done = assay("diff", *args)
        assert done.returncode == 3 and "empty" in done.stderr and not done.stdout


def test_repeats(assay, run):
    """Words after --base and --new belong to them, in any order."""
    base = [run(f"b{i}", seconds=0.05, seed=i) for i in range(3)]
    new = [run(f"n{i}", seconds=0.06, seed=9 + i) for i in range(3)]
    for path, i in zip(base + new, range(6)):
        with sqlite3.connect(path) as db:
            db.execute("update manifest set value = ? where key = 'command_seconds'", (str(24 + i / 100 + (1.5 if i > 2 else 0)),))
    for args in (["--base", *base, "--new", *new], ["--new", *new, "--base", *base]):
        got, status = diff(assay, *args)
        assert (len(got["base"]), len(got["new"])) == (3, 3)
        assert (got["verdict"], status) == ("slower", 1)
        assert next(r for r in got["rows"] if r["name"] == "run")["method"] == "repeats"


CSV = "timestamp,gpu_id,model,gpu_util_pct,sm_active_pct,power_w,mem_used_mib\n"


def capture(path, gpus=2, ticks=60, until=None, model="NVIDIA H200", gap=None, counters=True):
    """A capture; the last GPU is there until a tick, and nobody watches in the gap."""
    with open(path, "w", encoding="ascii") as out:
        out.write(CSV)
        for t in range(ticks):
            for g in range(gpus):
                if (until is None or g + 1 < gpus or t < until) and not (gap and gap[0] <= t < gap[1]):
                    sm = f"{80 + t % 3}" if counters else ""
                    out.write(f"{1794726548 + t}.0,{g},{model},90,{sm},500,4000\n")
    return path


@pytest.mark.parametrize("new, what", [
    ({"until": 30}, "GPU lost in NEW"), ({"gpus": 1}, "GPUs"), ({"gpus": 3}, "GPUs"), ({"gap": (20, 50)}, "coverage of NEW"),
    ({"model": "NVIDIA H100"}, "GPU model")], ids=str)
def test_what_cannot_be_compared(assay, tmp_path, new, what):
    got, status = diff(assay, capture(tmp_path / "a.csv"), capture(tmp_path / "b.csv", **new))
    assert (got["verdict"], got["comparable"], status) == ("inconclusive", False, 3)
    assert [d["what"] for d in got["differences"] if d["forbids"]] == [what]
    got, status = diff(assay, capture(tmp_path / "b.csv", **new), capture(tmp_path / "a.csv"))
    assert (got["comparable"], status) == (False, 3)


def test_missing_counters_are_never_a_win(assay, tmp_path):
    got, status = diff(assay, capture(tmp_path / "a.csv"), capture(tmp_path / "b.csv", counters=False, ticks=40))
    assert (got["verdict"], status) == ("inconclusive", 3)
    assert "counters only in BASE" in [d["what"] for d in got["differences"]]
    row = next(r for r in got["rows"] if r["name"] == "sm_active")
    assert (row["new"], row["word"]) == (None, "inconclusive")


def test_allowed_differences(assay, run):
    base, new = run("base", seconds=0.05), run("new", seconds=0.05, seed=4)
    with sqlite3.connect(new) as db:
        db.execute("update manifest set value = '1' where key = 'exit_status'")
    assert diff(assay, base, new)[1] == 3
    got, status = diff(assay, base, new, "--allow", "exit")
    assert (got["verdict"], status) == ("no difference", 0)


def test_renamed_phase_is_shown(assay, run):
    got, status = diff(assay, run("base", seconds=0.05), run("new", seconds=0.03, name="train_step"))
    assert (got["verdict"], status) == ("inconclusive", 3)
    assert {d["what"]: d["base"] or d["new"] for d in got["differences"]} == {"phases only in BASE": "step", "phases only in NEW": "train_step"}


def test_short_run_is_inconclusive(assay, tmp_path):
    got, status = diff(assay, capture(tmp_path / "a.csv"), capture(tmp_path / "b.csv", ticks=3))
    assert (got["verdict"], status) == ("inconclusive", 3)


def test_killed_recorder(program, assay, tmp_path):
    """kill -9: what is there cannot be judged."""
    path = tmp_path / "killed.assay"
    source = capture(tmp_path / "a.csv")
    done = subprocess.Popen([program, "record", "-q", "--speed", "1", "--source", source, "-o", path],
                            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    until = time.monotonic() + 20
    while time.monotonic() < until and not (path.exists() and path.stat().st_size > 20000):
        time.sleep(0.05)
    time.sleep(1)
    os.kill(done.pid, signal.SIGKILL)
    done.wait()
    got, status = diff(assay, source, path)
    assert (got["comparable"], status) == (False, 3)
    assert "end of NEW" in [d["what"] for d in got["differences"]]


def test_ranks(assay, run, tmp_path):
    """A folder of sessions is one run; one rank less is another."""
    for side, ranks in (("base", 3), ("new", 3), ("less", 2)):
        (tmp_path / side).mkdir()
        for i in range(ranks):
            shutil.copy(run(f"r{i}", seconds=0.05, seed=i + 7 * len(side)), tmp_path / side / f"rank{i}.assay")
    got, status = diff(assay, tmp_path / "base", tmp_path / "new")
    assert (got["verdict"], status, got["base"][0]["gpus"]) == ("no difference", 0, 3)
    got, status = diff(assay, tmp_path / "base", tmp_path / "less")
    assert status == 3 and {"ranks", "GPUs"} == {d["what"] for d in got["differences"] if d["forbids"]}


def test_text_fits_a_screen(assay, run):
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.055, seed=2)
    out = assay("diff", base, slow, "--gate", "time=5%").stdout
    assert out.startswith("slower: step ") and "gate  time at most +5 %: beyond" in out
    assert len(out.splitlines()) < 45


HOSTILE = "<b>|`x`\n&\x1b[31m"


def test_formats(assay, run):
    """Each says the verdict; names of the user's do nothing in any of them."""
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.06, seed=2)
    for path in (base, slow):
        put_steps(path, 0.01, n=30, name=HOSTILE)
    out = {f: assay("diff", base, slow, "--gate", "time=5%,memory=1GiB", "--format", f).stdout for f in ("markdown", "html", "junit", "text")}
    assert out["markdown"].startswith("### assay diff: slower: step") and "| figure | base | new |" in out["markdown"]
    suite = xml.etree.ElementTree.fromstring(out["junit"]).find("testsuite")
    assert suite.attrib == {"name": "assay diff", "tests": "2", "failures": "1", "errors": "0"}
    assert [(c.get("name"), c.find("failure") is not None) for c in suite.findall("testcase")] == [("time", True), ("memory", False)]
    assert out["html"].count("<svg") == 4 and out["html"].count('<path class="new" d="M') == 4 and "http" not in out["html"]
    for text in out.values():
        assert "slower" in text and "\x1b" not in text
    assert "<b>" not in out["html"] + out["markdown"] + out["junit"]


def test_junit_without_gates(assay, run):
    base = run("base", seconds=0.05)
    for other, attribute in ((run("same", seconds=0.05, seed=5), None), (run("slow", seconds=0.06), "failures"), (RUN, "errors")):
        suite = xml.etree.ElementTree.fromstring(assay("diff", base, other, "--format", "junit").stdout).find("testsuite")
        assert [a for a in ("failures", "errors") if suite.get(a) == "1"] == ([attribute] if attribute else [])


def test_output_is_never_an_input(assay, run):
    base, new = run("base", seconds=0.05), run("new", seconds=0.05, seed=2)
    before = new.read_bytes()
    assert assay("diff", base, new, "-o", new, "--force").returncode == 2
    assert new.read_bytes() == before


def test_baselines(assay, run, tmp_path):
    """Kept by name, listed, compared with, removed; the folder is the user's unless one is named."""
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.06, seed=2)
    for place in ([], ["--baselines", tmp_path / "kept"]):
        assert assay("baseline", "list", *place).stdout == ""
        assert assay("baseline", "add", "main-1.0", base, *place).returncode == 0
        assert assay("baseline", "add", "main-1.0", run("again", seconds=0.05, seed=8), *place).returncode == 0
        listed = assay("baseline", "list", *place).stdout
        assert listed.startswith("main-1.0 ") and "2 runs" in listed
        got, status = diff(assay, "--baseline", "main-1.0", slow, *place)
        assert (len(got["base"]), got["verdict"], status) == (2, "slower", 1)
        assert assay("baseline", "rm", "main-1.0", *place).returncode == 0
        assert assay("baseline", "list", *place).stdout == ""
        done = assay("diff", "--baseline", "main-1.0", slow, *place)
        assert done.returncode == 2 and "no baseline 'main-1.0'" in done.stderr


@pytest.mark.parametrize("args", [["add"], ["add", "x"], ["add", "../x", RUN], ["add", ".x", RUN], ["add", "", RUN], ["rm"], ["rm", "../.."], ["rm", "none"], ["list", "x"], []])
def test_wrong_baselines(assay, tmp_path, args):
    done = assay("baseline", *args, "--baselines", tmp_path / "kept")
    assert done.returncode == 2 and done.stderr.startswith("assay: ") and not (tmp_path / "kept").exists()


def test_a_baseline_can_be_read(assay, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    done = assay("baseline", "add", "x", tmp_path / "empty.csv", "--baselines", tmp_path / "kept")
    assert done.returncode != 0 and "empty" in done.stderr and not (tmp_path / "kept").exists()
