"""docs/PYTHON.md: its programs run, its answers are answers; CSV says its units."""
import re
import subprocess

import pytest

import assay

from .conftest import BUILD, ROOT

TEXT = (ROOT / "docs/PYTHON.md").read_text()


def test_programs_and_answers(gpu, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {"gpu": gpu}
    first, *others = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    first = first.replace("interval=0.5", "interval=0.1, **gpu").replace("sum(range(10**6))", "import time; time.sleep(1)")
    exec(first, names)
    for code in others:
        exec(code, names)
    questions = re.findall(r"^\| `(monitor\.[^`]+)` \|", TEXT, re.M)
    assert len(questions) == 12
    for code in questions:
        for who in ("monitor", "session"):
            assert eval(code.replace("monitor", who, 1), names) is not None, code
    assert len(names["monitor"].data()) > 0 and (tmp_path / "run.assay").exists()


def programs(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/python" / page).read_text(), re.S)


def test_pages_of_tasks(gpu, tmp_path, monkeypatch, capsys):
    """What they show runs, one after the other: what is recorded is asked and compared."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    pages = {p.name for p in (ROOT / "docs/python").glob("*.md")}
    assert pages == {f"{name}.md" for name in re.findall(r"\]\(python/(\w+)\.md\)", TEXT)} == {"notebook.md", "training.md", "data.md", "compare.md"}
    names = {"gpu": gpu}
    exec(programs("training.md")[0].replace("interval=0.5", "interval=0.1, **gpu"), names)
    assert "try:" in capsys.readouterr().out
    exec(programs("data.md")[0], {})
    assert "train" in capsys.readouterr().out
    for name in ("before", "after"):
        (tmp_path / f"{name}.assay").write_bytes((tmp_path / "run.assay").read_bytes())
    exec(programs("compare.md")[0], {})
    assert "same recording" in capsys.readouterr().out
    with assay.Monitor(interval=0.1, **gpu) as monitor:
        assert monitor.wait(5)
        exec("\n".join(["import assay", *programs("notebook.md")]), {})


def test_errors_have_the_names_it_says():
    table = TEXT.split("## Errors")[1]
    named = set(re.findall(r"\| `(\w+)` \|", table))
    also = {base.__name__ for kind in assay.AssayError.__subclasses__() + [k for s in assay.AssayError.__subclasses__() for k in s.__subclasses__()]
            for base in kind.__mro__ if base.__module__ == "builtins"}
    assert named and named <= also


UNITS = ("_pct", "_w", "_mib", "_gib", "_c", "_mhz", "_j", "_bytes_s", "_bytes", "_gbps", "_rate_s", "_ops_s", "_ops", "_s")


@pytest.mark.parametrize("words", [["columns"], ["export", "--host", "--count", "1"]])
def test_csv_columns_say_their_unit(words, tmp_path):
    """A unit, a count of something, or a text."""
    plain = {"timestamp", "gpu_id", "model", "status", "health", "level", "processes", "threads", "cpus", "cpu_cores_busy", "ticks_late",
             "ticks_missed"}
    done = subprocess.run([BUILD / "assay", *words], capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
                          check=True)
    host = words[0] == "export"
    lines = done.stdout.splitlines()
    names = lines[0].split(",") if host else [x.split()[0] for x in lines if re.match(r"\w+ +(default|all) ", x)]
    assert len(names) > 20
    assert [n for n in names if n not in plain and not n.endswith(UNITS)] == []
