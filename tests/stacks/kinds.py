"""Programs of kinds that make a GPU wait, none of which needs one: each has its slow line marked with "# PLACE" before anybody looks at what assay says.

They are recorded beside a fake driver that says that a process of theirs holds an idle GPU. kinds.py ASSAY [NAME…] prints what the first
finding names, and how many of the names were right: at least 11 of 12 should be.
"""
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "kinds"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "common")
IDLE = HERE.parent / "fixtures" / "nvml" / "h200-idle.scn"
HELD = """
nvmlDeviceGetComputeRunningProcesses_v3 = 0 {pid}:1073741824
nvmlDeviceGetMemoryInfo_v2 = 0 150754820096 644939776 149036399616 1073741824
nvmlDeviceGetUtilizationRates = 0 3 1
gpm/1 = 0 3
gpm/2 = 0 3
"""


def marked(name):
    lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith("# PLACE"))


def wait_for(path, recorder):
    """Until the host is recorded."""
    while recorder.poll() is None:
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                if db.execute("select 1 from evidence where cpu_main is not null limit 1").fetchall():
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.05)
    raise AssertionError("nothing is recorded")


def record(assay, name, seconds, folder, python=sys.executable):
    """The report's first finding of one program."""
    path, scenario = pathlib.Path(folder) / f"{name}.assay", pathlib.Path(folder) / "scenario"
    library = pathlib.Path(assay).resolve().parent / "tests" / "libnvidia-ml-fake.so"
    env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(library)}
    with subprocess.Popen([python, FOLDER / f"{name}.py", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        holder = program.stdout.readline().strip()
        scenario.write_text(IDLE.read_text(encoding="utf-8") + HELD.format(pid=holder), encoding="utf-8")
        recorder = subprocess.Popen([assay, "record", "-q", "--poll", "0.1", "--pid", str(program.pid), "-o", path], env=env)
        try:
            wait_for(path, recorder)
            program.stdin.write("go\n")
            program.stdin.close()
            program.wait(seconds + 60)
        finally:
            recorder.terminate()
            recorder.wait(30)
            program.kill()
    shown = subprocess.run([assay, "report", path, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["findings"][0]


def first_place(finding):
    return next((place["own"] for part in finding["where"] for place in part["places"]), None)


def judge(assay, name, seconds=10, **more):
    """(whether the first line is the marked one, what was said)."""
    with tempfile.TemporaryDirectory() as folder:
        finding = record(assay, name, seconds, folder, **more)
    place = first_place(finding)
    said = f"{pathlib.Path(place['file']).name}:{place['line']} {place['function']}" if place else "no line"
    right = bool(place) and pathlib.Path(place["file"]) == FOLDER / f"{name}.py" and place["line"] == marked(name)
    return right, f"{finding['limiter']}: {said}; try: {finding['try']}"


def count(assay, names, seconds=10):
    results = []
    for name in names:
        right, said = judge(assay, name, seconds)
        results.append(right)
        print(f"  {name:<15} line {marked(name):<4} {'right' if right else 'WRONG'}  {said}", flush=True)
    print(f"  {sum(results)} of {len(results)} name the marked line first")


if __name__ == "__main__":
    count(sys.argv[1], sys.argv[2:] or NAMES)
