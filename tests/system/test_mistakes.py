"""What people type by mistake: the exit status, what is said, and what is suggested."""
import os
import shutil
import subprocess

import pytest

from conftest import FIXTURES, ROOT, clean_env


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a session, a capture, and files that are neither."""
    place = tmp_path_factory.mktemp("mistakes")
    shutil.copy(ROOT / "docs/example/tour.assay", place / "run.assay")
    shutil.copy(FIXTURES / "dcgm" / "dmon-basic-2gpu-c3.txt", place / "dmon.txt")
    (place / "notes.txt").write_text("hello\n")
    (place / "empty.txt").write_text("")
    (place / "program").write_bytes(b"\x7fELF\0\0\0\0" * 100)
    (place / "folder").mkdir()
    return place


# (why people do it, command line, exit status, what is said, what is suggested)
MISTAKES = [
    ("a slip in a command", "repot run.assay", 2, "unknown command 'repot'", "did you mean 'assay report'?"),
    ("letters swapped", "onec", 2, "unknown command 'onec'", "did you mean 'assay once'?"),
    ("half a command", "conv run.assay run.csv", 2, "unknown command 'conv'", "did you mean 'assay convert'?"),
    ("the command is wrong, not the option after it", "repot --fromat html run.assay", 2, "unknown command 'repot'", "report"),
    ("nonsense gets no guess", "xyzzy", 2, "unknown command 'xyzzy'", "'assay help' lists the commands"),
    ("a session that is elsewhere", "nosuch.assay", 3, "no such file: 'nosuch.assay'", "a session, a capture"),
    ("the same with a command", "once nosuch.txt", 3, "no such file: 'nosuch.txt'", "a session, a capture"),
    ("the same with an option", "once --source nosuch", 3, "no such file: 'nosuch'", "check the name"),
    ("the same in a report", "report nosuch.assay", 3, "no such file: 'nosuch.assay'", "check the name"),
    ("record's argument is a source", "record new.assay", 3, "no such file: 'new.assay'", "assay record -o new.assay"),
    ("dashes forgotten", "once json", 2, "unexpected argument 'json'", "did you mean --json?"),
    ("two files", "once run.assay dmon.txt", 2, "unexpected argument 'dmon.txt'", "assay once [options] [FILE|URL]"),
    ("a file twice", "once run.assay --source dmon.txt", 2, "two sources: 'dmon.txt' and 'run.assay'", "one of them"),
    ("an argument where none is taken", "metrics sm", 2, "unexpected argument 'sm'", "usage: assay metrics"),
    ("options of other commands", "once --phase nope --begin --tag-cpu 3 --format html", 2, "assay once does not take --phase", "see 'assay once --help'"),
    ("an option of the dashboard", "report run.assay --theme dark", 2, "assay report does not take --theme", "see 'assay report --help'"),
    ("a slip in an option", "once --jsno", 2, "unknown option '--jsno'", "did you mean '--json'?"),
    ("an option with one dash", "once -json", 2, "unknown option '-json'", "did you mean '--json'?"),
    ("a nonsense option", "once --zzz", 2, "unknown option '--zzz'", "'assay help options' list them all"),
    ("a value forgotten", "export --poll", 2, "--poll needs a value", "write --poll SECONDS"),
    ("a value that is an option", "export --poll --json", 2, "--poll needs a value", "write --poll SECONDS"),
    ("a word for a number", "export --poll fast", 2, "'fast' is not a time", "'assay help export'"),
    ("too often", "export --poll 0", 2, "'0' is out of range", "from 0.001 s to 86400 s"),
    ("percent for a ratio", "report run.assay --tag-cpu 70", 2, "'70' is out of range", "from 0 to 1"),
    ("a choice of another command", "export dmon.txt --format html", 2, "unknown value 'html'", "csv|jsonl"),
    ("a slip in a choice", "report run.assay --format htlm", 2, "unknown value 'htlm'", "did you mean 'html'?"),
    ("a GPU that is not in the file", "once dmon.txt --gpus 99", 2, "no GPU '99'", "0, 1"),
    ("the same for one", "once dmon.txt --focus-gpu 9", 2, "no GPU '9'", "lists"),
    ("after the end", "once dmon.txt --at 999", 2, "beyond the end", "2.0 s long"),
    ("a column of another name", "export gpu_utl_pct", 2, "no column 'gpu_utl_pct'", "did you mean 'gpu_util_pct'"),
    ("no file for a report", "report", 2, "no file given", "assay report run.assay"),
    ("a phase that was not", "report run.assay --phase nope", 2, "no phase 'nope'", "from 0 'idle'"),
    ("a picture of another kind", "plot run.assay -o x.bmp", 2, "'x.bmp'", ".png"),
    ("half a conversion", "convert run.assay", 2, "two files", "assay convert run.assay run.csv"),
    ("a format nobody knows", "convert run.assay out.xyz", 2, "'out.xyz'", ".csv"),
    ("a report of an exporter", "report node7:9400/metrics", 2, "is an address", "assay record node7:9400/metrics"),
    ("another scheme", "once ftp://node7/metrics", 2, "only http and https", "http://HOST:9400/metrics"),
    ("nobody listens", "once localhost:1/metrics", 3, "cannot read 'http://localhost:1/metrics'", "is dcgm-exporter running?"),
    ("not a capture", "once notes.txt", 3, "cannot read 'notes.txt': unknown format", "a capture of 'dcgmi dmon'"),
    ("an empty file", "once empty.txt", 3, "cannot read 'empty.txt': it is empty", "a capture of 'dcgmi dmon'"),
    ("a program", "report program", 3, "cannot read 'program': it is not text", "a capture of 'dcgmi dmon'"),
    ("a folder", "once folder", 3, "cannot read 'folder': it is a folder", "a capture of 'dcgmi dmon'"),
    ("run without a command", "run", 125, "no command to run", "assay run python3 train.py"),
    ("run into a folder that is not there", "run -o no/such/x.assay touch ran", 125, "no such folder: 'no/such'", "mkdir -p"),
    ("run with an option of another command", "run --format html touch ran", 125, "assay run does not take --format", "see 'assay run --help'"),
    ("run of a program that is not there", "run nosuchprogram", 127, "cannot run 'nosuchprogram'", "PATH"),
    ("run of a text", "run ./notes.txt", 126, "cannot run './notes.txt'", "program"),
    ("a mark outside a run", "mark event x", 2, "no session to mark", "assay run"),
    ("a phase half said", "mark phase x", 2, "one of --begin, --end and --seconds", "--seconds S"),
    ("a number without a value", "mark metric loss", 2, "'loss' is not NAME=VALUE", "loss=0.25"),
    ("help on nothing", "help repot", 2, "no help on 'repot'", "did you mean 'assay help report'?"),
    ("the dashboard in a pipe", "top dmon.txt", 2, "needs a terminal", "assay once"),
]


@pytest.mark.parametrize("why, line, status, says, suggests", MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistake(program, folder, why, line, status, says, suggests):
    before = sorted(os.listdir(folder))
    done = subprocess.run([program, *line.split()], cwd=folder, env=clean_env(folder), capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, timeout=20)
    first, _, rest = done.stderr.partition("\n")
    assert done.returncode == status, (why, done.stderr)
    assert done.stdout == "" and first.startswith("assay: ") and says in first, (why, done.stderr)
    assert suggests in rest, (why, done.stderr)
    assert sorted(os.listdir(folder)) == before, "nothing was run, nothing written"


def test_there_are_forty():
    assert len(MISTAKES) >= 40 and len({m[1] for m in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("word", ["xyzzy", "qq", "frobnicate", "x", "42"])
def test_nonsense_gets_no_suggestion(assay, word):
    assert "did you mean" not in assay(word).stderr + assay("help", word).stderr + assay("once", "--" + word).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root makes the file another's")
@pytest.mark.parametrize("command", ["once", "report"])
def test_a_file_that_may_not_be_read(program, tmp_path, command):
    """Also a session: it is not taken for something else."""
    path = tmp_path / "private.assay"
    shutil.copy(ROOT / "docs/example/tour.assay", path)
    os.chmod(path, 0o600)
    for part in [tmp_path, *list(tmp_path.parents)[:3]]:
        if part.stat().st_uid == os.geteuid() and part != part.parent:
            os.chmod(part, part.stat().st_mode | 0o055)
    reachable = shutil.copy(program, tmp_path / "assay")
    done = subprocess.run([reachable, command, str(path)], env=clean_env("/"), capture_output=True, text=True, check=False,
                          user=65534, group=65534, extra_groups=[])
    assert done.returncode == 3 and "private.assay': permission denied" in done.stderr
    assert "belongs to uid 0, mode 0600" in done.stderr


def test_run_needs_no_dashes(assay, tmp_path):
    """Options end at the first word that is none, so the command's own are its own."""
    for words in (["sh", "-c", "exit 7"], ["--", "sh", "-c", "exit 7"], ["--poll", "0.5", "sh", "-c", "exit 7", "--help"]):
        assert assay("run", "-q", "-o", tmp_path / f"{len(words)}{words[0]}.assay", *words).returncode == 7
    said = assay("run", "-q", "-o", tmp_path / "echo.assay", "echo", "--version", "--", "-o")
    assert said.stdout == "--version -- -o\n"


@pytest.mark.parametrize("words", [["dmon.txt"], ["once", "dmon.txt"], ["once", "--source", "dmon.txt"], ["--once", "dmon.txt"]])
def test_a_file_is_a_source(program, folder, words):
    done = subprocess.run([program, *words], cwd=folder, env=clean_env(folder), capture_output=True, text=True, check=False)
    want = subprocess.run([program, "once", "--source", "dmon.txt"], cwd=folder, env=clean_env(folder), capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and done.stdout == want.stdout and "2 GPUs" in done.stdout


def test_export_takes_columns_and_a_file(program, folder):
    def lines(*words):
        return subprocess.run([program, "export", *words], cwd=folder, env=clean_env(folder), capture_output=True, text=True,
                              check=True).stdout
    assert lines("gpu_id", "dmon.txt") == lines("gpu_id", "--source", "dmon.txt")
    assert lines("dmon.txt") == lines("--source", "dmon.txt")


def test_environment_for_other_commands_is_ignored(assay, tmp_path):
    """Even a value that makes no sense: it is not meant for this command."""
    env = {"ASSAY_THEME": "pink", "ASSAY_PHASE": "x", "ASSAY_TAG_CPU": "70"}
    tour = FIXTURES / "dcgm" / "dmon-basic-2gpu-c3.txt"
    assert assay("once", tour, env=env).returncode == 0
    done = assay("report", tour, env=env)
    assert done.returncode == 2 and "the environment's tag-cpu" in done.stderr


def test_sections_of_the_config_file(assay, tmp_path):
    tour = FIXTURES / "dcgm" / "dmon-basic-2gpu-c3.txt"
    config = tmp_path / "config"
    config.write_text("gpus = 0\n[export]\ngpus = 1\n[report]\nformat = json\n")
    assert assay("export", "gpu_id", tour, "--config", config).stdout.split()[1:] == ["1", "1", "1"]
    assert assay("report", tour, "--config", config).stdout.startswith("{")
    config.write_text("[exprt]\ngpus = 1\n")
    done = assay("export", tour, "--config", config)
    assert done.returncode == 2 and "unknown section '[exprt]'" in done.stderr


def test_help_fits_a_terminal(assay):
    names = [c.split()[0] for c in assay("help").stdout.split("commands\n")[1].split("\n\n")[0].splitlines()]
    for name in ["help", "options", *names]:
        text = assay("help", name).stdout
        assert max(len(line) for line in text.splitlines()) <= 80, name
        if name not in ("help", "options"):
            assert text.split("\n\n")[1].count("\n") == 2, f"{name}: three examples come first"
    assert "  -o, --output FILE " in assay("help", "run").stdout
