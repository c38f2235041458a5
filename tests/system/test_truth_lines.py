"""The judge of the lines that reports name (tests/truth/lines.py), and the lines that it takes for right."""
import csv
import subprocess
import sys

import pytest
from conftest import FIXTURES, ROOT
from test_where import CODE, LIBRARY, recorded  # noqa: F401 (a fixture)

TRUTH = ROOT / "tests" / "truth"
sys.path.insert(0, str(TRUTH))
import lines  # noqa: E402

ROW = {"recording": "train", "file": "train.py", "accepted": "Data.get :: sorted( | step()"}
SOURCE = """\
class Data:
    def get(self):
        return sorted(self)

def train():
    sorted([])
    for _ in range(3):
        step()
"""


def place(line, file="/elsewhere/train.py", share=0.5):
    own = {"file": file, "line": line, "text": f"train.py:{line}"}
    return {"share": share, "own": own if line else None, "inner": None}


def report_of(*parts):
    return {"findings": [{"limiter": "host.code", "where": [{"words": "of its CPU time in", "places": list(p)} for p in parts]}]}


@pytest.mark.parametrize("report, how", [
    (report_of([place(8), place(6)]), "right"),
    (report_of([place(6), place(8)]), "second or third"),
    (report_of([place(6)], [place(8)]), "second or third"),
    (report_of([], [place(8)]), "right"),
    (report_of([place(6), place(7)]), "wrong"),
    (report_of([place(8, file="/elsewhere/other.py")]), "wrong"),
    (report_of([place(None)]), "wrong"),
    (report_of([]), "none"),
    (report_of(), "none"),
    ({"findings": []}, "none"),
])
def test_the_judge(tmp_path, report, how):
    (tmp_path / "train.py").write_text(SOURCE)
    assert lines.accepted_lines(ROW, tmp_path) == {("train.py", 3), ("train.py", 8)}
    assert lines.judge(ROW, report, tmp_path)[2] == how


def test_a_line_without_a_file(tmp_path):
    row = dict(ROW, accepted="<string>:1")
    assert lines.judge(row, report_of([place(1, file="<string>")]), tmp_path)[2] == "right"


@pytest.mark.parametrize("row", lines.labels(), ids=lambda row: row["recording"])
def test_a_label_names_lines(row):
    """One line each, in the program; and the host limits it, or it waits for the GPU there."""
    for piece in row["accepted"].split(" | "):
        assert len(lines.lines_of_piece(row, piece)) == 1, piece
    limits = {other["recording"]: other["accepted"].split() for name in ("labels", "fourth", "ninth", "tenth") for other in csv.DictReader((TRUTH / f"{name}.csv").open())}
    assert any(limit.startswith("host.") or limit in ("idle.allocated", "launch", "copy.host") for limit in limits[row["recording"]]) or "waits for the GPU" in row["what"]


def test_a_recording_is_judged(program, recorded, capsys):  # noqa: F811
    path, script = recorded(CODE)
    row = {"recording": path.stem, "file": script.name, "accepted": "parse :: json.loads(t)"}
    assert lines.judge_all(str(program), path.parent, [row, dict(row, recording="missing")], script.parent)
    out = capsys.readouterr().out
    assert "1 of 1 right at first" in out and "[json.loads(t) for t in texts]" in out and "failed: missing" in out
    assert not lines.judge_all(str(program), path.parent, [dict(row, accepted="squares :: return")], script.parent)


def test_programs_are_recorded_once(program, tmp_path, monkeypatch):
    """A program ends well, one fails and is not judged; what is there is left alone."""
    (tmp_path / "quick.py").write_text("import sys\nsys.exit(sys.argv[1] == 'fails')\n")
    (tmp_path / "lines.csv").write_text("recording,file,accepted,what\nends,quick.py,<a>:1,\nfails,quick.py,<a>:1,\n")
    monkeypatch.setenv("FAKE_NVML", str(FIXTURES / "nvml" / "h200-idle.scn"))
    monkeypatch.setenv("ASSAY_NVML_LIB", str(LIBRARY))
    for name in ("lines.py", "record.py"):
        (tmp_path / name).write_text((TRUTH / name).read_text())
    command = [sys.executable, tmp_path / "lines.py", "record", program, tmp_path / "out", "1", "60"]
    first, second = (subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert "ends: exit 0" in first and "fails: exit 1" in first and second == ""
    assert (tmp_path / "out" / "fails.log").exists() and not (tmp_path / "out" / "ends.log").exists()
    judged = subprocess.run([sys.executable, tmp_path / "lines.py", "judge", program, tmp_path / "out"], capture_output=True, text=True)
    assert "failed: fails" in judged.stdout and judged.returncode == 1
