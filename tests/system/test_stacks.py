"""Stacks of CPython, read from outside: every version at hand, lines to the digit, and programs that lie."""
import json
import subprocess

import pytest

import stack_programs as programs

PYTHONS = programs.pythons()
EACH = pytest.mark.parametrize("python", [path for _, path in PYTHONS], ids=[name for name, _ in PYTHONS])

# Every code object of some modules: its table, first line, and the line of each instruction as this version of Python has it.
TABLES = '''
import dis, sys
def codes(code):
    yield code
    for c in code.co_consts:
        if hasattr(c, "co_code"):
            for inner in codes(c):
                yield inner
def lines(code):
    if hasattr(code, "co_lines"):
        for begin, end, line in code.co_lines():
            for at in range(begin, end, 2):
                yield at, line or 0
    else:
        starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
        for (begin, line), (end, _) in zip(starts, starts[1:]):
            for at in range(begin, end, 2):
                yield at, line
kind = 2 if sys.version_info >= (3, 11) else 1 if sys.version_info >= (3, 10) else 0
for name in ["json.decoder", "argparse", "asyncio.tasks", "typing", "dataclasses" if sys.version_info >= (3, 7) else "abc"]:
    path = __import__(name, fromlist=["x"]).__file__
    with open(path, encoding="utf-8") as file:
        whole = compile(file.read(), path, "exec")
    for code in codes(whole):
        table = code.co_linetable if kind else code.co_lnotab
        places = list(lines(code))
        if places:
            print("%d %d %s %s|%s" % (kind, code.co_firstlineno, table.hex() or "-", " ".join(str(a) for a, _ in places), " ".join(str(l) for _, l in places)))
'''


@EACH
def test_lines_are_those_that_python_says(program, python):
    out = subprocess.run([python, "-c", TABLES], capture_output=True, text=True, check=True).stdout.splitlines()
    asked, expected = zip(*(line.split("|") for line in out))
    got = subprocess.run([programs.tool(program, "stack_lines")], input="\n".join(asked) + "\n", capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(got) == len(expected) > 100
    for ask, want, line in zip(asked, expected, got):
        assert line.split() == want.split(), ask[:200]


@EACH
def test_shares_are_those_that_the_program_counts(program, python):
    """Five seconds are a hundred samples; the longer test is sharper."""
    check_shares(program, python, 5, 0.1)


@pytest.mark.slow
@pytest.mark.quiet
@EACH
def test_shares_within_three_points(program, python):
    check_shares(program, python, 30, 0.03)


def check_shares(program, python, seconds, tolerance):
    with programs.start(python, programs.COUNTING, seconds) as running:
        programs.go(running)
        seen = programs.shares(program, seconds - 0.5, running.pid)
        spent = json.loads(running.stdout.readline())
    counted = {name: s / sum(spent.values()) for name, s in spent.items()}
    got = programs.by_function(seen, counted)
    assert seen["processes"][0]["access"] == "readable", seen["processes"]
    assert seen["torn"] <= 0.02 * seen["samples"]
    assert seen["samples"] >= 0.8 * 20 * (seconds - 1)
    for name, share in counted.items():
        assert abs(got[name] - share) <= tolerance, (counted, got)
