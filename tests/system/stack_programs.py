"""Programs that know where their own time goes, and what reads their stacks from outside."""
import glob
import json
import os
import pathlib
import subprocess
import time

import pytest

from conftest import Popen

# Each activity lasts a while, as batches and files do, so few samples meet all of it. What it prints at its end: seconds by function.
COUNTING = '''
import json, sys, time
DATA = json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(400)])
spent = {}
def parse(until):
    while time.time() < until:
        json.loads(DATA)
def add(until):
    total = 0
    while time.time() < until:
        for i in range(2000):
            total += i
def rest(until):
    time.sleep(max(0, until - time.time()))
def order(until):
    rows = list(range(3000))[::-1] + list(range(3000))
    while time.time() < until:
        sorted(rows, key=str)
def counted(activity, seconds):
    begin = time.time()
    activity(begin + seconds)
    spent[activity.__name__] = spent.get(activity.__name__, 0) + time.time() - begin
def main(seconds):
    end = time.time() + seconds
    while time.time() < end:
        counted(parse, 0.21)
        counted(add, 0.13)
        counted(rest, 0.17)
        counted(order, 0.09)
print("ready", flush=True)
sys.stdin.readline()
main(float(sys.argv[1]))
print(json.dumps(spent), flush=True)
'''


def pythons():
    """Each CPython at hand, by its version."""
    found = {}
    for path in [*glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")), "/usr/bin/python3", *os.environ.get("ASSAY_PYTHONS", "").split(":")]:
        if path and os.access(path, os.X_OK):
            found[pathlib.Path(path).parents[1].name if "pyenv" in path else path] = path
    return sorted(found.items(), key=lambda item: [int(n) if n.isdigit() else 0 for n in item[0].split(".")])


def start(python, source, *args, **more):
    """A program that has said it is ready; it goes on when a line is written to it."""
    program = Popen([python, "-c", source, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    assert program.stdout.readline().strip() == "ready"
    return program


def go(program):
    program.stdin.write("\n")
    program.stdin.flush()


def tool(program, name):
    path = pathlib.Path(program).parent / "tests" / name
    if not path.exists():
        pytest.skip(f"no {name} in this build")
    return str(path)


def shares(program, seconds, *pids, hz=20, budget=1):
    """What the sampler saw of these processes."""
    done = subprocess.run([tool(program, "stack_shares"), str(seconds), str(hz), str(budget), *map(str, pids)], capture_output=True, text=True, check=True,
                          timeout=seconds + 60)
    return json.loads(done.stdout)


def by_function(seen, names):
    """The share of each function, alone or with what it calls, of all the time seen."""
    total = sum(e["seconds"] for e in seen["entries"])
    out = dict.fromkeys(names, 0.0)
    for entry in seen["entries"]:
        for frame in entry["stack"]:
            name = frame["function"].split(".")[-1]
            if name in out:
                out[name] += entry["seconds"] / total
                break
    return out


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


