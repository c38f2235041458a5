"""Hostile files, kills and faults, as many as asked for.

    attack.py PROGRAM SECONDS

Each round takes a file of another kind and damages it, kills a recorder at a random moment, or makes an allocation or a write fail.
The program may refuse, with words and a status of its own; it may not crash, hang, or leave a recording that cannot be read.
`./dev test` runs a short round of each (tests/system/test_attack.py), `./dev attack` goes on for as long as it is told.
"""
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = [HERE / "fuzz" / "corpus" / "session" / name for name in ("small.assay", "host.assay", "stacks.assay")]
TEXTS = sorted(p for folder in ("dcgm", "nvidia-smi", "exposition") for p in (HERE / "fixtures" / folder).rglob("*") if p.is_file() and p.stat().st_size < 60000)
MEMORY = 2 << 30
# What may not be in a text: control characters but the line end, those that turn the direction of writing, bytes that are no letters.
TERMINAL = {chr(c) for c in (*range(10), *range(11, 32), *range(0x7f, 0xa0), *range(0x202a, 0x202f), *range(0x2066, 0x206a), *range(0xdc80, 0xdd00))}


class Broken(Exception):
    """The program did what it may not do."""


class Attack:
    """Rounds against one program, with what was tried counted."""

    def __init__(self, program, folder, seed):
        self.program = str(program)
        self.folder = pathlib.Path(folder)
        self.random = random.Random(seed)
        self.tried = {"hostile files": 0, "kills": 0, "faults": 0}
        self.preload = pathlib.Path(self.program).resolve().parent / "tests" / "libfail.so"
        self.allocations = 1
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC", "LANG": "C.UTF-8"}

    def run(self, *words, env=None):
        """Runs it; a crash, a hang or a failure without words is broken."""
        def limit():
            if not os.environ.get("SANITIZED"):
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            done = subprocess.run([self.program, *map(str, words)], env={**self.env, **(env or {})}, preexec_fn=limit, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired as late:
            raise Broken(f"{words} {env or ''} hangs") from late
        if done.returncode not in (0, 1, 2, 3, 125):
            raise Broken(f"{words} {env or ''}: status {done.returncode}: {done.stderr[-2000:]!r}")
        if done.returncode != 0 and b"assay: " not in done.stderr:
            raise Broken(f"{words} {env or ''}: fails without words")
        return done

    def damage(self, data):
        """Bytes flipped, cut, doubled, or set to what ends numbers."""
        data = bytearray(data)
        for _ in range(self.random.choice((1, 2, 8, 64))):
            if not data:
                break
            at = self.random.randrange(len(data))
            kind = self.random.randrange(5)
            if kind == 0:
                data[at] ^= 1 << self.random.randrange(8)
            elif kind == 1:
                data[at:at + 4] = self.random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
            elif kind == 2:
                del data[at:at + self.random.randrange(1, 64)]
            elif kind == 3:
                data[at:at] = data[at:at + self.random.randrange(1, 64)]
            else:
                data[at:at + 1] = self.random.choice((b"\x1b[2J", b"9e999", b"-", b"nan", b'"', b"\xff"))
        return bytes(data[:self.random.randrange(len(data) + 1)] if self.random.randrange(8) == 0 else data)

    def hostile(self):
        """One damaged file through one reader."""
        seed = self.random.choice(SEEDS if self.random.randrange(3) else TEXTS)
        path = self.folder / "hostile"
        path.write_bytes(self.damage(seed.read_bytes()))
        words = self.random.choice((["report"], ["report", "--format", "json"], ["report", "--format", "html"], ["plot", "-o", self.folder / "out.svg"],
                                    ["export", "--source"], ["once", "--source"], ["devices", "--source"], ["stacks", "--all"],
                                    ["stacks", "--format", "json"]))
        self.tried["hostile files"] += 1
        done = self.run(*words, path)
        odd = set((done.stdout + done.stderr).decode(errors="surrogateescape")) & TERMINAL
        if odd:
            raise Broken(f"{words}: {sorted(odd)} reach the terminal")
        for name in self.folder.glob("hostile*"):
            name.unlink()

    def kill(self):
        """A recorder is killed; what it left is read."""
        path = self.folder / "killed.assay"
        with subprocess.Popen([self.program, "record", "-q", "--interval", "0.05", "-o", path], env=self.env, stderr=subprocess.DEVNULL) as p:
            time.sleep(self.random.random() * 1.5)
            p.send_signal(signal.SIGKILL)
        self.tried["kills"] += 1
        if path.exists():
            self.read_killed(path)
        for name in self.folder.glob("killed*"):
            shutil.rmtree(name) if name.is_dir() else name.unlink()

    def read_killed(self, path):
        """What a killed recorder left reads the same in a copy, which nothing is added to, and as a baseline."""
        told = self.run("report", path)
        if told.returncode != 0:
            raise Broken("a killed recorder left a file that cannot be read")
        copy, kept = self.folder / "killed-copy", self.folder / "killed-kept"
        copy.mkdir()
        for name in self.folder.glob("killed.assay*"):
            if name.is_file() and not name.name.endswith("-shm"):
                shutil.copy(name, copy)
        before = sorted(name.name for name in copy.iterdir())
        same = self.run("report", copy / path.name).stdout.replace(bytes(copy), bytes(path.parent))
        if same != told.stdout or sorted(name.name for name in copy.iterdir()) != before:
            raise Broken("reading a copy of what a killed recorder left gives something else, or changes it")
        if self.run("baseline", "add", "x", path, "--baselines", kept).returncode == 0:
            kept_as = self.run("report", kept / "x" / "0001.assay").stdout.replace(bytes(kept / "x" / "0001.assay"), bytes(path))
            if kept_as != told.stdout:
                raise Broken("a baseline of what a killed recorder left tells something else")

    def fault(self):
        """One allocation, or one write, fails."""
        capture = HERE / "fixtures" / "tour" / "h200-tour.dmon.txt"
        out = self.folder / "fault.assay"
        jobs = (["once", "--source", capture], ["export", "--source", SEEDS[0]], ["report", SEEDS[0]], ["report", SEEDS[1], "--format", "json"],
                ["record", "-q", "--source", SEEDS[0], "-o", out], ["plot", SEEDS[0], "-o", self.folder / "fault.svg"],
                ["stacks", SEEDS[2], "--all"], ["report", SEEDS[2]],
                ["record", "-q", "--interval", "0.1", "--duration", "0.2", "-o", out])
        words = self.random.choice(jobs)
        self.allocations = self.allocations + 1 if self.allocations < 4000 else 1
        if words[0] in ("record", "plot") and self.random.randrange(2):
            env = {"FAIL_WRITE": str(self.random.randrange(1, 40)), "FAIL_ERRNO": self.random.choice(("28", "5"))}
        else:
            env = {"FAIL_ALLOC": str(self.allocations if self.random.randrange(2) else self.random.randrange(1, 4000))}
        if self.random.randrange(4) == 0:
            env["FAIL_EVERY"] = "1"
        self.tried["faults"] += 1
        self.run(*words, env={"LD_PRELOAD": str(self.preload), **env})
        if out.exists() and "FAIL_EVERY" not in env:
            self.run("report", out)
        for name in self.folder.glob("fault*"):
            shutil.rmtree(name) if name.is_dir() else name.unlink()

    def told(self):
        """What was tried, in words."""
        return ", ".join(f"{n} {what}" for what, n in self.tried.items())


def main():
    program, seconds = sys.argv[1], float(sys.argv[2])
    end, seed = time.monotonic() + seconds, random.randrange(1 << 32)
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(program, folder, seed)
        try:
            while time.monotonic() < end:
                attack.random.choice([attack.hostile] * 6 + [attack.kill] + [attack.fault] * 3)()
        except Broken as why:
            kept = shutil.copytree(folder, tempfile.mkdtemp(prefix="assay-attack-"), dirs_exist_ok=True)
            print(f"attack: broken (seed {seed}, files in {kept}): {why}")
            print(f"tried: {attack.told()}")
            return 1
    print(f"tried: {attack.told()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
