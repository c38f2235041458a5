"""Which test executes which line, recorded once with gcov; and how much of each room is executed at all.

    lines.py                   executed lines and branches by room; records what changed first
    lines.py --record [FILE…]  all tests, or those of some files anew (tests/system/test_x.py, unit:test_y)

The map stands in build-mutate/lines.pickle. Sources that changed since are compared with the text they had.
"""
import concurrent.futures
import difflib
import hashlib
import json
import os
import pathlib
import pickle
import queue
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import gcov  # noqa: E402
import sandbox  # noqa: E402

FOLDER = ROOT / "build-mutate"
COVER = FOLDER / "cover"
MAP = FOLDER / "lines.pickle"
JOBS = int(os.environ.get("JOBS") or 2)
FLAGS = ["-Dtests=true", "-Dbuildtype=plain", "-Doptimization=0"]
# Without optimization the compiler sees names that might not fit, and not that they were measured.
WARNINGS = "-Wno-error=format-truncation"
# These look at the tree and not at the program.
NOT_THESE = ("tests/lint/",)
LONGEST_FILE = 1800
# Programs of the build.
NOT_ROOMS = re.compile(r"/(embed|gendoc)\.c$")
# Seconds after which what was recorded is kept: a recording that was ended goes on where it was.
SAVE_EVERY = 30
ROOMS_OF_TWO = ("read", "present", "formats", "compute")


def room_of(path):
    """src/read/nvml/gpm.c is of read/nvml; src/read/source.c of read."""
    parts = path.split("/")[1:-1]
    return "/".join(parts[:2] if parts[0] in ROOMS_OF_TWO else parts[:1])


class Map:
    """tests: {name: (passed, seconds)}; lines: {source: {line: the tests, as bits of their numbers}}."""

    def __init__(self):
        self.names, self.tests, self.texts, self.lines, self.taken, self.all_lines, self.all_branches = [], {}, {}, {}, {}, {}, {}
        self.files = {}  # the digest that each file of tests had

    @staticmethod
    def load():
        if not MAP.is_file():
            raise SystemExit("mutate: no map of tests and lines yet; './dev coverage' makes one")
        found = Map()
        found.__dict__.update(pickle.loads(MAP.read_bytes()))
        return found

    def save(self):
        part = MAP.with_suffix(".part")
        part.write_bytes(pickle.dumps(self.__dict__))
        part.rename(MAP)

    def number(self, name):
        if name not in self.tests:
            self.names.append(name)
        return self.names.index(name)

    def add(self, told):
        bit = 1 << self.number(told["name"])
        self.tests[told["name"]] = (told["passed"], told["seconds"])
        for source, lines in told["lines"].items():
            of = self.lines.setdefault(source, {})
            for line in lines:
                of[line] = of.get(line, 0) | bit
        for source, branches in told["branches"].items():
            self.taken.setdefault(source, set()).update(map(tuple, branches))

    def forget(self, file):
        """What the tests of a file executed."""
        gone = {n for n in self.names if n == file or n.startswith(file + "::")}
        kept = ~sum(1 << i for i, n in enumerate(self.names) if n in gone)
        self.lines = {s: {i: bits & kept for i, bits in of.items()} for s, of in self.lines.items()}
        for n in gone:
            self.tests[n] = (False, 0)

    def bring_up(self, root=ROOT):
        """Moves what is known of each source to where its lines are now."""
        for source, old in list(self.texts.items()):
            path = root / source
            new = path.read_text() if path.is_file() else ""
            if new == old:
                continue
            moved = {}
            for tag, a, b, c, d in difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), False).get_opcodes():
                if tag == "equal":
                    moved.update((i + 1, i + 1 + c - a) for i in range(a, b))
                elif tag == "replace":
                    moved.update((a + 1 + i, min(c + 1 + i, d)) for i in range(b - a))
            lines = {}
            for line, bits in self.lines.get(source, {}).items():
                if line in moved:
                    lines[moved[line]] = lines.get(moved[line], 0) | bits
            self.lines[source] = lines
            self.all_lines[source] = {moved[i] for i in self.all_lines.get(source, ()) if i in moved}
            self.taken[source] = {(moved[i], k) for i, k in self.taken.get(source, ()) if i in moved}
            self.all_branches[source] = {(moved[i], k) for i, k in self.all_branches.get(source, ()) if i in moved}
            self.texts[source] = new

    def tests_of(self, bits):
        """Those that passed."""
        return [n for i, n in enumerate(self.names) if bits >> i & 1 and self.tests[n][0]]


def build():
    """Gives the texts that were built: the tree may change while tests run."""
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in (ROOT / "src").rglob("*") if p.suffix in (".c", ".h", ".def")}
    first = COVER / "w0"
    if not (first / "build.ninja").is_file():
        subprocess.run(["meson", "setup", first, *FLAGS, f"-Dc_args=--coverage {WARNINGS}", "-Dc_link_args=--coverage"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    if subprocess.run(["nice", "ninja", "-C", first], stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit("mutate: the tree does not compile")
    for stale in first.rglob("*.gcda"):
        stale.unlink()
    if not (COVER / "docs").exists():
        (COVER / "docs").symlink_to(ROOT / "docs")  # a program finds the tour beside its build
    for i in range(1, JOBS):
        copy_build(first, COVER / f"w{i}")
    return texts


def copy_build(first, to):
    """The names of the files of counts stand in the programs: their folders' names are as long, and changed inside."""
    shutil.rmtree(to, ignore_errors=True)
    for path in first.rglob("*"):
        copy = to / path.relative_to(first)
        if path.is_dir() and not path.is_symlink():
            copy.mkdir(parents=True, exist_ok=True)
        elif path.is_symlink():
            copy.symlink_to(path.readlink())
        elif path.suffix not in (".o", ".a", ".gcda") and first / "taken" not in path.parents:
            shutil.copy2(path, copy)
            if os.access(path, os.X_OK):
                copy.write_bytes(path.read_bytes().replace(f"/cover/{first.name}/".encode(), f"/cover/{to.name}/".encode()))


def environment(build_folder, **more):
    env = {**os.environ, "ASSAY": str(build_folder / "assay"), "ASSAY_LIB": str(build_folder / "libassay.so.0"), **more}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), env.get("PYTHONPATH")]))
    env.pop("ASSAY_TRIED", None)
    return env


def unit_tests(build_folder):
    """{unit:NAME: (command, environment)}, as Meson knows them."""
    told = json.loads(subprocess.run(["meson", "introspect", "--tests", build_folder], capture_output=True, text=True, check=True).stdout)
    return {f"unit:{t['name']}": (t["cmd"], t["env"]) for t in told}


def test_files():
    found = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "tests").rglob("test_*.py"))]
    return [f for f in found if not f.startswith(NOT_THESE)]


def digest(file):
    path = ROOT / (f"tests/unit/{file[5:]}.c" if file.startswith("unit:") else file)
    return hashlib.blake2b(path.read_bytes() if path.is_file() else b"", digest_size=12).hexdigest()


def changed_files():
    """Files of tests that the map does not have as they are now."""
    if not MAP.is_file():
        return ["all"]
    known = Map.load().files
    units = [f"unit:{p.stem}" for p in sorted((ROOT / "tests/unit").glob("test_*.c"))]
    return [f for f in [*units, *test_files()] if known.get(f) != digest(f)]


def refresh():
    """The map is made, or brought up to the tests as they are now."""
    changed = changed_files()
    if changed:
        print(f"mutate: recording which lines {len(changed) if changed != ['all'] else 'all'} files of tests execute", flush=True)
        record([] if changed == ["all"] else changed)


def record_file(folder, file):
    """What the tests of a file execute, a line of JSON a test."""
    out = folder / "told.jsonl"
    out.unlink(missing_ok=True)
    out.touch()
    if file.startswith("unit:"):
        command, env = unit_tests(COVER / "w0")[file]
        counts = gcov.Counts(folder)
        counts.take()
        began = time.monotonic()
        here = [str(c).replace(str(COVER / "w0"), str(folder)) for c in command]
        status, _ = sandbox.run(here, FOLDER, {**os.environ, **{k: v.replace(str(COVER / "w0"), str(folder)) for k, v in env.items()}}, ROOT, LONGEST_FILE)
        lines, branches = counts.take()
        return [{"name": file, "passed": status == 0, "seconds": time.monotonic() - began, "lines": lines, "branches": branches}]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "plugin", "--timeout", "300", "-m", "not quiet", ROOT / file]
    sandbox.run(command, FOLDER, environment(folder, ASSAY_LINES=str(out)), ROOT, LONGEST_FILE)
    return [json.loads(line) for line in out.read_text().splitlines()]


def record(files):
    texts = build()
    found = Map.load() if MAP.is_file() and files else Map()
    found.bring_up()
    found.texts = texts
    found.all_lines, found.all_branches = gcov.all_lines(COVER / "w0")
    files = files or [*unit_tests(COVER / "w0"), *test_files()]
    folders = queue.Queue()
    for i in range(JOBS):
        folders.put(COVER / f"w{i}")

    def one(file):
        folder = folders.get()
        try:
            return file, record_file(folder, file)
        finally:
            folders.put(folder)

    saved = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for n, future in enumerate(concurrent.futures.as_completed([pool.submit(one, f) for f in files]), 1):
            file, told = future.result()
            found.forget(file)
            found.files[file] = digest(file)
            for t in told:
                found.add(t)
            failed = [t["name"] for t in told if not t["passed"]]
            print(f"{n:3}/{len(files)} {file}: {len(told)} recorded, {len(failed)} failed or skipped, {sum(t['seconds'] for t in told):.1f} s", flush=True)
            if time.monotonic() - saved > SAVE_EVERY:
                found.save()
                saved = time.monotonic()
    found.save()


def show():
    """By room: the share of lines that any test executes, and of branches."""
    found = Map.load()
    found.bring_up()
    rooms = {}
    for source in sorted(found.all_lines):
        if source not in found.texts or NOT_ROOMS.search(source):
            continue
        room = rooms.setdefault(room_of(source), [0, 0, 0, 0])
        executed = {line for line, bits in found.lines.get(source, {}).items() if bits}
        room[0] += len(executed & found.all_lines[source])
        room[1] += len(found.all_lines[source])
        room[2] += len(found.taken.get(source, set()) & found.all_branches[source])
        room[3] += len(found.all_branches[source])
    rooms["all"] = [sum(r[i] for r in rooms.values()) for i in range(4)]
    print("| room | lines | executed | branches | taken |\n| --- | --- | --- | --- | --- |")
    for room, (lines, of_lines, branches, of_branches) in rooms.items():
        print(f"| {room} | {of_lines} | {100 * lines / max(of_lines, 1):.1f} % | {of_branches} | {100 * branches / max(of_branches, 1):.1f} % |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2:])
    elif sys.argv[1:]:
        raise SystemExit(__doc__)
    else:
        refresh()
    show()
