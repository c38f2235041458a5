"""assay.diff: the same answers as the command."""
import json

import pytest

import assay
from conftest import ROOT

A, B = ROOT / "tests" / "truth" / "train_block.assay", ROOT / "tests" / "truth" / "ckpt_train.assay"


def test_same_run():
    got = assay.diff(A, assay.open_session(A))
    assert (got.verdict, got.comparable, got.status, got.cause) == ("no difference", True, 0, None)
    assert repr(got).startswith("no difference")


def test_everything_is_there():
    got = assay.diff([A], [B], gate="memory=1GiB")
    told = got.to_dict()
    assert told["gates"][0]["result"] == "within" and json.dumps(told)
    frame = got.data()
    assert {"name", "base", "new", "change", "low", "high", "word"} <= set(frame.columns) and len(frame) == len(got.rows())
    assert "<iframe" in got._repr_html_() and got.report("markdown").startswith("### assay diff")


@pytest.mark.parametrize("args, options", [((A, "none.assay"), {}), ((A, []), {}), ((A, B), {"gate": "speed=1%"}), ((A, B), {"allow": "x"})])
def test_errors(args, options):
    with pytest.raises((assay.AssayError, OSError)):
        assay.diff(*args, **options)
