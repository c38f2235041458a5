"""Changes one line of core logic at a time and runs the tests that should notice.

    mutate.py [WORD…]                        only changes whose file or tests contain a WORD; all without one
    mutate.py --random N [--seed S] [WORD…]  changes that nobody picked, drawn by hunt.py
    mutate.py --at FILE:LINE                 every change of one line

changes.txt is the table. The tree is copied into build-mutate/, so the working tree stays as it is. Prints each change as
noticed or survived; fails when fewer than 95 % were noticed, or when a change does not apply or does not compile.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import NamedTuple, Tuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / "build-mutate" / "tree"
BUILD = TREE / "build"
FAKE = "tests/libnvidia-ml-fake.so"
GOAL = 0.95
PATIENCE_S = 120


class Change(NamedTuple):
    tests: Tuple[str, ...]
    path: str
    old: str
    new: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}: {self.old.strip()}  ->  {self.new.strip()}"


def read_changes():
    """Three lines a change: 'FILE | TESTS', '-OLD', '+NEW'. Lines with # and empty ones are passed over."""
    lines = [(i, s) for i, s in enumerate((HERE / "changes.txt").read_text().splitlines(), 1) if s and not s.startswith("#")]
    for (at, head), (_, old), (_, new) in zip(lines[0::3], lines[1::3], lines[2::3]):
        if " | " not in head or old[:1] != "-" or new[:1] != "+":
            raise SystemExit(f"changes.txt:{at}: expected 'FILE | TESTS', '-OLD', '+NEW'")
        path, tests = head.split(" | ")
        yield Change(tuple(tests.split()), path, old[1:], new[1:], at)


def copy_tree():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split("\0")
    for name in filter(None, listed):
        source, to = ROOT / name, TREE / name
        if not source.is_file() or (to.is_file() and to.read_bytes() == source.read_bytes()):
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, to)


def is_unit(test):
    return not test.endswith(".py")


def compile_for(tests):
    """Whether it builds; only what the tests need."""
    targets = [f"tests/{t}" for t in tests if is_unit(t)]
    if not all(map(is_unit, tests)):
        targets.append("assay")
    if any(t.startswith("test_nvml") for t in tests):
        targets.append(FAKE)
    return subprocess.run(["ninja", "-C", BUILD, *targets], stdout=subprocess.DEVNULL).returncode == 0


def passes(test):
    env = {**os.environ, "FIXTURES": str(TREE / "tests/fixtures"), "ASSAY": str(BUILD / "assay"), "FAKE_NVML_LIB": str(BUILD / FAKE)}
    command = [BUILD / "tests" / test] if is_unit(test) else \
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", TREE / "tests" / test]
    try:
        done = subprocess.run(command, env=env, cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def try_change(change):
    """'noticed', 'survived', or why it could not be tried."""
    path = TREE / change.path
    text = path.read_text()
    if text.count(change.old) != 1:
        return f"its old text is there {text.count(change.old)} times"
    path.write_text(text.replace(change.old, change.new))
    try:
        if not compile_for(change.tests):
            return "it does not compile"
        return "survived" if all(passes(t) for t in change.tests) else "noticed"
    finally:
        path.write_text(text)


def main():
    words = sys.argv[1:]
    if any(w.startswith("--") for w in words):
        sys.path.insert(0, str(HERE))
        import hunt
        return hunt.main(words)
    changes = [c for c in read_changes() if not words or any(w in c.path or w in " ".join(c.tests) for w in words)]
    copy_tree()
    if not (BUILD / "build.ninja").is_file():
        subprocess.run(["meson", "setup", BUILD, "-Dtests=true"], cwd=TREE, stdout=subprocess.DEVNULL, check=True)
    tests = sorted({t for c in changes for t in c.tests})
    if not compile_for(tests):
        raise SystemExit("mutate: the tree does not compile as it is")
    broken = [t for t in tests if not passes(t)]
    if broken:
        raise SystemExit(f"mutate: these tests fail without any change: {' '.join(broken)}")
    results = {}
    for i, change in enumerate(changes, 1):
        began = time.monotonic()
        results[change] = try_change(change)
        print(f"{i:>3}/{len(changes)} {results[change]:<9} {time.monotonic() - began:5.1f} s  {change}", flush=True)
    compile_for(tests)
    noticed = sum(r == "noticed" for r in results.values())
    print(f"\nnoticed {noticed} of {len(changes)} ({100 * noticed / max(len(changes), 1):.1f} %)")
    for change, result in results.items():
        if result != "noticed":
            print(f"  changes.txt:{change.line}: {result}: {change}")
    wrong = any(r not in ("noticed", "survived") for r in results.values())
    return 1 if wrong or noticed < GOAL * len(changes) else 0


if __name__ == "__main__":
    sys.exit(main())
