"""Runs every test there is and ends with one line: N passed, N failed.

C tests are run by Meson (one TAP line a case), the others beside them by pytest, a process a file, several at a time:
most of them wait more than they compute. Tests marked 'quiet' measure the machine, and have it for themselves at the end.

What failed is run again, alone, at most twice. What passes then is listed as unsteady, and does not fail the run.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
# Seconds that no test needs: one that hangs fails with its stack, and the others go on. A file of tests that hangs itself is ended.
LONGEST_TEST = 300
LONGEST_FILE = 900
# Beyond this many failures something basic is broken, and running them again would only take time.
MOST_AGAIN = 40
TRIES_ALONE = 2


def xml_counts(path):
    """Passed and failed cases of a junit file, and the seconds they took."""
    passed = failed = 0
    seconds = 0.0
    for case in xml.parse(path).iter("testcase"):
        seconds += float(case.get("time") or 0)
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None:
            passed += 1
    return passed, failed, seconds


def name_of(file):
    """Files of the same name stand in several folders."""
    return f"{file.parent.name}-{file.stem}"


class Tests:
    """One run: what passed, and what failed by name."""

    def __init__(self, build, folder):
        self.build = build.resolve()
        self.folder = folder
        self.logs = self.build / "pytest"
        self.logs.mkdir(exist_ok=True)
        self.quick = os.environ.get("QUICK") == "yes"
        self.jobs = int(os.environ.get("JOBS") or 2 * (os.cpu_count() or 1))
        self.passed = 0
        self.failed = []  # (name, how to run it again)
        self.env = {**os.environ, "ASSAY_LIB": str(self.build / "libassay.so.0"), "ASSAY_TRIED": str(self.build / "tried.txt")}
        (self.build / "tried.txt").unlink(missing_ok=True)

    def words(self, which):
        return f"{which} and not slow" if self.quick else which

    def cost(self, file):
        """Seconds the file took the last time; without one, its size tells which to start first."""
        try:
            return float((self.logs / f"{name_of(file)}.s").read_text())
        except (OSError, ValueError):
            return file.stat().st_size / 1e3

    def pytest(self, name, targets, words):
        """Runs pytest; gives passed cases, the names of failed ones, seconds and what it printed."""
        report, failures, log = (self.logs / f"{name}.{kind}" for kind in ("xml", "failed", "log"))
        report.unlink(missing_ok=True)
        failures.unlink(missing_ok=True)
        args = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", str(LONGEST_TEST), "--junitxml", report,
                "--basetemp", self.folder / name, "-m", words, *targets]
        status = self.wait_for(args, {**self.env, "ASSAY_FAILED": str(failures)}, log)
        shutil.rmtree(self.folder / name, ignore_errors=True)
        failed = [json.loads(line) for line in failures.read_text().splitlines()] if failures.exists() else []
        passed, bad, seconds = xml_counts(report) if report.exists() else (0, 1, 0.0)
        # 5: the words choose none of the file's tests.
        if (status not in (0, 1, 5) or bad) and not failed:
            failed = [str(t) for t in targets]
        return passed, sorted(set(failed)), seconds, log.read_text(errors="replace")

    @staticmethod
    def wait_for(args, env, log):
        """The exit status. What it prints goes into a file: whatever a test leaves behind could hold a pipe open for ever."""
        with log.open("wb") as output:
            process = subprocess.Popen(args, env=env, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=HERE.parent)
            try:
                return process.wait(LONGEST_FILE)
            except subprocess.TimeoutExpired:
                output.write(f"\nended: not done after {LONGEST_FILE} s\n".encode())
                return None
            finally:
                process.kill()
                process.wait()

    def file(self, file):
        """One file's tests, but for the quiet ones."""
        began = time.monotonic()
        result = self.pytest(name_of(file), [file], self.words("not quiet"))
        (self.logs / f"{name_of(file)}.s").write_text(f"{result[2]:.1f}")
        return file, result, time.monotonic() - began

    def take(self, result, words):
        passed, failed, _, output = result
        self.passed += passed
        self.failed += [(name, lambda name=name, words=words: self.again(name, words)) for name in failed]
        if failed:
            print(output)

    def again(self, name, words):
        passed, failed, _, output = self.pytest("again", [name], words)
        if failed:
            print(output)
        return passed and not failed

    def run_all(self):
        # A library with a sanitizer inside cannot be loaded into an interpreter without one.
        left_out = HERE / "python" if os.environ.get("SANITIZED") else None
        files = sorted((f for f in HERE.rglob("test_*.py") if f.parent != left_out), key=self.cost, reverse=True)
        with concurrent.futures.ThreadPoolExecutor(self.jobs + 1) as pool:
            unit = pool.submit(self.meson, [])
            running = [pool.submit(self.file, file) for file in files]
            for n, future in enumerate(concurrent.futures.as_completed(running), 1):
                file, result, seconds = future.result()
                failed = f", {len(result[1])} failed" if result[1] else ""
                print(f"{n:3}/{len(files)} {file.relative_to(HERE)}: {result[0]} passed{failed}, {seconds:.1f} s", flush=True)
                self.take(result, "")
            self.take_meson(*unit.result())
        result = self.pytest("quiet", [HERE], self.words("quiet"))
        print(f"quiet: {result[0]} passed, {result[2]:.1f} s", flush=True)
        self.take(result, "")

    def take_meson(self, passed, failed):
        self.passed += passed
        for program, case in failed:
            print("FAILED", program, case)
            self.failed.append((f"{program}: {case}", lambda program=program: not self.meson([program])[1]))

    def meson(self, names):
        """The C tests, or some of their programs; gives how many cases passed, and those that failed."""
        subprocess.run(["meson", "test", "-C", self.build, "--no-rebuild", "--print-errorlogs", "--num-processes", str(os.cpu_count() or 1), *names],
                       env=self.env, check=False)
        passed, failed = 0, []
        for suite in xml.parse(self.build / "meson-logs" / "testlog.junit.xml").iter("testsuite"):
            cases = list(suite.iter("testcase"))
            bad = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
            # A program of unit tests is a suite of its own; fuzzers are cases of one suite.
            program = suite.get("name").partition(" / ")[2]
            failed += [(program or case.get("name").partition(" / ")[2], case.get("name")) for case in bad]
            # A program that crashes before its first case has no case to blame.
            if int(suite.get("errors") or 0) and not cases:
                failed.append((program or suite.get("name"), "no case"))
            passed += len([c for c in cases if c not in bad and c.find("skipped") is None])
        return passed, failed

    def run_again(self):
        """Runs what failed again, alone: gives those that are only unsteady, and leaves the others."""
        unsteady = []
        if len(self.failed) <= MOST_AGAIN:
            for name, again in list(self.failed):
                print(f"again, alone: {name}", flush=True)
                if any(again() for _ in range(TRIES_ALONE)):
                    unsteady.append(name)
            self.failed = [f for f in self.failed if f[0] not in unsteady]
            self.passed += len(unsteady)
        return unsteady

    def tell_tried(self):
        """How many hostile files, kills and faults the tests tried; each test writes its own lines."""
        counts = {"hostile files": 0, "kills": 0, "faults": 0}
        path = self.build / "tried.txt"
        for line in path.read_text(encoding="ascii").splitlines() if path.exists() else []:
            n, what = line.split(" ", 1)
            counts[what] = counts.get(what, 0) + int(n)
        print("tried: " + ", ".join(f"{n} {what}" for what, n in counts.items()))


def main():
    with tempfile.TemporaryDirectory(prefix="assay-tests-") as folder:
        tests = Tests(pathlib.Path(sys.argv[1]), pathlib.Path(folder))
        tests.run_all()
        unsteady = tests.run_again()
    for name, _ in tests.failed:
        print("FAILED", name)
    if unsteady:
        print(f"UNSTEADY: {len(unsteady)} failed beside others and passed alone; please mend:")
        for name in unsteady:
            print("  UNSTEADY", name)
    tests.tell_tried()
    print(f"{tests.passed} passed, {len(tests.failed)} failed")
    return 1 if tests.failed or not tests.passed else 0


if __name__ == "__main__":
    sys.exit(main())
