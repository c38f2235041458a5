"""Stacks of CPython, read from outside: every version at hand, lines to the digit, and programs that lie."""
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "stacks"))
import judge  # noqa: E402

PYTHONS = judge.pythons()
FEW = [PYTHONS[0], PYTHONS[-1]] if len(PYTHONS) > 1 else PYTHONS
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


def tool(program, name):
    path = pathlib.Path(program).parent / "tests" / name
    if not path.exists():
        pytest.skip(f"no {name} in this build")
    return str(path)


@EACH
def test_lines_are_those_that_python_says(program, python):
    out = subprocess.run([python, "-c", TABLES], capture_output=True, text=True, check=True).stdout.splitlines()
    asked, expected = zip(*(line.split("|") for line in out))
    got = subprocess.run([tool(program, "stack_lines")], input="\n".join(asked) + "\n", capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(got) == len(expected) > 100
    for ask, want, line in zip(asked, expected, got):
        assert line.split() == want.split(), ask[:200]


def check_all(program, asked):
    """(Python, program) pairs, four at a time; what is off beside three others is measured again, alone."""
    sampler = tool(program, "stack_shares")
    off = []
    with ThreadPoolExecutor(4) as pool:
        for pair, seen in zip(asked, pool.map(lambda pair: judge.judge(*pair, 6, sampler), asked)):
            try:
                if seen:
                    check(seen, pair[1])
            except AssertionError:
                off.append(pair)
    assert len(off) <= len(asked) // 3, off
    for pair in off:
        check(judge.judge(*pair, 6, sampler), pair[1])


def test_shares_are_those_that_the_program_counts(program):
    check_all(program, [(path, "plain") for _, path in PYTHONS])


@pytest.mark.parametrize("python", [path for _, path in FEW], ids=[name for name, _ in FEW])
def test_programs_of_many_kinds(program, python):
    """Threads, generators, coroutines, recursion, callbacks, workers, a program that becomes another one or ends meanwhile."""
    check_all(program, [(python, name) for name in judge.NAMES])


@pytest.mark.long
@pytest.mark.quiet
@EACH
@pytest.mark.parametrize("name", judge.NAMES)
def test_each_place_within_three_points(program, python, name):
    seen = judge.judge(python, name, 30, tool(program, "stack_shares"))
    if not seen:
        pytest.skip("no headers of this Python")
    check(seen, name)
    assert abs(seen.worst()[1]) <= 0.03, (seen.counted, seen.seen)


def check(seen, name="plain"):
    assert seen.access == {"gone"}, (name, seen.access, seen.why)
    assert seen.torn <= 0.02, (name, seen.torn)
    assert sum(seen.seen.get(k, 0) for k in seen.counted) >= 0.85 * seen.total, (name, seen.counted, seen.seen)
    bounds = seen.bounds()
    for place, error in seen.errors().items():
        assert abs(error) <= bounds[place], (name, place, error, bounds[place], seen.counted, seen.seen)
