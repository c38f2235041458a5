"""The line that a straggler is in, beside the others'."""
import json
import sqlite3
import sys

import pytest

from conftest import ROOT
from stack_rows import Kinds
from test_ranks import report, small_job, weave  # noqa: F401 (a fixture)

sys.path.insert(0, str(ROOT / "tests" / "ranks"))
import common  # noqa: E402  pylint: disable=wrong-import-position

READ, REDUCE, LOSS = ("/job/loader.py", "read_batch", 41), ("/job/train.py", "all_reduce", 88), ("/job/train.py", "step", 52)


def put_stacks(path, pid, shares, seconds=40, seed=0):
    """A main thread that was so long of each second in lines of its own code."""
    texts, rows = [""], []
    with sqlite3.connect(path) as db:
        for i, ((file, function, line), _) in enumerate(shares, 1):
            texts += [file, function]
            db.execute("insert into stack_frame values(?, ?, ?, ?, ?, 0)", (i, 2 * i - 1, 2 * i, line - 5, line))
            db.execute("insert into stack_node values(?, 0, ?, ?, 0)", (i, i, i))
        db.executemany("insert into stack_text values(?, ?)", enumerate(texts))
        db.execute("insert into stack_process values(0, ?, 1, 7, 'CPython 3.11.7', 'readable', null, 'python train.py', 800, 0)", (pid,))
        db.execute("insert into stack_thread values(0, ?, 7, ?, 0, 1)", (pid, pid))
        kinds = Kinds(db)
        for second in range(seconds):
            wave = 1 + 0.1 * ((second + seed) % 5 - 2)
            first = min(round(1000 * shares[0][1] * wave), 1000)
            rest = sum(share for _, share in shares[1:]) or 1
            parts = [first, *(round((1000 - first) * share / rest) for _, share in shares[1:])]
            rows.append((second, b"".join(kinds.row(0, i, 0, 1, max(ms // 50, 1), ms) for i, ms in enumerate(parts, 1) if ms)))
        db.executemany("insert into stack_window values(?, ?)", rows)
    db.close()


def make_job(weave, folder, late, usual):
    common.write_job(small_job(4, slow=2), weave, folder)
    for r in range(4):
        put_stacks(folder / f"rank-{r:04d}.assay", 100 + r, late if r == 2 else usual, seed=r)


def test_the_stragglers_line_beside_the_others(program, weave, tmp_path):  # noqa: F811
    make_job(weave, tmp_path, [(READ, 0.4), (REDUCE, 0.1), (LOSS, 0.5)], [(READ, 0.02), (REDUCE, 0.48), (LOSS, 0.5)])
    text = " ".join(report(program, tmp_path).stdout.split())
    assert "its main thread is at loader.py:41 read_batch for 40 % of the time, the others' for 2 %" in text
    assert "they are at train.py:88 all_reduce for 48 % instead of 10 %" in text
    late, = json.loads(report(program, tmp_path, "--format", "json").stdout)["stragglers"]
    assert (late["line"], late["others_line"]) == ("loader.py:41 read_batch", "train.py:88 all_reduce")
    assert abs(late["line_share"] - 0.4) < 0.02 and abs(late["line_share_of_others"] - 0.02) < 0.01
    assert "loader.py:41 read_batch" in report(program, tmp_path, "--format", "html").stdout


@pytest.mark.parametrize("late", [
    [(READ, 0.04), (REDUCE, 0.46), (LOSS, 0.5)],  # within what a twentieth is
    [(LOSS, 0.5), (REDUCE, 0.5)],                 # the same as the others
])
def test_ranks_in_the_same_lines(program, weave, tmp_path, late):  # noqa: F811
    make_job(weave, tmp_path, late, [(READ, 0.02), (REDUCE, 0.48), (LOSS, 0.5)])
    late, = json.loads(report(program, tmp_path, "--format", "json").stdout)["stragglers"]
    assert (late["rank"], late["line"], late["line_share"]) == ("2", None, None)
    assert "main thread" not in late["text"]


def test_findings_of_all_ranks_name_a_line(program, weave, tmp_path):  # noqa: F811
    """That of the rank which has most of it."""
    make_job(weave, tmp_path, [(LOSS, 0.9), (REDUCE, 0.1)], [(LOSS, 0.9), (REDUCE, 0.1)])
    found = json.loads(report(program, tmp_path, "--format", "json").stdout)["findings"]
    assert any("of the main thread's time at train.py:52 step" in f["text"] for f in found), found
