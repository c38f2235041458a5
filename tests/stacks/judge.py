"""Runs the programs that count their own time, samples them from outside, and compares: what tests/system/test_stacks.py and ./dev bench share."""
import glob
import json
import os
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs.py"
NAMES = ("plain", "threads", "many_threads", "generators", "coroutines", "recursion", "callbacks", "c_loop", "foreign_loop", "fork", "spawn", "forkserver",
         "execs", "exits")
NOT_ASKED = {"idle", "other"}  # thirty threads that do nothing would make all else small; and no line is known of what starts
LEAST = 0.05  # of the time: smaller places are not judged


def pythons():
    """Each CPython at hand, by its version; ASSAY_PYTHONS names more, with colons."""
    found = {}
    for path in [*glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")), "/usr/bin/python3", *os.environ.get("ASSAY_PYTHONS", "").split(":")]:
        if path and os.access(path, os.X_OK):
            found[pathlib.Path(path).parents[1].name if "pyenv" in path else path] = path
    return sorted(found.items(), key=lambda item: [int(n) if n.isdigit() else 0 for n in item[0].split(".")])


def lines():
    """The place that each line of the programs is of."""
    text = PROGRAMS.read_text(encoding="utf-8").splitlines()
    return {i: m.group(1) for i, line in enumerate(text, 1) if (m := re.search(r"# LINE (\w+)", line))}


def build(python, folder):
    """The environment for programs with C of their own; None where this Python has no headers."""
    asked = subprocess.run([python, "-c", "import sysconfig as s; print(s.get_paths()['include'], s.get_config_var('EXT_SUFFIX'))"],
                           capture_output=True, text=True, check=True).stdout.split()
    library = folder / "libloop.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "loop_library.c"], check=True)
    env = {"LOOP_LIBRARY": str(library)}
    if (pathlib.Path(asked[0]) / "Python.h").exists():
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-I{asked[0]}", "-o", folder / f"loop_extension{asked[1]}", HERE / "loop_extension.c"], check=True)
        env["LOOP_EXTENSION"] = str(folder)
    return env


def by_place(seen):
    """Seconds of each place, by the innermost line of the program's file; and those of other lines."""
    places, out = lines(), {}
    for entry in seen["entries"]:
        own = next((f["line"] for f in entry["stack"] if f["file"].endswith("programs.py")), 0)
        name = places.get(own, "other")
        out[name] = out.get(name, 0) + entry["seconds"]
    return out


class Seen:
    """What one program counted, and what was seen of it."""

    def __init__(self, counted, seen):
        self.raw = seen
        self.counted = {k: v for k, v in counted["spent"].items() if k not in NOT_ASKED}
        self.times = counted["times"]
        self.seen = by_place(seen)
        self.total = sum(self.counted.values())
        self.torn = seen["torn"] / max(1, seen["torn"] + seen["samples"])
        self.samples = seen["samples"]
        self.access = {p["access"] for p in seen["processes"]}
        self.why = "; ".join(sorted({p["why"] for p in seen["processes"] if p["why"]}))

    def errors(self):
        """By place: how far what was seen is from what was counted, in shares of all that was counted."""
        return {k: (self.seen.get(k, 0) - v) / self.total for k, v in self.counted.items() if v >= LEAST * self.total}

    def bounds(self, hz=20):
        """By place: what chance allows. Where an activity begins and ends one look falls on either side, which is a third of an interval
        squared for each time; what fills the gaps between all others has their errors."""
        others = sum(self.times.values())
        return {k: 0.02 + 4 / hz * ((self.times[k] if self.times[k] > 1 else others) / 3) ** 0.5 / self.total for k in self.counted}

    def worst(self):
        return max(self.errors().items(), key=lambda e: abs(e[1]), default=("", 0.0))


def judge(python, name, seconds, tool, hz=20, budget=1):
    """Runs one program under one Python. None where it cannot be built."""
    with tempfile.TemporaryDirectory() as folder:
        env = build(python, pathlib.Path(folder)) if name.endswith("_loop") else {}
        if name == "c_loop" and "LOOP_EXTENSION" not in env:
            return None
        with subprocess.Popen([python, PROGRAMS, name, str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **env}) as program:
            pids = program.stdout.readline().split()[1:]
            assert pids, f"{name} did not start"
            sampler = subprocess.Popen([tool, str(seconds + 3), str(hz), str(budget), *pids], stdout=subprocess.PIPE, text=True)
            program.stdin.write("\n")
            program.stdin.flush()
            counted = json.loads(program.stdout.readline())
            program.stdin.close()
            return Seen(counted, json.loads(sampler.communicate()[0]))
