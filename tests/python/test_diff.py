"""assay.diff: the same answers as the command."""
import json
import math
import sys

import pytest

import assay
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import diff_shapes  # noqa: E402  pylint: disable=wrong-import-position

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


def test_a_file_that_is_not_there():
    for sides in ((A, "none.assay"), ("none.assay", A)):
        with pytest.raises(FileNotFoundError, match="no such file: 'none.assay'"):
            assay.diff(*sides)


@pytest.mark.parametrize("args, options", [((A, []), {}), ((A, B), {"gate": "speed=1%"}), ((A, B), {"allow": "x"})])
def test_errors(args, options):
    with pytest.raises((assay.AssayError, OSError)):
        assay.diff(*args, **options)


PAIRS = 12
# Its mean alone is uncertain by 2 %: a change of 5 % is not always told.
TOO_NOISY = "bursts"


def test_steps_that_misbehave():
    """Drifts, waves, stalls, two lengths: few false alarms, 5 % is found, intervals cover the truth."""
    rows = list(diff_shapes.table(PAIRS))
    print("\n".join(map(diff_shapes.show, rows)))
    for change in diff_shapes.CHANGES:
        of = [shares for name, at, shares in rows if at == change]
        n = PAIRS * len(of)
        covered = sum(s["covered"] for s in of) / len(of)
        assert covered >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / n)
        wrong = [s["faster"] + (s["slower"] if change == 0 else 0) for s in of]
        assert sum(wrong) / len(of) <= 0.05
    found = [shares["slower"] for name, at, shares in rows if at == 0.05 and name != TOO_NOISY]
    assert sum(found) / len(found) >= 0.95
