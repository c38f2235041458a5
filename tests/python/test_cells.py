"""Ranges of cells, which cells do something, and the files they are written to."""
import csv
import json
import math

import pytest

import assay
from assay import cells, notebook

TEN = [assay.Cell(i, f"x = {i}", 100.0 + i, 100.5 + i) for i in range(10)]


@pytest.mark.parametrize("text, expected", [
    ("5", [5]),
    ("2:8", [2, 3, 4, 5, 6, 7, 8]),  # both ends, as notebooks have it
    (":5", [0, 1, 2, 3, 4, 5]),
    ("3:", [3, 4, 5, 6, 7, 8, 9]),
    (":", list(range(10))),
    ("-1", [9]),
    ("-3:-1", [7, 8, 9]),
    (":-9", [0, 1]),
    ("-99:1", [0, 1]),
    ("8:99", [8, 9]),
    (" 4 ", [4]),
])
def test_ranges(text, expected):
    assert [c.index for c in cells.choose(TEN, text)] == expected


@pytest.mark.parametrize("text, says", [
    ("10", "no cell is in '10'"),
    ("5:2", "no cell is in"),
    ("-11", "no cell is in"),
    ("x", "is no range"),
    ("1:2:3", "is no range"),
    ("", "is no range"),
    ("1-2", "is no range"),
    ("-:3", "is no range"),
])
def test_no_ranges(text, says):
    with pytest.raises(assay.AssayError) as raised:
        cells.choose(TEN, text)
    assert says in raised.value.message and raised.value.hint


def test_cells_of_a_session_that_began_later():
    """Their numbers are those of the notebook, not places in a list."""
    late = TEN[4:]
    assert [c.index for c in cells.choose(late, "5")] == [5]
    assert [c.index for c in cells.choose(late, "-6")] == [4]
    with pytest.raises(assay.AssayError):
        cells.choose(late, "3")


@pytest.mark.parametrize("source, expected", [
    ("%assay report", True),
    ("\n%assay start\n# and\n!ls\n", True),
    ("", True),
    ("x = 1", False),
    ("%assay start\nx = 1", False),
    ("%%time\nx = 1", False),
    ("%%time", False),
])
def test_only_magics(source, expected):
    assert notebook.only_magics(source) is expected


@pytest.mark.parametrize("source", ["x" * 100_000, "ü" * 60_000, "\x01" * 50_000, "\U0001f600" * 30_000])
def test_long_cells_fit_a_mark(source, tmp_path):
    cut = notebook._cut(source)
    assert cut and source.startswith(cut)
    assay.RunLog(tmp_path / "l").begin("cell 0", cell_index=0, raw_cell=cut)


def test_columns_in_files(tmp_path):
    columns = {"time": [0.0, 1.5], "memory": [math.nan, 2.0], "text": ["a,b", None]}
    path = notebook.write_columns(str(tmp_path / "a.csv"), columns)
    assert list(csv.reader(path.open())) == [["time", "memory", "text"], ["0.0", "", "a,b"], ["1.5", "2.0", ""]]
    path = notebook.write_columns(str(tmp_path / "a.json"), columns)
    assert json.loads(path.read_text())[0] == {"time": 0.0, "memory": None, "text": "a,b"}


def test_report_texts():
    figure = cells.Figure("Memory (GB)", 1.234, 1, 2, 15.4)
    report = cells.Report("process", TEN[2:4], ["CPU-BOUND", "A<B"], [figure], ["the finding"], signature=True)
    lines = str(report).splitlines()
    assert lines[:4] == ["-" * 40, "assay Performance Report", "-" * 40, "Duration: 1.00s (2 cells: 2 to 3), level process"]
    assert "CPU-BOUND | A<B" in lines
    assert "Metric                    AVG      MIN      MAX      TOTAL" in lines
    assert "Memory (GB)               1.23     1.00     2.00     15.40" in lines
    assert lines[-1] == "the finding"
    html = report._repr_html_()
    assert str(report._replace(signature=False)).splitlines()[5] == "the finding"
    assert "A&lt;B" in html and "<td>15.40</td>" in html


def test_memory_that_is_a_bound_says_so():
    """Pages that processes share are counted in each until they are measured."""
    class Recorded:
        memory_limits, gpu_memory = {}, None

        def describe(self):
            return {"num_cpus": 4, "num_gpus": 0}

        def columns(self, level):
            return {"memory_is_bound": [1.0, 1.0, 0.0], "uss": [math.nan, 2e9, math.nan]}

    for rows, name in (([0], "Memory (GB, at most)"), ([1], "Memory (GB)"), ([2], "Memory (GB)"), ([1, 2, 0], "Memory (GB, at most)")):
        assert [f.name for f in cells._figures(Recorded(), "user", {"memory": [1.0, 2.0, 3.0]}, rows, rows)] == [name]


def test_a_cell_between_two_samples():
    """It is estimated from both, as much of each as it is near; without one of them there is nothing to tell."""
    class Recorded:
        memory_limits, gpu_memory, num_gpus = {"process": 8.0}, None, 0

        def describe(self):
            return {"num_cpus": 4, "num_gpus": 0}

        def columns(self, table):
            return {"time": [10.0, 20.0], "cpu_util_avg": [10.0, 50.0], "memory": [1.0, 2.0]} if table.startswith("notebook:") else {"time": [1000.0, 1010.0]}

    made = cells.report_between(Recorded(), [assay.Cell(3, "x", 1002.0, 1003.0)], "process")
    assert [(f.name, f.mean, f.low, f.high) for f in made.figures] == [("CPU Util (Across 4 CPUs)", 20.0, 20.0, 20.0), ("Memory (GB)", 1.25, 1.25, 1.25)]
    assert "estimated from those 2.00 s before and 7.00 s after" in str(made) and not made.tags and not made.findings
    for begin, end in ((999.0, 1001.0), (1009.0, 1011.0)):
        assert cells.report_between(Recorded(), [assay.Cell(3, "x", begin, end)], "process") is None
