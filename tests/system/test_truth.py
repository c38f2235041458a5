"""Real programs: the first finding against what an expert says."""
import csv
import json
import re
import shutil
import sqlite3
import sys

import pytest

from conftest import ROOT

TRUTH = ROOT / "tests" / "truth"
LABELS = list(csv.DictReader((TRUTH / "labels.csv").open()))
LEAST = 22 / 24


@pytest.fixture(scope="module")
def told(program):
    import subprocess

    def report(name):
        path = TRUTH / f"{name}.assay"
        return json.loads(subprocess.run([program, "report", str(path), "--format", "json"], capture_output=True, text=True, check=True).stdout)

    return {row["recording"]: report(row["recording"]) for row in LABELS}


def is_right(row, finding):
    held = {"": finding["held_by"], "-": None}.get(row["held_by"], row["held_by"])
    return finding["limiter"] in row["accepted"].split() and finding["held_by"] == held


def test_score(told, capsys):
    right, misleading, lines = 0, [], []
    for row in LABELS:
        finding = told[row["recording"]]["findings"][0]
        good = is_right(row, finding)
        right += good
        if finding["limiter"] in row["misleading"].split():
            misleading.append(row["recording"])
        lines.append(f"{'right' if good else 'WRONG'} {row['recording']}: {finding['limiter']}, {finding['held_by']} "
                     f"(accepted: {row['accepted']}, {row['held_by'] or 'any'})")
    with capsys.disabled():
        print("\n" + "\n".join(lines) + f"\ntruth: {right} of {len(LABELS)} right, {len(misleading)} misleading")
    assert not misleading and right >= LEAST * len(LABELS)


def test_labels_are_limiters(program, assay):
    """A label that no limiter has could never be right."""
    names = set()
    for line in (ROOT / "src" / "model" / "limiters.def").read_text().splitlines():
        if line.startswith("LIMITER("):
            names.add(line.split('"')[1])
    for row in LABELS:
        assert set(row["accepted"].split()) | set(row["misleading"].split()) <= names, row["recording"]
        assert (TRUTH / f"{row['recording']}.assay").stat().st_size <= 300_000


@pytest.mark.parametrize("name", [row["recording"] for row in LABELS])
def test_stretches_are_whole(told, name):
    """They follow each other without gaps, none is short, there are few, and findings refer to them."""
    report = told[name]
    assert report["schema"] == 2
    stretches = report["stretches"]
    assert 1 <= len(stretches) <= 13 and stretches[0]["begin_s"] == 0
    for a, b in zip(stretches, stretches[1:]):
        assert a["end_s"] == b["begin_s"]
    for s in stretches:
        assert s["end_s"] - s["begin_s"] >= 1 and s["gpus"] == ["0"] and 0 <= s["duty"] <= 1
        assert s["evidence"]["engine"] == pytest.approx(s["duty"], abs=1e-3)
    for f in report["findings"]:
        assert stretches[f["stretch"]]["limiter"] == f["limiter"] and f["text"] and f["try"]
        assert f["gpu_seconds"] >= 0 and (f["gain"] is None or f["gain"] >= 1)


@pytest.mark.parametrize("path", [ROOT / "docs" / "example" / "tour.assay", *(TRUTH / f"{name}.assay" for name in (
    "loader_workers", "gemm_bf16", "warm_then_starved", "checkpoints", "ckpt_train", "two_procs", "mlp_eager", "cpu_preproc"))], ids=lambda path: path.stem)
def test_the_legend_of_the_page_says_what_the_findings_say(assay, path):
    """The same limiters, with the same shares of the same time."""
    report = json.loads(assay("report", path, "--format", "json").stdout)
    page = assay("report", path, "--format", "html").stdout
    legend = json.loads(re.search(r"id=data>(.*?)</script>", page, re.S)[1])["legend"]
    told = [(f["limiter"], re.search(r"\((\S+ %) of the run", f["text"])[1],
             report["stretches"][f["stretch"]]["before_work"] and f["limiter"] != "host.starting", f["held_by"] or "") for f in report["findings"]]
    held = {"the power limit": "power", "heat": "thermal", "a locked clock": "clock.locked"}
    said = [(name, share, "before its work began" in words, next((v for k, v in held.items() if f"held by {k}" in words), "")) for name, _, share, words in legend]
    assert sorted(told) == sorted(said)
    for name, brief, _, words in legend:
        assert ("before work" in brief) == ("before its work began" in words), name


def test_the_same_twice(assay):
    path = TRUTH / f"{LABELS[0]['recording']}.assay"
    assert assay("report", path, "--format", "json").stdout == assay("report", path, "--format", "json").stdout


def test_flops_of_a_type_that_is_named(assay):
    """SMs × FLOP a clock × clock × activity; nothing is told unasked."""
    path = TRUTH / "gemm_bf16.assay"
    told = json.loads(assay("report", path, "--format", "json", "--flops", "bf16").stdout)
    steady = told["stretches"][told["findings"][0]["stretch"]]
    clock, tensor, flops = steady["evidence"]["clock"] * 1980e6, steady["evidence"]["tensor"], steady["flops"]
    assert flops["type"] == "bf16" and flops["hi"] == pytest.approx(0.98 * tensor * 132 * 4096 * clock, rel=0.01)
    assert 1 < flops["hi"] / flops["lo"] < 1.12 and "TFLOP/s bf16" in told["findings"][0]["text"]
    assert all(s["flops"] is None for s in json.loads(assay("report", path, "--format", "json").stdout)["stretches"])
    assert assay("report", path, "--flops", "bf17").returncode == 2


@pytest.mark.parametrize("clocks", ["free", "locked"])
def test_flops_are_what_programs_counted(assay, clocks):
    """Products of each type that counted their own FLOP/s, at 10 Hz: inside the interval, which is at most 12 % wide."""
    counted = json.loads((TRUTH / "flops" / f"{clocks}.json").read_text())
    report = json.loads(assay("report", TRUTH / "flops" / f"{clocks}.assay", "--format", "json").stdout)
    told = {p["name"]: p["gpus"][0]["flops"] for p in report["phases"]}
    assert set(told) == set(counted) and told.pop("int8") is None
    why = {p["name"]: p["gpus"][0].get("flops_missing") for p in report["phases"]}
    assert "INT8" in why.pop("int8") and not any(why.values())
    inside = [s for s in report["stretches"] if s["phase"] == "int8"]
    assert inside and all(s["flops"] is None and "INT8" in s["flops_missing"] for s in inside)
    for name, flops in told.items():
        assert flops["lo"] <= counted[name] <= flops["hi"] <= 1.12 * flops["lo"], (name, flops, counted[name])


def test_the_text_begins_with_the_findings(assay):
    text = assay("report", TRUTH / "jax_train.assay").stdout
    first, *rest = text.splitlines()
    assert first == "findings" and rest[0].startswith("  1 GPU 0 limited by the tensor cores, held at 1")
    assert "try: " in text and max(map(len, text.split("\n\n")[0].splitlines())) <= 100 and "normal" not in text


def synthetic(program, name, folder):
    """The first finding of made-up numbers, by the command that the page names."""
    import subprocess
    path = folder / f"{name}.assay"
    subprocess.run([sys.executable, TRUTH / "synthetic.py", program, name, path], check=True)
    return json.loads(subprocess.run([program, "report", path, "--format", "json"], check=True, capture_output=True).stdout)["findings"][0]


def test_examples_are_true(told, program, tmp_path):
    """docs/LIMITS.md quotes first findings: word for word what is said of the recordings."""
    text = (ROOT / "docs" / "LIMITS.md").read_text()
    quoted = re.findall(r"^- `([a-z0-9.]+)`, `?(\w+)`?: .+\n  > (.+)$", text, re.M)
    assert len(quoted) >= 16
    for limiter, name, said in quoted:
        finding = told[name]["findings"][0] if name != "synthetic" else synthetic(program, limiter, tmp_path)
        assert (limiter, said) == (finding["limiter"], finding["text"]), name
    limiters = set(re.findall(r'^LIMITER\(\w+, "([a-z0-9.]+)"', (ROOT / "src/model/limiters.def").read_text(), re.M))
    assert limiters - {limiter for limiter, _, _ in quoted} <= {"unknown"}, "each has an example"


def test_decoding_is_a_stretch_of_its_own(assay, tmp_path):
    """Ten seconds in which the host waits, then ten in which it waits for the video decoder."""
    sys.path.insert(0, str(TRUTH))
    from synthetic import SHAPES, capture
    shape = SHAPES["codec"]
    waits, decodes = capture({**shape, "dec_util_pct": 0}).splitlines(), capture(shape).splitlines()
    for order, (first, second) in {"decodes last": (waits, decodes), "decodes first": (decodes, waits)}.items():
        shifted = [f"{float(row.split(',', 1)[0]) + 10:.2f},{row.split(',', 1)[1]}" for row in second[1:]]
        path = tmp_path / "run.csv"
        path.write_text("\n".join([*first, *shifted]) + "\n")
        stretches = json.loads(assay("report", path, "--format", "json").stdout)["stretches"]
        assert [s["limiter"] == "codec" for s in stretches] == [order == "decodes first", order == "decodes last"], (order, stretches)


def test_decoding_before_kernels_is_work(assay, tmp_path):
    """Ten seconds of frames alone, then kernels: not a start-up."""
    sys.path.insert(0, str(TRUTH))
    from synthetic import SHAPES, capture
    decodes = capture({"dec_util_pct": 96, "power_w": 130, "mem_used_mib": 9000}).splitlines()
    computes = capture(SHAPES["compute.fp16"]).splitlines()
    path = tmp_path / "run.csv"
    path.write_text("\n".join([*decodes, *(f"{float(r.split(',', 1)[0]) + 10:.2f},{r.split(',', 1)[1]}" for r in computes[1:])]) + "\n")
    findings = json.loads(assay("report", path, "--format", "json").stdout)["findings"]
    assert {f["limiter"] for f in findings} == {"codec", "compute.fp16"} and not any("before its work" in f["text"] for f in findings), findings


@pytest.mark.parametrize("enc, dec, jpg, unit", [(0, 96, 0, "video decoder 96 %"), (97, 12, 0, "video encoder 97 %"), (0, 0, 95, "JPEG decoder 95 %"),
                                                 ("-", 96, "-", "video decoder 96 %"), (0, 60, 0, None), ("-", "-", "-", None)])
def test_a_log_without_counters_shows_full_video_engines(assay, tmp_path, enc, dec, jpg, unit):
    rows = ["# gpu     sm    mem    enc    dec    jpg    ofa", "# Idx      %      %      %      %      %      %",
            *[f"    0      9      2    {enc}    {dec}    {jpg}      0"] * 30]
    path = tmp_path / "dmon.txt"
    path.write_text("\n".join(rows) + "\n")
    finding = json.loads(assay("report", path, "--format", "json").stdout)["findings"][0]
    assert (finding["limiter"] == "codec") == (unit is not None), finding
    assert unit is None or (unit in finding["text"] and finding["basis"] == "driver"), finding


def test_what_is_missing_is_a_list(assay):
    """Names without what they are shares of; ranges of GPUs are of one kind."""
    text = " ".join(assay("report", ROOT / "tests/fixtures/dcgm/dmon-mig-prof.txt").stdout.split())
    assert "missing: PCIe into the GPU, PCIe out of the GPU," in text and "GPUs 0, GPU-I 7, GPU-CI 7, " in text, text


def test_long_times_are_told_in_minutes(assay, tmp_path):
    """119.7 s are 2 min 0 s, not 1 min 60 s; a number stays with its unit at every width."""
    sys.path.insert(0, str(TRUTH))
    from synthetic import SHAPES, capture
    rows = capture(SHAPES["compute.fp16"]).splitlines()
    path = tmp_path / "long.csv"
    last = rows[1].split(",", 1)[1]
    path.write_text("\n".join([rows[0], *(f"{1767225600 + 0.7 * i:.2f},{last}" for i in range(172))]) + "\n")
    said = assay("report", path, "--format", "json").stdout
    assert "for 2 min 0 s (100 % of the run, from 0.0 s to 2 min 0 s)" in json.loads(said)["findings"][0]["text"]
    for columns in range(60, 100, 3):
        text = assay("report", path, env={"COLUMNS": str(columns)}).stdout.split("\n\n")[0]
        assert not re.search(r"\d\n", text), text


@pytest.mark.parametrize("marks, said, why", [
    ([("event", '{"flops":"bf16"}')], "bf16", "an event says it"),
    ([("begin", '{"flops":"fp8","lr":0.1}')], "fp8", "a phase's keys say it"),
    ([("event", '{"flops":"bf17"}')], None, "no such type"),
    ([("event", '{"flops":16}')], None, "no text"),
    ([("event", '["flops"]')], None, "no object"),
    ([("event", '{"flops":"bf16"}'), ("event", '{"flops":"bf16"}')], "bf16", "twice the same"),
    ([("event", '{"flops":"bf16"}'), ("event", '{"flops":"fp8"}')], None, "two types"),
])
def test_marks_declare_the_type(assay, tmp_path, marks, said, why):
    path = tmp_path / "run.assay"
    shutil.copy(TRUTH / "gemm_bf16.assay", path)
    db = sqlite3.connect(path)
    wall = db.execute("select min(time) from ticks").fetchone()[0]
    for kind, data in marks:
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, data) values (?, 0, 'h', 1, ?, 'x', ?)",
                   (int(wall * 1e9) + 10**9, kind, data))
    db.commit()
    db.close()
    done = assay("report", path, "--format", "json")
    types = {s["flops"]["type"] for s in json.loads(done.stdout)["stretches"] if s["flops"]}
    assert types == ({said} if said else set()), why
    assert ("several types" in done.stderr) == (why == "two types")
    asked = json.loads(assay("report", path, "--format", "json", "--flops", "tf32").stdout)
    assert {s["flops"]["type"] for s in asked["stretches"] if s["flops"]} == {"tf32"}, "what is asked for wins"


def test_phases_declare_their_own(assay, tmp_path):
    """A phase has the type that it or a phase around it names; of two names for one phase none is told."""
    path = tmp_path / "run.assay"
    shutil.copy(TRUTH / "gemm_bf16.assay", path)
    db = sqlite3.connect(path)
    wall = db.execute("select min(time) from ticks").fetchone()[0]
    marks = [(7, "begin", "outer", '{"flops":"bf16"}'), (7.5, "begin", "inner", None), (8.5, "end", "inner", None), (10, "end", "outer", None),
             (10, "begin", "own", '{"flops":"fp8"}'), (11, "end", "own", None), (11, "begin", "both", '{"flops":"bf16"}'), (11.5, "end", "both", None),
             (11.5, "begin", "both", '{"flops":"tf32"}'), (12, "end", "both", None), (12, "begin", "none", None), (13, "end", "none", None)]
    for at, kind, name, data in marks:
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, data) values (?, 0, 'h', 1, ?, ?, ?)",
                   (int((wall + at) * 1e9), kind, name, data))
    db.commit()
    db.close()
    done = assay("report", path, "--format", "json")
    report = json.loads(done.stdout)
    told = {p["name"]: p["gpus"][0]["flops"] for p in report["phases"]}
    assert {name: f and f["type"] for name, f in told.items()} == {
        "outer": "bf16", "inner": "bf16", "own": "fp8", "both": None, "none": None}
    assert told["own"]["hi"] == pytest.approx(2 * told["outer"]["hi"], rel=0.05) and "several types" in done.stderr
    assert all(1 < f["hi"] / f["lo"] <= 1.12 for f in told.values() if f)
    assert report["run"]["gpus"][0]["flops"] is None
    assert {(s["phase"], s["flops"] and s["flops"]["type"]) for s in report["stretches"]} >= {("outer", "bf16"), (None, None)}
    asked = json.loads(assay("report", path, "--format", "json", "--flops", "tf32").stdout)
    assert {p["gpus"][0]["flops"]["type"] for p in [*asked["phases"], asked["run"]]} == {"tf32"}, "what is asked for wins"
