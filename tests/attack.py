"""Hostile files, kills and faults, as many as asked for.

    attack.py PROGRAM SECONDS

Each round takes a file of another kind and damages it, kills a recorder at a random moment, or makes an allocation or a write fail.
The program may refuse, with words and a status of its own; it may not crash, hang, or leave a recording that cannot be read.
`./dev test` runs a short round of each (tests/system/test_attack.py), `./dev attack` goes on for as long as it is told.
"""
import contextlib
import http.server
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = [HERE / "fuzz" / "corpus" / "session" / name for name in ("small.assay", "host.assay", "stacks.assay")]
TEXTS = sorted(p for folder in ("dcgm", "nvidia-smi", "exposition") for p in (HERE / "fixtures" / folder).rglob("*") if p.is_file() and p.stat().st_size < 60000)
MEMORY = 2 << 30
# What may not be in a text: control characters but the line end, those that turn the direction of writing, bytes that are no letters.
TERMINAL = {chr(c) for c in (*range(10), *range(11, 32), *range(0x7f, 0xa0), *range(0x202a, 0x202f), *range(0x2066, 0x206a), *range(0xdc80, 0xdd00))}


EVIL = "\033[2J\u009b31m\u202e\nFORGED </script><script>alert(1)</script> \u2028\r\"'`$(x)"
# What a value of a recording may be in another's: no number, no time, no name.
VALUES = (None, -1, 0, 1, 2**31, 2**63 - 1, -2**63, 1e308, -1e308, 9e999, 5e-324, 0.5, "", "nan", "-inf", "1e999", EVIL, "A" * 100000, b"\xff\xfe\0", b"\0" * 100000,
          '{"unit":"' + EVIL.replace('"', "") + '"}', '{"a":[[[[1e308]]]]}', "[" * 3000)
# What reads a recording, and whether it writes text, JSON or files. {} is the recording, {out} a file of its own.
READERS = [line.split() for line in """
    report {}|report {} --all|report {} --each|report {} --format json|report {} --format html|report {} --format markdown|report {} --format csv|report {} --format resource-summary
    report {} --goodput|report {} --goodput --format json|report {} --flops-per-step 1e12|report {} --charts power,sm_active --format html|export --source {}|export --source {} --format jsonl
    export trace {}|export stacks {}|export stacks {} --format speedscope|once --source {}|once --source {} --json|devices --source {}|stacks --all {}|stacks {} --format json
    why {}|why {} --format json|why {} --format markdown|why {} --format html|diff {} {}|diff {} {} --format json|diff {} {} --format html|diff {} {} --format junit|plot {} -o {out}.svg
    convert {} {out}.parquet|convert {} {out}.csv|convert {} {out}.jsonl|convert {} {out}.zip|convert {} {out}.assay|convert {} {out}.txt|publish {} tensorboard:{out}|publish {} jsonl:{out}.jsonl
""".replace("\n", "|").split("|") if line.strip()]


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
        # A verdict has a status of its own, with its words.
        if done.returncode != 0 and b"assay: " not in done.stderr and not (done.returncode in (1, 3) and words[0] in ("why", "diff") and done.stdout):
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

    def marked(self):
        """A small recording with steps, phases, numbers, a model server and a collector: what the newest tables hold. Made once."""
        path = self.folder / "marked.assay"
        if path.exists():
            return path
        text = (HERE / "fixtures" / "engines" / "vllm.prom").read_bytes()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(text)

            def log_message(self, *_):
                pass
        marks = "; ".join(f"{self.program} mark {words} > /dev/null" for words in ("phase train --begin", "step", "step", "step", "event checkpoint", "metric loss=0.5", "phase train --end"))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.run("run", "-q", "--poll", "0.1", "--engine", f"http://127.0.0.1:{server.server_port}/metrics", "--collect", "queue=echo 7 it/s", "--flops-per-step", "1e12",
                     "-o", path, "--", "sh", "-c", f"{marks}; sleep 0.5")
            server.shutdown()
        return path

    def craft(self, path):
        """A copy of a recording in which some values are what no recorder writes: it is a database as before."""
        shutil.copy(self.random.choice([*SEEDS, self.marked(), self.marked()]), path)
        path.chmod(0o600)
        changed = []
        with contextlib.closing(sqlite3.connect(path)) as db:
            tables = [name for name, in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
            for _ in range(self.random.choice((1, 1, 2, 4))):
                table = self.random.choice(tables)
                column = self.random.choice([row[1] for row in db.execute(f"pragma table_info({table})")])
                where = self.random.choice(("", f"where rowid = (select rowid from {table} order by random() limit 1)"))
                value = self.random.choice(VALUES)
                change = self.random.choice([f"update {table} set {column} = ?1 {where}"] * 6 + [f"update {table} set {column} = {column} * ?1 {where}", f"delete from {table} {where}",
                                                                                                 f"insert into {table} select * from {table} {where}"])
                # A table's own constraints hold in what others write, too.
                with contextlib.suppress(sqlite3.Error):
                    db.execute(change, (value,) if "?1" in change else ())
                    changed.append((change, str(value)[:40]))
            db.commit()
        return changed

    def crafted(self):
        """A recording that a stranger made up, through what reads it: text, JSON, pages and the files of other tools."""
        path, out = self.folder / "crafted.assay", self.folder / "crafted-out"
        changed = self.craft(path)
        self.tried["hostile files"] += 1
        for words in self.random.sample(READERS, 4):
            words = [word.format(path, out=out) if "{" in word else word for word in words]
            try:
                self.check(words, self.run(*words))
            except Broken as why:
                raise Broken(f"{why}; {changed}") from why
        for name in self.folder.glob("crafted*"):
            shutil.rmtree(name) if name.is_dir() else name.unlink()

    @staticmethod
    def check(words, done):
        """What is written is well-formed whatever was read: JSON without NaN, pages without other scripts, text without control characters or lines of a name's own."""
        def refuse(word):
            raise Broken(f"{words}: {word} is no JSON")
        said, text = (s.decode(errors="surrogateescape") for s in (done.stderr, done.stdout))
        odd = (set(said) | (set() if words[0] == "export" else set(text))) & TERMINAL
        lines = said.split("\n") + ([] if "html" in words else text.split("\n"))
        if odd or any(line.strip().startswith("FORGED") for line in lines):
            raise Broken(f"{words}: {sorted(odd)} or a line of a name's own reaches the terminal")
        if "<script>alert" in text and "html" in words:
            raise Broken(f"{words}: a script of a name's own")
        if done.returncode in (0, 1) and text.startswith("{"):
            try:
                for part in text.splitlines() if "jsonl" in words else [text]:
                    json.loads(part, parse_constant=refuse)
            except ValueError as why:
                raise Broken(f"{words}: {why}") from why

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
                attack.random.choice([attack.hostile] * 4 + [attack.crafted] * 4 + [attack.kill] + [attack.fault] * 3)()
        except Broken as why:
            kept = shutil.copytree(folder, tempfile.mkdtemp(prefix="assay-attack-"), dirs_exist_ok=True)
            print(f"attack: broken (seed {seed}, files in {kept}): {why}")
            print(f"tried: {attack.told()}")
            return 1
    print(f"tried: {attack.told()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
