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
    assert len(questions) == 11
    for code in questions:
        for who in ("monitor", "session"):
            assert eval(code.replace("monitor", who, 1), names) is not None, code
    assert len(names["monitor"].data()) > 0 and (tmp_path / "run.assay").exists()


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
