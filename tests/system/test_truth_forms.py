"""The same GPUs as other tools log them: no form of a recording is judged misleadingly, and those that say enough are judged."""
import csv
import sys

import pytest

from conftest import ROOT

TRUTH = ROOT / "tests" / "truth"
LABELS = list(csv.DictReader((TRUTH / "labels.csv").open()))
sys.path.insert(0, str(TRUTH))
import forms  # noqa: E402

# Of all, at least; a log without limits, clocks or their reasons leaves more unknown.
LEAST = {"smi-query": 0.75, "smi-nine": 0.45, "smi-dmon": 0.45, "exporter": 0.65, "dcgm": 0.45}


@pytest.mark.parametrize("form", forms.FORMS)
def test_a_few(program, tmp_path, form):
    wrong = []
    counts = forms.judge(program, form, LABELS[list(forms.FORMS).index(form)::9], tmp_path, wrong.append)
    assert counts["misleading"] == counts["failed"] == 0, wrong


@pytest.mark.long
@pytest.mark.parametrize("form", forms.FORMS)
def test_all(program, tmp_path, capsys, form):
    wrong = []
    counts = forms.judge(program, form, LABELS, tmp_path, wrong.append)
    with capsys.disabled():
        print(form, dict(counts))
    assert counts["misleading"] == counts["failed"] == 0, wrong
    assert counts["right"] >= LEAST[form] * len(LABELS), counts


def test_the_reasons_of_a_query_log(program, tmp_path):
    """A set of bits, as nvidia-smi writes it: the power limit that holds the clock is half of what tells matrix products."""
    row = next(r for r in LABELS if r["recording"] == "gemm_bf16")
    path = tmp_path / "log.csv"
    text = "\n".join(forms.FORMS["smi-query"](forms.seconds(program, TRUTH / "gemm_bf16.assay"))) + "\n"
    path.write_text(text)
    assert "0x0000000000000004" in text and forms.said(program, path, row) == ("right", "compute.tensor")
    for bad in ("0x", "0xZZ", "0x00000000000000004", "[N/A]", "Active"):
        path.write_text(text.replace("0x0000000000000004", bad))
        assert forms.said(program, path, row)[0] in ("other", "unknown", "right"), bad
