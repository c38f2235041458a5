"""Runs every test there is and ends with one line: N passed, N failed.

C tests are run by Meson (one TAP line a case), the others by pytest.
"""
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

here = os.path.dirname(os.path.abspath(__file__))


def run_meson(build):
    """Passed and failed cases of the C tests."""
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs"], check=False)
    tree = xml.parse(os.path.join(build, "meson-logs", "testlog.junit.xml"))
    passed = failed = 0
    for case in tree.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            print("FAILED", case.get("classname"), case.get("name"))
        elif case.find("skipped") is None:
            passed += 1
    for suite in tree.iter("testsuite"):
        # A program that crashes before its first case has no case to blame.
        if int(suite.get("errors") or 0) and not list(suite.iter("testcase")):
            failed += 1
    return passed, failed


def run_pytest(build):
    """Passed and failed cases of the tests around the program."""
    report = os.path.join(build, "pytest.xml")
    args = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report, here]
    if os.environ.get("QUICK") == "yes":
        args += ["-m", "not slow"]
    library = os.path.join(os.path.abspath(build), "libassay.so.0")
    tried = os.path.join(os.path.abspath(build), "tried.txt")
    if os.path.exists(tried):
        os.unlink(tried)
    done = subprocess.run(args, env={**os.environ, "ASSAY_LIB": library, "ASSAY_TRIED": tried}, check=False)
    suite = next(xml.parse(report).iter("testsuite"))
    bad = int(suite.get("failures")) + int(suite.get("errors"))
    if done.returncode not in (0, 1):
        bad = max(bad, 1)
    return int(suite.get("tests")) - bad - int(suite.get("skipped")), bad


def tell_tried(build):
    """How many hostile files, kills and faults the tests tried; each test writes its own lines."""
    counts = {"hostile files": 0, "kills": 0, "faults": 0}
    path = os.path.join(build, "tried.txt")
    if os.path.exists(path):
        with open(path, encoding="ascii") as lines:
            for line in lines:
                n, what = line.rstrip("\n").split(" ", 1)
                counts[what] = counts.get(what, 0) + int(n)
    print("tried: " + ", ".join(f"{n} {what}" for what, n in counts.items()))


def main():
    build = sys.argv[1]
    counts = [run_meson(build), run_pytest(build)]
    passed = sum(c[0] for c in counts)
    failed = sum(c[1] for c in counts)
    sys.stdout.flush()
    tell_tried(build)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
