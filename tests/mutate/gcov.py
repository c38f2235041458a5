"""The counts that programs built with --coverage leave behind: which lines and branches were executed since the last look."""
import hashlib
import json
import os
import pathlib
import re
import subprocess

SRC = re.compile(r"(?:^|/)(src/(?!.*/\.\.)[^:]*)$")
AT_A_TIME = 100


def run_gcov(files, cwd):
    """(object, {source: [its lines as gcov tells them]}) of each file of counts."""
    for i in range(0, len(files), AT_A_TIME):
        done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *files[i:i + AT_A_TIME]], cwd=cwd, capture_output=True, check=False)
        for text in done.stdout.splitlines():
            told = json.loads(text)
            yield told["data_file"], {m.group(1): f["lines"] for f in told["files"] if (m := SRC.search(os.path.normpath(f["file"])))}


def all_lines(build):
    """({source: its lines that can be executed}, {source: its branches}), executed or not."""
    notes = sorted(str(p) for p in pathlib.Path(build).rglob("*.gcno"))
    lines, branches = {}, {}
    for _, sources in run_gcov(notes, build):
        for name, told in sources.items():
            lines.setdefault(name, set()).update(t["line_number"] for t in told)
            branches.setdefault(name, set()).update((t["line_number"], i) for t in told for i in range(len(t["branches"])))
    return lines, branches


class Counts:
    """The counts below one build folder. Those seen before are not worked out again."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.taken = self.build / "taken"
        self.known = {}
        self.folders = sorted({p.parent for p in self.build.rglob("*.gcno") if self.taken not in p.parents})
        for folder in self.folders:
            to = self.taken / folder.relative_to(self.build)
            to.mkdir(parents=True, exist_ok=True)
            for note in folder.glob("*.gcno"):
                if not (to / note.name).exists():
                    (to / note.name).symlink_to(note)

    def move(self):
        """Moved at once, so that nothing is lost of a program that ends meanwhile."""
        for folder in self.folders:
            to = self.taken / folder.relative_to(self.build)
            for name in os.listdir(folder):
                if name.endswith(".gcda"):
                    os.rename(folder / name, to / name)
                    yield to / name

    def take(self):
        """({source: its executed lines}, {source: taken branches}), and starts anew."""
        keys, unknown = [], []
        for path in self.move():
            key = (str(path), hashlib.blake2b(path.read_bytes(), digest_size=12).digest())
            keys.append(key)
            if key not in self.known:
                unknown.append(key)
        by_path = dict(unknown)
        for path, sources in run_gcov([k[0] for k in unknown], self.build):
            self.known[(path, by_path[path])] = [
                (name, [t["line_number"] for t in told if t["count"]], [(t["line_number"], i) for t in told for i, b in enumerate(t["branches"]) if b["count"]])
                for name, told in sources.items() if any(t["count"] for t in told)]
        lines, branches = {}, {}
        for key in keys:
            for name, executed, taken in self.known.get(key, ()):
                lines.setdefault(name, set()).update(executed)
                branches.setdefault(name, set()).update(taken)
        return {n: sorted(s) for n, s in lines.items()}, {n: sorted(s) for n, s in branches.items()}
