"""Recordings of real programs as they might as well have been: what is said of them first may become unknown, but never misleading."""
import collections
import csv
import json
import subprocess
import sys

import pytest

from conftest import ROOT

TRUTH = ROOT / "tests" / "truth"
LABELS = list(csv.DictReader((TRUTH / "labels.csv").open()))
sys.path.insert(0, str(TRUTH))
import perturb  # noqa: E402

# How many first findings stay as the label says, at least; the rest says that it does not know, or what is true of less of the run.
LEAST = {"half": 0.98, "5hz": 0.97, "1hz": 0.95, "noise": 0.98, "head": 0.98, "tail": 0.85, "no-host": 0.5, "no-pipes": 0.55, "no-gpm": 0.88,
         "no-gpm+pcie": 0.92, "other-card": 0.72, "amd": 0.82, "intel": 0.35}


def said(program, row, how, folder, seed=1):
    """The first finding, judged. The seed draws the noise, and the other card."""
    path = folder / f"{how}-{row['recording']}.assay"
    perturb.perturb(how, TRUTH / f"{row['recording']}.assay", path, seed)
    report = subprocess.run([program, "report", path, "--format", "json"], capture_output=True, check=True)
    path.unlink()
    findings = json.loads(report.stdout)["findings"]
    limiter = findings[0]["limiter"] if findings else "nothing"
    if limiter in row["misleading"].split():
        return "misleading", limiter
    return ("right" if limiter in row["accepted"].split() else limiter if limiter in ("unknown", "host.starting") else "other"), limiter


def table(counts):
    kinds = ("right", "unknown", "host.starting", "other", "misleading")
    lines = [f"{'':10}" + "".join(f"{kind:>15}" for kind in kinds)]
    return "\n" + "\n".join(lines + [f"{how:10}" + "".join(f"{count[kind]:15}" for kind in kinds) for how, count in counts.items()])


def judge(program, pairs, folder, capsys):
    counts, wrong = {how: collections.Counter() for how in perturb.HOWS}, []
    for row, how in pairs:
        kind, limiter = said(program, row, how, folder)
        counts[how][kind] += 1
        if kind == "misleading":
            wrong.append(f"{row['recording']}, {how}: {limiter}")
    with capsys.disabled():
        print(table(counts))
    assert not wrong, wrong
    return counts


def test_each_once(program, tmp_path, capsys):
    """Every recording in one way, the ways by turns."""
    judge(program, [(row, perturb.HOWS[i % len(perturb.HOWS)]) for i, row in enumerate(LABELS)], tmp_path, capsys)


@pytest.mark.long
def test_all(program, tmp_path, capsys):
    counts = judge(program, [(row, how) for how in perturb.HOWS for row in LABELS], tmp_path, capsys)
    for how, count in counts.items():
        assert count["right"] >= LEAST[how] * len(LABELS), (how, count)


CARDS = 20


@pytest.mark.long
def test_other_cards(program, tmp_path, capsys):
    """No rule without counters is a property of the card that was recorded."""
    counts, wrong = collections.Counter(), []
    for seed in range(1, CARDS + 1):
        for row in LABELS:
            kind, limiter = said(program, row, "other-card", tmp_path, seed)
            counts[kind] += 1
            if kind == "misleading":
                wrong.append(f"{row['recording']}, card {seed}: {limiter}")
    with capsys.disabled():
        print(table({"other-card": counts}))
    assert not wrong and counts["right"] >= 0.8 * CARDS * len(LABELS), (counts, wrong)


def test_a_verdict_without_counters_says_so(program, tmp_path):
    """Likely, on what basis, and two candidates where it cannot be decided; with counters nothing of it."""
    def first(name, how):
        path = tmp_path / f"{how}-{name}.assay"
        perturb.perturb(how, TRUTH / f"{name}.assay", path)
        text = " ".join(subprocess.run([program, "report", path], capture_output=True, text=True, check=True).stdout.split())
        return json.loads(subprocess.run([program, "report", path, "--format", "json"], capture_output=True, check=True).stdout)["findings"][0], text
    likely, text = first("gemm_bf16", "no-gpm+pcie")
    assert likely["basis"] == "driver" and likely["candidates"] == [] and likely["gain"] is None and likely["power_at_rest"]["from"] == "idle"
    assert "likely limited by arithmetic, most likely of the tensor cores, held at 1449 of 1980 MHz" in text and "assay doctor" in text
    unknown, text = first("prefetch_h2d", "no-gpm")
    assert unknown["limiter"] == "unknown" and unknown["candidates"] == ["copy.link", "kernel"]
    assert "the limit is unknown, copies over the link, or the work of the kernels" in text and "profiling counters would tell" in text
    counted, text = first("gemm_bf16", "as-it-is")
    assert counted["basis"] == "counters" and "candidates" not in counted and "likely" not in text


def output(program, *args):
    return subprocess.run([program, *args], capture_output=True, text=True, check=args[0] != "diff").stdout


def test_every_surface_says_what_a_limiter_rests_on(program, tmp_path):
    """Rows and stretches of a report, a list of runs, a job's findings, comparisons; with counters none of them."""
    for how, basis in (("no-gpm", "driver"), ("as-it-is", "counters")):
        folder = tmp_path / how
        folder.mkdir()
        path, other = folder / "gemm.assay", folder / "copy.assay"
        perturb.perturb(how, TRUTH / "gemm_bf16.assay", path)
        perturb.perturb(how, TRUTH / "copy_device.assay", other)
        prefix = "likely " if basis == "driver" else ""
        text = output(program, "report", path, "--all")
        assert f"  {prefix}tensor cores, power" in text.partition("key numbers")[2], text
        assert ("likely" in text) == (basis == "driver")
        assert f"<td class=text>{prefix}tensor cores, power" in output(program, "report", path, "--format", "html")
        rows = list(csv.DictReader(output(program, "report", path, "--format", "csv").splitlines()))
        assert {row["limiter_basis"] for row in rows} == {basis}
        runs = json.loads(output(program, "report", folder, "--format", "json"))["runs"]
        assert [run["limiter_basis"] for run in runs] == [basis] * 2
        assert f" {prefix}tensor core" in output(program, "report", folder)
        told = json.loads(output(program, "diff", path, other, "--format", "json"))
        assert {side["basis"] for side in told["base"] + told["new"]} == {basis}
        text = output(program, "diff", path, other)
        assert f"\n  {prefix}limited by, of the time\n    memory bandw. " in text
        assert f"\n  {prefix}limited by tensor cores " in text and "\n  start-up   " in text
    text = output(program, "diff", tmp_path / "as-it-is" / "gemm.assay", tmp_path / "no-gpm" / "gemm.assay")
    assert "limits rest on: profiling counters, now the driver alone: likely" in text


def test_a_copy_says_the_same(program, tmp_path):
    """What is written again unchanged is judged as before, so that the differences are the changes'."""
    for row in LABELS[::20]:
        report = [subprocess.run([program, "report", path, "--format", "json"], capture_output=True, check=True).stdout
                  for path in (TRUTH / f"{row['recording']}.assay", tmp_path / "copy.assay")
                  if path.exists() or not perturb.perturb("as-it-is", TRUTH / f"{row['recording']}.assay", path)]
        before, after = (json.loads(text)["findings"] for text in report)
        assert [f["text"] for f in before] == [f["text"] for f in after]
        (tmp_path / "copy.assay").unlink()
