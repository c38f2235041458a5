"""Slips that nobody picked: draws lines of src/ and changes each; the tests must notice.

    hunt.py --random N [--seed S] [WORD…]    only lines of files whose path contains a WORD
    hunt.py --at FILE:LINE [--kind KIND]     every slip of one line

A line is drawn by weight (each that an operator can change counts alike), then one of its operators (operators.py). What does not compile is drawn again.
The tests that execute the line are run, the cheapest and most specific first, until one fails twice and passes without the change; lines.py knows them. A line that no test
executes is listed without a build. equivalent.txt excuses slips that change nothing anybody can see; at most a tenth of a draw.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import lines  # noqa: E402
import operators  # noqa: E402
import sandbox  # noqa: E402

EXCUSES = HERE / "equivalent.txt"
EXCUSED_MAX = 0.10
GOAL, GOAL_OF_A_ROOM, ROOM_LEAST = 0.85, 0.75, 8
FLAGS = [*lines.FLAGS, "-Ddebug=false", f"-Dc_args={lines.WARNINGS}"]
# Built programs that draw nothing at run time, and what stands in for a library that is absent.
NOT_DRAWN = re.compile(r"(/embed\.c|/gendoc\.c|_without(_\w+)?\.c|_api\.[ch])$")
FIRST_S = 10  # the first tests: as many as take so long
BUDGET_S = float(os.environ.get("BUDGET") or 150)
NOTICED, SURVIVED, UNEXECUTED, SAME, EXCUSED, BROKEN = "noticed", "survived", "unexecuted", "same code", "excused", "does not compile"


class Result(NamedTuple):
    slip: operators.Slip
    old: str
    new: str
    verdict: str
    by: str
    seconds: float

    def where(self):
        return f"{self.slip.path}:{self.slip.line}"


def changed_lines(text, slip):
    """The line before and after, in one line each."""
    first = text.rfind("\n", 0, slip.edits[0][0]) + 1
    last = text.find("\n", slip.edits[-1][1])
    after = slip.apply(text)
    return " ".join(text[first:last].split()), " ".join(after[first:last + len(after) - len(text)].split())


def read_excuses():
    """{(file, old line, new line): reason}; four lines each: 'FILE', '-OLD', '+NEW', '= reason'."""
    rows = [s for s in EXCUSES.read_text().splitlines() if s and not s.startswith("#")] if EXCUSES.is_file() else []
    found = {}
    for path, old, new, reason in zip(rows[0::4], rows[1::4], rows[2::4], rows[3::4]):
        if old[:1] != "-" or new[:1] != "+" or reason[:2] != "= " or len(reason) < 10:
            raise SystemExit(f"equivalent.txt: after '{path}' expected '-OLD', '+NEW', '= reason'")
        found[(path, old[1:].strip(), new[1:].strip())] = reason[2:]
    return found


# ---- which tests ----


class Choice:
    """Which tests execute a line."""

    def __init__(self, known):
        self.known = known
        self.weight = {}
        for of in known.lines.values():
            for bits in of.values():
                while bits:
                    low = bits & -bits
                    i = low.bit_length() - 1
                    self.weight[i] = self.weight.get(i, 0) + 1
                    bits ^= low
        self.used_by = self.read_includes()

    def read_includes(self):
        """{table or header: the sources that include it}."""
        found = {}
        for path, text in self.known.texts.items():
            for name in re.findall(r'#\s*include "([^"]+)"', text):
                found.setdefault(f"src/{name}", []).append(path)
        return found

    def of_file(self, path, seen=()):
        bits = 0
        for b in self.known.lines.get(path, {}).values():
            bits |= b
        if not bits and path not in seen:
            for user in self.used_by.get(path, ()):
                bits |= self.of_file(user, (*seen, path))
        return bits

    def of_line(self, path, line):
        """(the tests' bits, whether gcov knows the line). A statement's later lines are its first one's."""
        if path.endswith(".js"):
            return self.of_script(path), True
        counted = self.known.all_lines.get(path, ())
        text = self.known.texts.get(path, "").splitlines()
        for at in range(line, max(line - 15, 0), -1):
            if at in counted:
                return self.known.lines.get(path, {}).get(at, 0), True
            if at <= len(text) and text[at - 1][:1] in "}#" and at < line or at <= len(text) and text[at - 1].startswith("static const"):
                break
        return self.of_file(path), False

    def of_script(self, path):
        """Tests that run the page in a browser."""
        kind = "report" if "/report/" in path else "page"
        wanted = {f for f in lines.test_files() if "browser import" in (ROOT / f).read_text() or "scripts" in f}
        named = {f for f in wanted if ("serve" in f or "page" in f) == (kind == "page") or "scripts" in f}
        return sum(1 << i for i, n in enumerate(self.known.names) if n.split("::")[0] in named)

    def order(self, bits):
        """Names of tests, the best first: short ones that execute little else."""
        found = []
        for i, name in enumerate(self.known.names):
            passed, seconds = self.known.tests[name]
            if bits >> i & 1 and passed and ("::" in name or name.startswith("unit:")):
                found.append(((seconds + 0.1) * (1 + self.weight.get(i, 0) / 4000), name, seconds))
        return [(name, seconds) for _, name, seconds in sorted(found)]

    def rounds(self, bits):
        """Lists of tests: a few first, then as many as the budget allows; tests of one file stand together."""
        left, chosen, spent, limit = [], [], 0.0, FIRST_S
        for name, seconds in self.order(bits):
            if spent + seconds > BUDGET_S:
                break
            if spent > limit or len(chosen) > 60 and not left:
                left.append(chosen)
                chosen, limit = [], BUDGET_S
            chosen.append(name)
            spent += seconds
        return [together(c) for c in [*left, chosen] if c]


def together(names):
    """Unit tests first; then by file, in the order in which files come first."""
    units = [n for n in names if n.startswith("unit:")]
    files = {}
    for n in names:
        if not n.startswith("unit:"):
            files.setdefault(n.split("::")[0], []).append(n)
    return units, [n for of in files.values() for n in of]


# ---- one worker ----


class Worker:
    """A copy of the tree with a build of its own."""

    def __init__(self, number, seconds):
        self.folder = lines.FOLDER / f"hunt{number}"
        self.tree, self.build = self.folder / "tree", self.folder / "tree" / "build-hunt"
        self.seconds = seconds
        self.copy()
        if not (self.build / "build.ninja").is_file():
            linker = ["-Dc_link_args=-fuse-ld=lld"] if shutil.which("ld.lld") else []
            subprocess.run(["meson", "setup", self.build, *FLAGS, *linker], cwd=self.tree, stdout=subprocess.DEVNULL, check=True)
        if not self.compile(["all"]):
            raise SystemExit("mutate: the tree does not compile")
        self.units = lines.unit_tests(self.build)
        self.targets = self.read_targets()

    def copy(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        names = set(filter(None, listed.split("\0")))
        for name in names:
            source, to = ROOT / name, self.tree / name
            if source.is_file() and not (to.is_file() and to.read_bytes() == source.read_bytes()):
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, to)
        for stale in self.tree.glob("tests/**/test_*.py"):
            if str(stale.relative_to(self.tree)) not in names:
                stale.unlink()

    def read_targets(self):
        """{name of a program or library of tests/: its target}."""
        told = json.loads(subprocess.run(["meson", "introspect", "--targets", self.build], capture_output=True, text=True, check=True).stdout)
        files = [pathlib.Path(t["filename"][0]) for t in told if t["type"] in ("executable", "shared library")]
        return {f.name.split(".")[0]: str(f.relative_to(self.build)) for f in files if f.parent.name == "tests" and not f.name.startswith(("test_", "fuzz_"))}

    def compile(self, targets):
        return subprocess.run(["ninja", "-C", self.build, *targets], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def targets_for(self, names):
        """The program, the library, and what the tests' texts name besides."""
        found = {"assay", "libassay.so.0.2.0"} if (self.build / "libassay.so.0.2.0").exists() else {"assay", *(p.name for p in self.build.glob("libassay.so.*.*.*"))}
        for file in {n.split("::")[0] for n in names}:
            text = (self.tree / file).read_text()
            if "meson" in text:
                return ["all"]
            if file.startswith("tests/python"):
                text += (self.tree / "tests/python/conftest.py").read_text()
            found |= {target for word, target in self.targets.items() if re.search(rf"\b{word}\b", text)}
        return sorted(found)

    def run_unit(self, name):
        command, env = self.units[name]
        status, _ = sandbox.run(command, self.folder, {**os.environ, **env}, self.tree, 10 + 5 * self.seconds.get(name, 5))
        return status == 0

    def run_pytest(self, names):
        """The first that fails, or None."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.folder) as before:
            json.dump({n: self.seconds.get(n, 5) for n in names}, before)
            before.flush()
            command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-p", "plugin", "--timeout", "120", "-m",
                       "not quiet and not long", *names]
            env = lines.environment(self.build, ASSAY_SECONDS=before.name)
            status, output = sandbox.run(command, self.folder, env, self.tree, 60 + 3 * sum(self.seconds.get(n, 5) for n in names))
        if status in (0, 5):
            return None
        m = re.search(r"^(?:FAILED|ERROR) (tests/\S+?\.py(?:::.+?)?)(?: - .*)?$", output, re.M)
        if m and m.group(1) in names:
            return m.group(1)
        return next((n for n in names if m and n.startswith(m.group(1))), names[0])

    def passes_unchanged(self, name, change):
        """Whether a test that failed twice passes without the change: on a busy machine one may fail by itself."""
        path, before = change
        after = path.read_text()
        path.write_text(before)
        try:
            if name.startswith("unit:"):
                return self.compile([f"tests/{name[5:]}"]) and self.run_unit(name)
            return self.compile(self.targets_for([name])) and not self.run_pytest([name])
        finally:
            path.write_text(after)

    def notice(self, units, names, change):
        """The test that notices, or None. A test that fails only once is unsteady; change: the file and its text before."""
        for name in units:
            if name in self.units and self.compile([f"tests/{name[5:]}"]) and not self.run_unit(name) and not self.run_unit(name) and self.passes_unchanged(name, change):
                return name
        names = [n for n in names if (self.tree / n.split("::")[0]).is_file()]
        while names:
            if not self.compile(self.targets_for(names)):
                return None
            failed = self.run_pytest(names)
            if not failed:
                return None
            if self.run_pytest([failed]) and self.passes_unchanged(failed, change):
                return failed
            names = [n for n in names if n != failed]
        return None

    def same_code(self, path, before):
        """Whether an optimizing compiler makes the same code of both: nobody could ever notice."""
        if not path.endswith(".c"):
            return False
        told = json.loads((self.build / "compile_commands.json").read_text())
        command = next((c for c in told if (self.build / c["file"]).resolve() == self.tree / path), None)
        if not command:
            return False
        words = [w for w in command["command"].split() if w not in ("-MD", "-Werror")]
        words = ["gcc", *words[words.index("cc") + 1 if "cc" in words else 1:words.index("-o")], "-O2", "-w"]
        words = [w for w in words if w not in ("cc", "gcc", "ccache") or w == words[0]]
        made = []
        for text in (before, (self.tree / path).read_text()):
            with tempfile.TemporaryDirectory() as folder:
                to = pathlib.Path(folder) / "x.o"
                one = subprocess.run([*words, f"-I{(self.tree / path).parent}", "-g0", "-c", "-x", "c", "-", "-o", to], cwd=self.build, input=text, text=True,
                                     capture_output=True, check=False)
                made.append(to.read_bytes() if one.returncode == 0 else os.urandom(8))
        return made[0] == made[1]

    def try_slip(self, slip, rounds):
        """(verdict, the test that noticed)."""
        path = self.tree / slip.path
        before = path.read_text()
        path.write_text(slip.apply(before))
        try:
            if not self.compile(self.targets_for([])):
                return BROKEN, ""
            for units, names in rounds:
                by = self.notice(units, names, (path, before))
                if by:
                    return NOTICED, by
            return (SAME, "") if self.same_code(slip.path, before) else (SURVIVED, "")
        finally:
            path.write_text(before)


# ---- the draw ----


def all_slips(words):
    """{(file, line): its slips}, of what is built."""
    told = json.loads((lines.COVER / "w0" / "compile_commands.json").read_text())
    built = {os.path.normpath(lines.COVER / "w0" / c["file"]) for c in told}
    enums = operators.read_enums(ROOT, lines.COVER / "w0")
    found = {}
    for path in sorted((ROOT / "src").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.suffix not in (".c", ".h", ".def", ".js") or NOT_DRAWN.search(name) or (path.suffix == ".c" and str(path) not in built):
            continue
        if words and not any(w in name for w in words):
            continue
        for slip in operators.slips_of(name, path.read_text(), enums):
            found.setdefault((name, slip.line), []).append(slip)
    return found


def draw(slips, rng):
    """Slips without end, none twice."""
    places, seen = sorted(slips), set()
    while len(seen) < sum(map(len, slips.values())):
        of = slips[rng.choice(places)]
        kind = rng.choice(sorted({s.kind for s in of}))
        slip = rng.choice([s for s in of if s.kind == kind])
        if slip not in seen:
            seen.add(slip)
            yield slip


class Hunt:
    """Workers take slips in the order of the draw, and the first N that compile count: the same for any number of workers."""

    def __init__(self, stream, count, choice):
        self.stream, self.count, self.choice = stream, count, choice
        self.excuses = read_excuses()
        self.lock = threading.Lock()
        self.results, self.taken = {}, 0

    def take(self):
        """The next slip and its number; None when enough are done or being tried."""
        with self.lock:
            broken = sum(r.verdict == BROKEN for r in self.results.values())
            if self.taken - broken >= self.count:
                return None
            slip = next(self.stream, None)
            self.taken += slip is not None
            return (self.taken, slip) if slip else None

    def judge(self, slip, worker):
        text = (ROOT / slip.path).read_text()
        old, new = changed_lines(text, slip)
        began = time.monotonic()
        bits, is_counted = self.choice.of_line(slip.path, slip.line)
        if (slip.path, old, new) in self.excuses:
            verdict, by = EXCUSED, self.excuses[(slip.path, old, new)]
        elif not bits and is_counted:
            verdict, by = UNEXECUTED, ""
        else:
            verdict, by = worker.try_slip(slip, self.choice.rounds(bits))
        return Result(slip, old, new, verdict, by, time.monotonic() - began)

    def work(self, worker):
        while got := self.take():
            number, slip = got
            result = self.judge(slip, worker)
            with self.lock:
                self.results[number] = result
                if result.verdict != BROKEN:
                    print(f"{number:4} {result.verdict:<10} {result.seconds:5.1f} s  {result.where()} ({slip.kind}) {result.by}", flush=True)

    def run(self, workers):
        threads = [threading.Thread(target=self.work, args=(w,)) for w in workers]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return [r for _, r in sorted(self.results.items()) if r.verdict != BROKEN][:self.count]


# ---- the account ----


def tell(results, out):
    """Survivors with their lines, and shares by room; whether the goals are met."""
    counted = [r for r in results if r.verdict not in (SAME, EXCUSED)]
    noticed = [r for r in counted if r.verdict == NOTICED]
    for verdict in (SURVIVED, UNEXECUTED, EXCUSED, SAME):
        some = [r for r in results if r.verdict == verdict]
        if some:
            out.write(f"\n{verdict}: {len(some)}\n")
        for r in some:
            out.write(f"  {r.where()} ({r.slip.kind}){': ' + r.by if r.by else ''}\n    - {r.old}\n    + {r.new}\n")
    rooms = {}
    for r in counted:
        room = rooms.setdefault(r.slip.path.split("/")[1], [0, 0])
        room[0] += r.verdict == NOTICED
        room[1] += 1
    out.write("\n")
    for room, (n, of) in sorted(rooms.items()):
        out.write(f"  {room:<12} {n:3} of {of:3}\n")
    excused = sum(r.verdict == EXCUSED for r in results)
    out.write(f"\nnoticed {len(noticed)} of {len(counted)} ({100 * len(noticed) / max(len(counted), 1):.1f} %); {excused} excused\n")
    too_many = excused > EXCUSED_MAX * len(results) + 0.5
    if too_many:
        out.write(f"more than {100 * EXCUSED_MAX:.0f} % are excused\n")
    weak = [room for room, (n, of) in rooms.items() if of >= ROOM_LEAST and n < GOAL_OF_A_ROOM * of]
    return not too_many and not weak and len(noticed) >= GOAL * len(counted)


def main(argv):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.partition("\n")[0])
    parser.add_argument("--random", type=int, metavar="N", help="so many slips")
    parser.add_argument("--seed", type=int, default=None, help="the same draw again")
    parser.add_argument("--at", metavar="FILE:LINE", help="every slip of one line")
    parser.add_argument("--kind", help="with --at: only this operator")
    parser.add_argument("--as-recorded", action="store_true", help="go by the tests that were recorded, without those that changed since")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args(argv)
    if not args.as_recorded:
        lines.refresh()
    known = lines.Map.load()
    known.bring_up()
    choice = Choice(known)
    if args.at:
        path, line = args.at.rsplit(":", 1)
        found = [s for s in all_slips([path]).get((path, int(line)), []) if not args.kind or s.kind == args.kind]
        stream, count = iter(found), len(found)
    else:
        seed = random.SystemRandom().randrange(1 << 31) if args.seed is None else args.seed
        print(f"seed {seed}", flush=True)
        stream, count = draw(all_slips(args.words), random.Random(seed)), args.random
    seconds = {name: s for name, (_, s) in known.tests.items()}
    workers = [Worker(i, seconds) for i in range(min(lines.JOBS, max(count, 1)))]
    began = time.monotonic()
    results = Hunt(stream, count, choice).run(workers)
    good = tell(results, sys.stdout)
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
