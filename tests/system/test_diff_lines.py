"""The lines of the program that a change between two runs went into."""
import json
import sqlite3

from test_where import line_of
from test_where import recorded  # noqa: F401 (a fixture)

STEPS = """
import sys, time
def work(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass  # LINE work

def load(seconds):
    time.sleep(seconds)  # LINE load

def main():
    sys.stdin.readline()
    end = time.time() + float(sys.argv[1])
    while time.time() < end:
        begin = time.time()
        work(0.02)
        load(LOAD)
        print(begin, time.time() - begin, file=steps, flush=True)

steps = open(sys.argv[0] + ".steps", "w")
main()
"""


def put_steps(path, script):
    """Marks the steps that the program timed itself."""
    with sqlite3.connect(path) as db:
        start, mono = (int(db.execute("select value from manifest where key = ?", (key,)).fetchone()[0]) for key in ("start_ns", "start_mono_ns"))
        for line in script.with_suffix(".py.steps").read_text().splitlines():
            begin, took = map(float, line.split())
            end = int((begin + took) * 1e9)
            db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values(?,?,?,?,'phase','step',?)",
                       (end, mono + end - start, "vm", 1, took))
    db.close()


def test_what_a_line_takes_more_of_in_each_step(assay, recorded, tmp_path):  # noqa: F811
    """The line is the cause of a change, in milliseconds a step on both sides."""
    runs, took = [], []
    for i, load in enumerate((0.005, 0.03)):
        path, script = recorded(STEPS.replace("LOAD", str(load)), seconds=12)
        put_steps(path, script)
        lengths = sorted(float(line.split()[1]) for line in script.with_suffix(".py.steps").read_text().splitlines())
        took.append(lengths[len(lengths) // 2])
        runs.append(tmp_path / f"{i}.assay")
        assert assay("convert", path, runs[-1]).returncode == 0
        for old in tmp_path.glob("run.assay*"):
            old.unlink()
    told = json.loads(assay("diff", *runs, "--format", "json").stdout)
    assert told["verdict"] == "slower" and told["evidence"] == "steps"
    line, = told["cause"]["lines"]
    assert (line["own"]["line"], line["own"]["function"], line["what"]) == (line_of(STEPS, "load"), "load", "main")
    assert line["looks_base"] > 5 and line["looks_new"] > 50
    assert abs(line["new_s"] - line["base_s"] - (took[1] - took[0])) < max(2 * line["error_s"], 0.005)
    words = f"train.py:{line_of(STEPS, 'load')} load:"
    text = " ".join(assay("diff", *runs).stdout.split())
    assert words in text and "a step instead of" in text and "samples)" in text
    for kind in ("markdown", "html", "junit"):
        assert words in assay("diff", *runs, "--format", kind).stdout
    # The other way round it is faster for the same reason.
    back = json.loads(assay("diff", *runs[::-1], "--format", "json").stdout)
    assert back["verdict"] == "faster" and back["cause"]["lines"][0]["own"]["line"] == line["own"]["line"]
    same = json.loads(assay("diff", runs[0], runs[0], "--format", "json").stdout)
    assert same["cause"] is None
