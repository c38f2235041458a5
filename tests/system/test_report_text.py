"""The text of reports against goldens; GOLDEN_UPDATE=1 accepts what is printed now."""
import os
import re
import shutil

import pytest

from conftest import ROOT

GOLDEN = ROOT / "tests" / "golden" / "report"


def many(path, n):
    """Some GPUs that do the same for 200 s, but for GPU 5, which is idle."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("timestamp,gpu_id,model,sm_active_pct,tensor_active_pct,dram_active_pct,gr_engine_active_pct,gpu_util_pct,mem_used_mib,mem_total_mib,power_w\n")
        for t in range(200):
            for gpu in range(n):
                busy = 0 if gpu == 5 else 90 + gpu % 3
                f.write(f"{1794726548 + t},{gpu},NVIDIA H200,{busy},{busy // 2},20,{busy},{busy},1000,143771,{100 + 5 * busy}\n")


@pytest.mark.parametrize("name, columns, words", [
    ("tour-80", 80, []),
    ("tour-100", 100, []),
    ("tour-140-all", 140, ["--all", "--each"]),
    ("gpus-8", 80, []),
    ("gpus-72", 80, []),
])
def test_the_text_is_the_golden(assay, tmp_path, monkeypatch, name, columns, words):
    kind, n = name.split("-")[:2]
    if kind == "tour":
        shutil.copy(ROOT / "docs" / "example" / "tour.assay", tmp_path / "run.assay")
    else:
        many(tmp_path / "run.csv", int(n))
    source = "run.assay" if kind == "tour" else "run.csv"
    monkeypatch.chdir(tmp_path)
    text = assay("report", source, *words, env={"COLUMNS": str(columns)}).stdout
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert max(len(line) for line in text.splitlines()) <= columns


def test_a_page_of_charts_alone(assay):
    """Those that are named, all of them open; 'all' is what a report has; the rest of the report is not there."""
    tour = ROOT / "docs/example/tour.assay"
    def charts(*more):
        page = assay("report", tour, "--format", "html", *more).stdout
        return re.findall(r"<div class=chart data-m=(\w+)>", page), page
    whole, page = charts()
    some, short = charts("--charts", "power,cpu,no_such")
    assert some == ["strips", "power", "cpu"] and "<h2>Findings" not in short and "<details>" not in short and len(short) < len(page)
    assert set(charts("--charts", "all")[0]) == set(whole)
