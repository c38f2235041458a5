"""assay diff on files: the same twice, traps, repeats, gates, formats."""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree

import pytest

from conftest import ROOT, clean_env

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import diff_pairs  # noqa: E402  pylint: disable=wrong-import-position

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
    assert diff(assay, path, copy, "--gate", "time=5%,energy=1%,memory=0%")[1] == 0


def test_a_phase_is_the_cause(assay, tmp_path):
    """Nothing tells of GPUs: the phase that took most of the change is named, the inner one of two."""
    def write(name, load, compute):
        at = 1_767_225_600.0
        with open(tmp_path / name, "w") as log:
            for i in range(200):
                noise = 1 + 0.01 * (i * 7 % 5 - 2)
                at += (load + compute) * noise
                ts = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}+00:00"
                for phase, took in (("read", load * 0.9), ("load", load), ("compute", compute), ("step", load + compute)):
                    log.write(json.dumps({"ts": ts, "type": "phase", "name": phase, "seconds": round(took * noise, 6)}) + "\n")
        return tmp_path / name

    base = write("base.jsonl", 0.12, 0.3)
    cause = diff(assay, base, write("load.jsonl", 0.31, 0.3))[0]["cause"]
    assert (cause["kind"], cause["phase"], cause["text"]) == ("phase", "read", "phase 'read' takes 279.0 ms a step instead of 108.0 ms")
    assert diff(assay, base, write("compute.jsonl", 0.12, 0.2))[0]["cause"]["phase"] == "compute"
    got, _ = diff(assay, base, write("all.jsonl", 0.22, 0.33))
    assert (got["verdict"], got["cause"]["phase"]) == ("slower", "read")
    for log in (base, tmp_path / "load.jsonl"):
        log.write_text(log.read_text().replace('"read"', '"\\nfaster: by far"'))
    out = assay("diff", base, tmp_path / "load.jsonl").stdout
    assert "cause phase '?faster: by far' takes" in out and "\nfaster" not in out, "a name makes no line of its own"


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


@pytest.mark.parametrize("log, waits", [("step_s", True), ("step_s", False), ("step_ms", True), ("it/s", True)])
@pytest.mark.parametrize("name", diff_pairs.PAIRS)
def test_a_training_that_logs_each_ten_steps(program, tmp_path, name, log, waits):
    """Phases that come once and twelve numbers: enough for the right verdict, a gate, and no row that says the opposite."""
    got, status = diff_pairs.compare(program, tmp_path, name, 1, log, waits)
    pair = diff_pairs.PAIRS[name]
    assert (got["verdict"], status) == (pair.verdict, pair.status), got["text"]
    assert not diff_pairs.contradictions(got) and got["rows"][0]["name"] == got["main"]
    assert diff_pairs.is_right_cause(pair, got), got["cause"]


@pytest.mark.parametrize("name, words", [("repeat", ("no difference", "inconclusive")), ("sleep of 60 ms", ("slower",)), ("FP32", ("slower",)), ("half batch", ("faster",)),
                                         ("power cap", ("slower", "inconclusive")), ("sleep of 4 ms", ("slower", "inconclusive"))], ids=str)
def test_a_training_that_marks_nothing(program, tmp_path, name, words):
    """A warm-up and a pause after it, which are longer in one run than in another, are no other pace of the work."""
    for seed in range(4):
        rng = random.Random(f"{name}{seed}")
        runs = [diff_pairs.Run(rng, diff_pairs.PAIRS[which], None) for which in ("repeat", name)]
        for run in runs:
            run.marks.clear()
        sides = [diff_pairs.write(program, tmp_path / f"{seed}-{i}.assay", run) for i, run in enumerate(runs)]
        done = subprocess.run([program, "diff", *sides, "--gate", "time=5%", "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
        got = json.loads(done.stdout)
        assert got["verdict"] in words and (done.returncode != 1 or got["verdict"] == "slower"), got["text"]


def test_formats_say_what_a_phase_says(program, assay, tmp_path):
    """The headline of a phase, with how sure it is, in every format; a gate in seconds has no rate to look at."""
    rng = random.Random(7)
    base, new = (diff_pairs.write(program, tmp_path / f"{side}.assay", diff_pairs.Run(rng, diff_pairs.PAIRS[name], None))
                 for side, name in (("base", "repeat"), ("new", "FP32")))
    got, status = diff(assay, base, new, "--gate", "time=5%")
    assert (got["verdict"], got["main"], got["evidence"], got["rows"][0]["method"], status) == ("slower", "train", "phase", "assumption", 1)
    text = assay("diff", base, new).stdout
    assert text.startswith("slower: train ") and "  by    train came once a run: runs are taken to differ by 2 %" in text
    assert assay("diff", base, new, "--format", "markdown").stdout.startswith("### assay diff: slower: train ")
    assert 'failures="1"' in assay("diff", base, new, "--gate", "time=5%", "--format", "junit").stdout
    assert "slower: train" in assay("diff", base, new, "--format", "html").stdout
    base, new = (diff_pairs.write(program, tmp_path / f"{side}-rate.assay", diff_pairs.Run(rng, diff_pairs.PAIRS[name], "it/s"))
                 for side, name in (("base", "repeat"), ("new", "FP32")))
    got, status = diff(assay, base, new, "--gate", "time=1s")
    assert (got["main"], got["gates"][0]["result"], status) == ("it/s", "inconclusive", 3)
    assert "it/s" in (row := got["rows"][0])["name"] and row["change"] < 0 and row["word"] == "slower"
    assert "which has no seconds: write the gate in %" in " ".join(assay("diff", base, new, "--gate", "time=1s").stdout.split())


@pytest.mark.parametrize("base, new, word, cause", [
    ("plain_a", "plain_b", "no difference", ""),
    ("plain_a", "plain_c", "no difference", ""),
    ("plain_b", "plain_c", "no difference", ""),
    ("plain_a", "precise", "slower", "the kernels take longer"),
    ("precise", "plain_a", "faster", "the kernels take less time"),
    ("plain_a", "power", "slower", "the power limit: 420 W instead of 700 W"),
    ("small", "small_graph", "faster", "kernel launches and synchronisation: between kernels pass 1.709 ms a step instead of 28.24 ms"),
    ("small_graph", "small", "slower", "kernel launches and synchronisation: between kernels pass 28.24 ms a step instead of 1.709 ms"),
])
def test_one_training_on_an_h200(assay, base, new, word, cause):
    """300 steps as they were recorded: again, in another precision, under another power limit (that one was ended early);
    a small model as it is and in a CUDA graph."""
    got, _ = diff(assay, TRUTH / "pairs" / f"{base}.assay", TRUTH / "pairs" / f"{new}.assay", "--allow", "exit")
    assert got["verdict"] == word and cause in (got["cause"]["text"] if got["cause"] else ""), got["text"]


@pytest.mark.parametrize("base, new, words", [
    ("plain_a", "plain_b", {"energy a step": "no difference", "sm_active": "no difference", "power": "no difference",
                            "limited by kernel": "no difference"}),
    ("plain_a", "precise", {"energy a step": "higher", "sm_active": "higher", "tensor_active": "higher", "dram_active": "lower"}),
])
def test_six_samples_tell_what_changed(assay, base, new, words):
    """Six seconds of steps at one sample a second: start and end of the work are left out, and what is plain is told."""
    got, _ = diff(assay, TRUTH / "pairs" / f"{base}.assay", TRUTH / "pairs" / f"{new}.assay")
    rows = {row["name"]: row for row in got["rows"]}
    assert {name: rows[name]["word"] for name in words} == words
    step, power, energy = (rows[n]["base"] for n in ("step", "power", "energy a step"))
    assert energy == pytest.approx(step * power, rel=0.05)


@pytest.mark.parametrize("interval", [1e300, -1e300, "nan", 0, None])
def test_an_interval_that_nobody_kept(assay, run, interval):
    """A manifest may say anything: the steps are judged, and samples that would be longer than the run tell nothing of them."""
    base, new = (run(name, source=TRUTH / "pairs" / f"{name}.assay") for name in ("plain_a", "plain_b"))
    with sqlite3.connect(new) as db:
        db.execute("update manifest set value = ? where key = 'interval_s'", (interval,))
    got, status = diff(assay, base, new)
    assert (got["verdict"], status) == ("no difference", 0)


def test_repeats_that_differ_are_no_answer(assay):
    """One of two new runs is another program: the interval is wide, and its end is not told to the last digit."""
    pairs = TRUTH / "pairs"
    out = assay("diff", "--base", pairs / "plain_a.assay", pairs / "plain_b.assay", "--new", pairs / "plain_c.assay", pairs / "precise.assay").stdout
    assert out.startswith("inconclusive: the noise is larger than the difference; step ") and " to > +10000.0 %" in out
    out = assay("diff", "--base", pairs / "plain_a.assay", pairs / "plain_b.assay", "--new", pairs / "precise.assay").stdout
    assert "the kernels take longer: 43.36 ms a step instead of " in out


def test_rows_without_a_word_say_why(assay):
    out = assay("diff", TRUTH / "pairs" / "small.assay", TRUTH / "pairs" / "small_graph.assay").stdout
    ends = {line[2:21].strip(): line[21:].split("  ")[-1] for line in out.splitlines() if line.startswith("  ")}
    assert (ends["run"], ends["sm_active"], ends["energy a step"]) == ("one run a side", "too few samples", "not recorded in NEW")
    assert "inconclusive" not in out


def test_what_forbids_a_verdict_is_named_with_its_way_out(assay):
    """A run that was ended by a signal."""
    out = assay("diff", TRUTH / "pairs" / "plain_a.assay", TRUTH / "pairs" / "power.assay", "--gate", "time=5%").stdout
    assert out.startswith("not comparable: end of NEW: killed by signal 15\n")
    assert "(forbids a verdict; --allow exit lifts that)" in out and "inconclusive; the runs are not comparable; step" in out
    assert [line.split()[0] for line in out.splitlines() if line.endswith("  NEW was cut short")] == ["run", "energy", "peak"]


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


def capture(path, gpus=2, ticks=60, until=None, model="NVIDIA H200", gap=None, counters=True, idle=None):
    """A capture; the last GPU is there until a tick, nobody watches in the gap, and a GPU may be idle."""
    with open(path, "w", encoding="ascii") as out:
        out.write(CSV)
        for t in range(ticks):
            for g in range(gpus):
                if (until is None or g + 1 < gpus or t < until) and not (gap and gap[0] <= t < gap[1]):
                    sm = f"{0 if g == idle else 80 + t % 3}" if counters else ""
                    out.write(f"{1794726548 + t}.0,{g},{model},{0 if g == idle else 90},{sm},500,4000\n")
    return path


@pytest.mark.parametrize("new, what", [
    ({"until": 30}, "GPU lost in NEW"), ({"until": 55}, "GPU lost in NEW"), ({"idle": 1}, "GPUs at work"), ({"gpus": 1}, "GPUs"), ({"gpus": 3}, "GPUs"), ({"gap": (20, 50)}, "coverage of NEW"),
    ({"model": "NVIDIA H100"}, "GPU model")], ids=str)
def test_what_cannot_be_compared(assay, tmp_path, new, what):
    got, status = diff(assay, capture(tmp_path / "a.csv"), capture(tmp_path / "b.csv", **new))
    assert (got["verdict"], got["comparable"], status) == ("inconclusive", False, 3)
    assert [d["what"] for d in got["differences"] if d["forbids"]] == [what]
    got, status = diff(assay, capture(tmp_path / "b.csv", **new), capture(tmp_path / "a.csv"))
    assert (got["comparable"], status) == (False, 3)


def test_the_same_twice_whatever_is_wrong_with_it(assay, run, tmp_path):
    """A recording that was cut off, one in another format, and repeats of which one is far slower."""
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.09, seed=2)
    cut = run("cut", seconds=0.05)
    with sqlite3.connect(cut) as db:
        db.execute("delete from manifest where key in ('stop_ns', 'exit_status', 'command_seconds')")
    assert assay("convert", capture(tmp_path / "a.csv"), tmp_path / "a.assay").returncode == 0
    assert assay("convert", tmp_path / "a.assay", tmp_path / "back.csv").returncode == 0
    for sides in ([cut, cut], ["--base", base, slow, "--new", slow, base], [tmp_path / "a.assay", tmp_path / "back.csv"]):
        got, status = diff(assay, *sides)
        assert (got["verdict"], status) == ("no difference", 0)
    assert diff(assay, base, cut)[1] == 3


def test_steps_that_took_no_time_are_no_win(assay, run):
    base, new = run("base", seconds=0.05), run("new", seconds=0.05, seed=2)
    with sqlite3.connect(new) as db:
        db.execute("update mark set seconds = -seconds * (id % 20 = 0) where id % 10 = 0")
    assert diff(assay, base, new)[0]["verdict"] == "no difference"


def unmarked(assay, tmp_path, name, work, busy=80, start=6, command='["./train"]'):
    """A session without marks: a start-up, so many seconds of work with an end between two samples, a second of nothing."""
    with open(tmp_path / f"{name}.csv", "w", encoding="ascii") as out:
        out.write(CSV)
        for t in range(int(start + work) + 2):
            share = min(max(start + work - t, 0), 1) if t >= start else 0
            out.write(f"{1794726548 + t}.0,0,NVIDIA H200,{100 * share:.0f},{share * (busy + t % 3):.2f},{100 + 400 * share:.0f},4000\n")
    path = tmp_path / f"{name}.assay"
    assert assay("convert", tmp_path / f"{name}.csv", path).returncode == 0
    with sqlite3.connect(path) as db:
        for key, value in (("command", command), ("command_seconds", start + work + 1), ("exit_status", 0), ("interval_s", 1)):
            db.execute("insert or replace into manifest values(?, ?)", (key, value))
    return path


@pytest.mark.parametrize("new, word, status", [
    ({"work": 60.4}, "no difference", 0), ({"work": 66.7}, "slower", 1), ({"work": 54.2}, "faster", 0), ({"work": 66.7, "busy": 72}, "slower", 1),
    ({"work": 60.4, "start": 16}, "no difference", 0), ({"work": 66.7, "command": '["./other"]'}, "inconclusive", 3)], ids=str)
def test_one_command_without_marks(assay, tmp_path, new, word, status):
    """The time after the start-up is judged; the start and the end of the work are no noise. Another command is other work."""
    got, code = diff(assay, unmarked(assay, tmp_path, "a", 60.1), unmarked(assay, tmp_path, "b", **new))
    assert (got["verdict"], code, got["main"]) == (word, status, "time after start-up"), got["text"]


@pytest.mark.parametrize("base, new", [("resnet", "jax_nbody"), ("llm_decode", "elementwise"), ("vit_train", "overlapped"), ("gemm_fp8", "sort")])
def test_programs_that_keep_the_sms_busy_equally_long(assay, base, new):
    """Their SM-seconds are the same by chance; tensor cores and memory did other work."""
    got, status = diff(assay, TRUTH / f"{base}.assay", TRUTH / f"{new}.assay")
    assert (got["verdict"], status) == ("inconclusive", 3), got["text"]


def test_repeats_are_rounded_to_samples(assay, tmp_path):
    """Three start-ups of six seconds at one sample a second, and three of nine: that is not +50.0 to +50.0 %."""
    base = [unmarked(assay, tmp_path, f"a{i}", 60 + i / 10) for i in range(3)]
    new = [unmarked(assay, tmp_path, f"b{i}", 60 + i / 10, start=9) for i in range(3)]
    got, _ = diff(assay, "--base", *base, "--new", *new)
    row = next(r for r in got["rows"] if r["name"] == "start-up")
    assert row["low"] < 0.45 and row["high"] > 0.55


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
    """A folder of ranks is one run; one rank less is another."""
    for side, ranks in (("base", 3), ("new", 3), ("less", 2)):
        (tmp_path / side).mkdir()
        for i in range(ranks):
            path = run(f"r{i}", seconds=0.05, seed=i + 7 * len(side))
            with sqlite3.connect(path) as db:
                db.executemany("insert or replace into manifest values(?, ?)", [("rank", i), ("world_size", 3), ("job_id", "7")])
            shutil.copy(path, tmp_path / side / f"rank{i}.assay")
    got, status = diff(assay, tmp_path / "base", tmp_path / "new")
    assert (got["verdict"], status, got["base"][0]["gpus"]) == ("no difference", 0, 3)
    got, status = diff(assay, tmp_path / "base", tmp_path / "less")
    assert status == 3 and {"ranks", "GPUs"} == {d["what"] for d in got["differences"] if d["forbids"]}


def test_text_fits_a_screen(assay, run):
    base, slow = run("base", seconds=0.05), run("slow", seconds=0.055, seed=2)
    out = assay("diff", base, slow, "--gate", "time=5%").stdout
    assert out.startswith("slower: step ") and "gate  time at most +5 %: beyond" in out
    assert len(out.splitlines()) < 45 and max(map(len, out.splitlines())) <= 80
    for new in ("precise", "power", "small"):
        out = assay("diff", TRUTH / "pairs" / "plain_a.assay", TRUTH / "pairs" / f"{new}.assay").stdout
        assert max(map(len, out.splitlines())) <= 84, "three digits before the point may reach beyond"


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
    data = json.loads(re.search(r"id=data>(.*?)</script>", out["html"], re.S)[1])
    assert [c["id"] for c in data["charts"]] == re.findall(r"data-m=(\w+)", out["html"]) == ["sm_active", "gpu_util", "power", "fb_used"]
    for chart in data["charts"]:
        assert [(k["name"], "dash" in k, set(k["mean"]) > {"_"}) for k in chart["curves"]] == [("base", True, True), ("new", False, True)]
    assert "http:" not in out["html"] and "https:" not in out["html"]
    for text in out.values():
        assert "slower" in text and "\x1b" not in text
    assert "<b>" not in out["html"] + out["markdown"] + out["junit"]


def test_page_has_round_axes_and_stretches(assay):
    page = assay("diff", TRUTH / "train_block.assay", TRUTH / "ckpt_train.assay", "--format", "html").stdout
    data = json.loads(re.search(r"id=data>(.*?)</script>", page, re.S)[1])
    assert {c["id"]: (c["top"], c["unit"]) for c in data["charts"]} == {"sm_active": (100, "%"), "gpu_util": (100, "%"), "power": (800, "W"), "fb_used": (15, "GiB")}
    # The second run's work begins 2.5 s earlier: it is moved so far to the right.
    first = [next(i for i in range(0, len(k["mean"]), 2) if k["mean"][i:i + 2] != "__") // 2 * data["step"] for k in data["charts"][0]["curves"]]
    assert first[0] < 0.5 and 2 < first[1] < 3 and data["seconds"] == pytest.approx(30.2, abs=0.5)
    assert "<td>limited by storage</td><td>--</td><td>3.250 s</td>" in page


def test_junit_without_gates(assay, run):
    base = run("base", seconds=0.05)
    for other, attribute in ((run("same", seconds=0.05, seed=5), None), (run("slow", seconds=0.06), "failures"), (TRUTH / "llm_decode.assay", "errors")):
        suite = xml.etree.ElementTree.fromstring(assay("diff", base, other, "--format", "junit").stdout).find("testsuite")
        assert [a for a in ("failures", "errors") if suite.get(a) == "1"] == ([attribute] if attribute else [])


@pytest.mark.parametrize("name, options, begins", [
    ("x.html", [], "<!doctype html>"), ("x.json", [], "{"), ("x.md", [], "### "), ("x.xml", [], "<?xml"), ("x.txt", [], "slower: "),
    ("x", [], "slower: "), ("x.csv", [], "slower: "), ("x.html", ["--format", "text"], "slower: ")], ids=str)
def test_the_name_tells_the_format(assay, run, tmp_path, name, options, begins):
    assert assay("diff", run("base", seconds=0.05), run("slow", seconds=0.06, seed=2), *options, "-o", tmp_path / name).returncode == 1
    assert (tmp_path / name).read_text().startswith(begins)
    assert name != "x.html" or options or assay("report", RUN, "-o", tmp_path / "r.html").returncode == 0 and (tmp_path / "r.html").read_text().startswith("<!doctype")


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


def test_baselines_touch_files_of_theirs_alone(assay, run, tmp_path):
    """Neither through a link, nor files that only begin with a number."""
    store, mine, recording = tmp_path / "store", tmp_path / "mine", run("new")
    names = ["0001.assay", "2024-taxes.pdf", "20240101.jpg"]
    for folder in (mine, store / "photos"):
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("years of work")
    (store / "evil").symlink_to(mine)
    done = assay("baseline", "add", "evil", recording, "--baselines", store)
    assert done.returncode == 2 and "is a link" in done.stderr
    for words in (["baseline", "rm", "evil"], ["diff", "--baseline", "evil", recording]):
        done = assay(*words, "--baselines", store)
        assert done.returncode == 2 and "no baseline 'evil'" in done.stderr, done
    assert "evil" not in assay("baseline", "list", "--baselines", store).stdout
    assert sorted(p.name for p in mine.iterdir()) == names
    assert assay("baseline", "rm", "photos", "--baselines", store).returncode == 0
    assert sorted(p.name for p in (store / "photos").iterdir()) == names[1:]


@pytest.mark.parametrize("end", ["running", "killed"])
def test_a_baseline_of_a_recording_without_an_end(program, assay, tmp_path, end):
    """It has what the file reads as, with what is in the log and marks that wait, in one plain file."""
    path, kept = tmp_path / "live.assay", tmp_path / "kept"
    with subprocess.Popen([program, "record", "-q", "--speed", "1", "--source", capture(tmp_path / "a.csv"), "-o", path], env=clean_env(tmp_path)) as recorder:
        until = time.monotonic() + 20
        while time.monotonic() < until and not (path.exists() and re.search(r"samples +[1-9]", assay("report", path).stdout)):
            time.sleep(0.2)
        os.kill(recorder.pid, signal.SIGSTOP)
        assert assay("mark", "event", "waiting", env={"ASSAY_SESSION": str(path)}).returncode == 0
        if end == "killed":
            recorder.kill()
            recorder.wait()
        done = assay("baseline", "add", "x", path, "--baselines", kept)
        told = assay("report", path).stdout
        recorder.kill()
    assert (done.returncode, done.stderr) == (0, "")
    assert [p.name for p in (kept / "x").iterdir()] == ["0001.assay"]
    copied = assay("report", kept / "x" / "0001.assay").stdout
    assert copied == told.replace(str(path), str(kept / "x" / "0001.assay")) and "waiting" in copied
    assert [p.name for p in (kept / "x").iterdir()] == ["0001.assay"]


def test_a_recording_without_samples_is_no_baseline(assay, tmp_path):
    """A recorder that was killed at once leaves a file with nothing in it."""
    path = tmp_path / "new.assay"
    assert assay("record", "-q", "--source", capture(tmp_path / "a.csv"), "-o", path).returncode == 0
    with sqlite3.connect(path) as db:
        for table in ("tick", "block", "mark", "host_tick", "host_block"):
            db.execute(f"delete from {table}")
    done = assay("baseline", "add", "x", path, "--baselines", tmp_path / "kept")
    assert done.returncode == 1 and "has no samples to compare with" in done.stderr and not (tmp_path / "kept").exists()


def test_a_baseline_can_be_read(assay, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    done = assay("baseline", "add", "x", tmp_path / "empty.csv", "--baselines", tmp_path / "kept")
    assert done.returncode != 0 and "empty" in done.stderr and not (tmp_path / "kept").exists()
