"""Commands in README and the guides run: those in blocks marked sh, and every assay line is one that assay takes."""
import json
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess

import pytest

from conftest import ROOT, clean_env

GUIDES = ["README.md", "docs/INSTALL.md", "docs/READING.md", "docs/SLURM.md", "docs/FAQ.md"]


def blocks(name):
    return re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / name).read_text(), re.S | re.M)


def command_lines():
    """(document, command) of every line of a marked block."""
    for name in GUIDES:
        for language, text in blocks(name):
            for line in text.splitlines():
                command = line.split("#")[0].strip()
                if language == "sh" and command:
                    yield name, command


@pytest.fixture(scope="module")
def folder(program, tmp_path_factory):
    """What the guides speak of: the example, a session, a script to run; the program under its name."""
    place = tmp_path_factory.mktemp("docs")
    (place / "docs").symlink_to(ROOT / "docs")
    shutil.copy(ROOT / "docs/example/tour.assay", place / "run.assay")
    (place / "train.py").write_text("print('trained')\n")
    (place / "bin").mkdir()
    (place / "bin/assay").symlink_to(pathlib.Path(program).resolve())
    return place


@pytest.mark.parametrize("name, command", sorted(set(command_lines())))
def test_command(folder, name, command):
    env = clean_env(folder)
    env["PATH"] = f"{folder}/bin:{env['PATH']}"
    if command == "assay serve":
        command = "timeout --preserve-status 2 assay serve --listen 127.0.0.1:0"  # it serves until it is told to end
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert "unknown option" not in done.stderr and "does not take" not in done.stderr and "unknown command" not in done.stderr
    no_gpu = "no GPU found" in done.stderr + done.stdout or command == "assay doctor"
    assert done.returncode == 0 or (no_gpu and done.returncode == 3), (name, done.stderr)


@pytest.mark.parametrize("name", GUIDES)
def test_every_assay_line_is_one_that_assay_takes(program, name):
    """Also those that need a cluster: --help wins over everything, and wrong options are told before it."""
    text = (ROOT / name).read_text()
    commands = re.findall(r"`(assay [^`\n]+)`", text) + [m for _, b in blocks(name) for m in re.findall(r"^(?:.*srun .*?|\$ )?(assay [^\n#]+)", b, re.M)]
    known = re.findall(r"^  (\w+) ", subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout.split("commands\n")[1]
                       .split("\n\n")[0], re.M)
    for command in commands:
        words = shlex.split(command.replace("'", " ").replace('"', " ").replace("...", ""))
        if len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
            assert words[1] in known, command
        if len(words) > 1 and words[1] in known and words[1] not in ("run", "mark"):
            taken = subprocess.run([program, "help", words[1]], capture_output=True, text=True, check=True).stdout
            taken += subprocess.run([program, "help", "options"], capture_output=True, text=True, check=True).stdout
            for flag in (w for w in words[2:] if w.startswith("--")):
                assert flag.split("=")[0] in taken, command


def test_scripts_are_shell():
    for language, text in blocks("docs/SLURM.md"):
        done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, (language, text, done.stderr)


def test_readme_fits_two_screens():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 100
    assert max(len(re.sub(r"\]\([^)]*\)", "]", line)) for line in lines) <= 140


@pytest.mark.parametrize("name", GUIDES + ["docs/STYLE.md"])
def test_links_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", (ROOT / name).read_text()):
        assert (ROOT / name).parent.joinpath(link).exists(), link


def test_the_table_in_the_readme_is_what_is_printed(program):
    shown = re.search(r"^\$ assay (once .*)\n((?:.*\n)*?)```", (ROOT / "README.md").read_text(), re.M)
    done = subprocess.run([program, *shown.group(1).split()], cwd=ROOT, env=clean_env("/"), capture_output=True, text=True, check=True)
    assert done.stdout == shown.group(2)


def test_the_score_of_a_perfect_product(program):
    """The sum in READING.md is the program's."""
    text = (ROOT / "docs/READING.md").read_text()
    points = [float(x) for x in re.findall(r"\| 0\.\d\d \| ([\d.]+) \|", text)]
    assert abs(sum(points) - float(re.search(r"\*\*([\d.]+)\*\*", text.split("Real Utilization |")[1]).group(1))) < 0.11
    done = subprocess.run([program, "once", "docs/example/tour.assay", "--at", "13", "--focus-gpu", "0"], cwd=ROOT, capture_output=True, text=True,
                          check=True)
    assert abs(float(re.search(r"real_util +([\d.]+)", done.stdout).group(1)) - sum(points)) < 0.5


def change(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


# Three phases that share edges, one of them twice, in the file of 0.1.0, which has none.
MARKS = [f"insert into mark(wall_ns, mono_ns, host, pid, type, name) select value + {ms} * 1000000, 0, 'node1', 1, '{kind}', '{name}' from manifest"
         " where key = 'start_ns'" for name, begin, end in (("a", 300, 1130), ("b", 1130, 2880), ("a", 2880, 3300), ("c", 1500, 4000))
         for ms, kind in ((begin, "begin"), (end, "end"))]


@pytest.fixture(scope="module", params=["this schema", "schema 1", "no window"])
def recording(program, request, tmp_path_factory):
    """A folder with run.assay and what the report says of it: a real run, one that 0.1.0 recorded, one whose source told no window."""
    place = tmp_path_factory.mktemp("sql")
    first = request.param == "schema 1"
    shutil.copy(ROOT / ("tests/fixtures/session/schema1.assay" if first else "docs/example/tour.assay"), place / "run.assay")
    if first:
        change(place / "run.assay", *MARKS)
    if request.param == "no window":
        change(place / "run.assay", "update tick set window = 0")
    report = subprocess.run([program, "report", place / "run.assay", "--level", "process", "--format", "json"], env=clean_env(place),
                            capture_output=True, text=True, check=True)
    return place, json.loads(report.stdout)


def printed(place, number, replaced=("", "")):
    queries = re.findall(r"^sqlite3 run\.assay (?:'[^']*'|\"[^\"]*\")$", (ROOT / "docs/SESSION.md").read_text(), re.M)
    assert len(queries) == 6
    done = subprocess.run(queries[number].replace(*replaced), shell=True, cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def asked(place, number, replaced=("", "")):
    """The rows of that query of SESSION.md, as a shell runs it."""
    rows = [line.split("|") for line in printed(place, number, replaced)]
    return {row[0]: [float(x) if x else None for x in row[1:]] for row in rows}


def test_sql_of_the_run(recording):
    place, report = recording
    run = report["run"]
    gpus = {g["gpu"]: [g["metrics"]["sm_active"]["mean"], g["metrics"]["power"]["max"]] for g in run["gpus"]}
    assert asked(place, 0) == {gpu: pytest.approx(values) for gpu, values in gpus.items()}
    assert asked(place, 1)["process"] == pytest.approx([run["level"]["cpu"]["mean"], run["level"]["memory"]["max"]])


@pytest.mark.parametrize("metric", ["sm_active", "power", "dram_active"])
def test_sql_of_phases_is_the_report(recording, metric):
    """One rule says which samples are a phase's, in SQL too."""
    place, report = recording
    means = {p["name"]: [p["gpus"][0]["metrics"][metric]["mean"]] for p in report["phases"]}
    assert len(means) >= 3
    assert asked(place, 2, ("g.sm_active", f"g.{metric}")) == {name: pytest.approx(mean, rel=1e-9) for name, mean in means.items()}


def test_sql_of_levels_in_phases_is_the_report(recording):
    place, report = recording
    means = {p["name"]: [p["level"]["cpu"]["mean"]] for p in report["phases"]}
    assert asked(place, 3) == {name: pytest.approx(mean, rel=1e-9) for name, mean in means.items()}


def test_sql_of_stacks(tmp_path):
    shutil.copy(ROOT / "tests/fuzz/corpus/session/stacks.assay", tmp_path / "run.assay")
    assert printed(tmp_path, 4) == ["10|/home/u/data.py|212|collate|2.0", "10|/home/u/train.py|88|main|1.0"]
    assert printed(tmp_path, 5) == ["/home/u/data.py|212|2.0", "/home/u/train.py|88|1.0"]


def test_the_readme_begins_with_how_to_get_run_and_test_it(tmp_path):
    """Within ten lines; the line that unpacks the source works on what git makes of the tree."""
    first = (ROOT / "README.md").read_text().splitlines()[:10]
    commands = [line.split("#")[0].strip() for line in first if line.startswith(("tar ", "./dev "))]
    assert [c for c in commands if c.startswith("./dev")] == ["./dev run", "./dev test"]
    unpack = next(c for c in commands if c.startswith("tar "))
    name = re.search(r"cd (\S+)", unpack)[1]
    if not (ROOT / ".git").exists():
        pytest.skip("no repository")
    subprocess.run(["git", "archive", f"--prefix={name}/", "-o", tmp_path / f"{name}.tar.gz", "HEAD"], cwd=ROOT, check=True)
    done = subprocess.run(f"{unpack} && ./dev help", shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "./dev test" in done.stdout, done
