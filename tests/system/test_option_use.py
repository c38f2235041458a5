"""An option belongs to the commands that take it: what is accepted changes something, and all else is refused with what to do."""
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

from conftest import FIXTURES, ROOT, clean_env
from drm_tree import Tree
from test_hostile_records import COLUMNS, FAIR

# (why people do it, command line, what is said, what is suggested)
REFUSED = [
    ("an event has no length", "mark event x --begin", "--begin is for a phase", "assay mark phase NAME"),
    ("nor an end", "mark event c --seconds 3 --end", "is for a phase", "assay mark phase NAME"),
    ("a number has no length", "mark metric b=1 --seconds 3", "--seconds is for a phase", "assay mark phase NAME"),
    ("a number has no details", "mark metric a=1 --data {}", "--data is for an event", "leave it out"),
    ("a phase has words", "mark phase p --begin --data {}", "--data is for an event", "KEY=VALUE"),
    ("a command is a phase of its own", "mark --begin -- true", "--begin is not for a command", "as long as the command"),
    ("a command has words", "mark --data {} -- true", "--data is for an event", "KEY=VALUE -- COMMAND"),
    ("a command is no event", "mark event x -- true", "unexpected argument 'event'", "assay mark phase NAME -- COMMAND"),
    ("weights are of no figure that diff compares", "diff run.assay run.assay --weights hpc", "does not take --weights", "assay diff --help"),
    ("the same by another name", "diff run.assay run.assay --hpc-weights", "does not take --hpc-weights", "assay diff --help"),
    ("and what is missing", "diff run.assay run.assay --missing zero", "does not take --missing", "assay diff --help"),
    ("a file is no backend to check", "doctor --backend replay", "nothing to check", "assay once FILE"),
    ("nor is it to be tested", "doctor run.assay", "only exporters, by http", "assay once 'run.assay'"),
    ("TLS", "doctor https://node7:9400/metrics", "only exporters, by http", "assay once"),
    ("an exporter is not NVML", "doctor --backend nvml --source localhost:1", "--source is for an exporter", "--backend"),
    ("NVML is not an exporter", "doctor --backend prometheus --nvml-lib x", "--nvml-lib is for NVML", "--backend"),
    ("DCGM is not the kernel", "doctor --backend drm --dcgmi x", "--dcgmi is for DCGM", "--backend"),
    ("the doctor does not read ROCm", "doctor --rocm-lib x", "does not take --rocm-lib", "assay doctor --help"),
    ("it does not take it, with or without a value", "doctor --phase", "assay doctor does not take --phase", "assay doctor --help"),
    ("the same in the middle", "once --phase --json", "assay once does not take --phase", "assay once --help"),
    ("a value forgotten", "report run.assay --format", "--format needs a value", "text|json|html"),
    ("two formats", "once dmon.txt --csv --json", "both --json and --csv", "leave out one"),
    ("a table's width", "once dmon.txt --json --width 80", "--width is for the table", "leave it out"),
    ("a table has no FLOP/s", "once dmon.txt --flops bf16", "--flops is for JSON", "add --json"),
    ("nor has CSV", "export dmon.txt --flops bf16", "--flops is for JSON", "add --format jsonl"),
    ("a table's letters", "once dmon.txt --csv --ascii", "--ascii is for the table", "leave it out"),
    ("line ends of CSV", "once dmon.txt --crlf", "--crlf is for CSV", "--csv"),
    ("line ends of JSON", "export dmon.txt --format jsonl --crlf", "--crlf is for CSV", "leave it out"),
    ("line ends of a session", "convert dmon.txt out.jsonl --crlf", "--crlf is for CSV", "leave it out"),
    ("columns of JSON", "export gpu_id dmon.txt --format jsonl", "columns ('gpu_id') are for CSV", "leave out the columns"),
    ("levels of a capture", "once --levels foo --source dmon.txt", "--levels is about this host", "add --host"),
    ("a user of a capture", "once --user nosuch --source dmon.txt", "--user is about this host", "add --host"),
    ("a level of no name, of this host", "once dmon.txt --host --levels foo", "not a list of levels", "process,user"),
    ("a process without the host", "export dmon.txt --pid 1", "--pid is about this host", "add --host"),
    ("a host of a capture that is recorded", "record dmon.txt --pss", "--pss is about this host", "leave it out"),
    ("GPUs of a host", "export --host run.assay --gpus 99", "--gpus is about this host now", "leave it out"),
    ("their FLOP/s", "export --host --flops bf16", "--flops is about GPUs", "or --host"),
    ("their weights", "export --host --mem-weights", "--mem-weights is about GPUs", "or --host"),
    ("what they miss", "export --host run.assay --missing zero", "--missing is about GPUs", "or --host"),
    ("their columns", "export gpu_id --host", "are of GPUs", "or --host"),
    ("a GPU that is not there, beside the host", "export --host --count 1 --gpus 0-", "'0-'", ""),
    ("a moment of now", "export --host --at 5", "--at is a moment of a recording", "give a recording"),
    ("another process of then", "export --host run.assay --pid 1", "--pid is about this host now", "as it was"),
    ("a summary has its fields", "report run.assay --format resource-summary --all", "--all is for the text", "fields of its own"),
    ("each time, of many ranks", "report run.assay run.assay --each", "--each is for one recording", "give one file"),
    ("mending many", "report run.assay run.assay --recover", "--recover is for one recording", "give one file"),
    ("a screen is no table", "fleet --live --format json", "--format is for tables", "--live"),
    ("its end is now", "fleet --live --until 2h", "--until is for tables", "--live"),
    ("a table has no colours", "fleet --theme dark --queries", "--theme is for the screen", "add --live"),
    ("nor does it ask again", "fleet --poll 5 --queries", "--poll is for the screen", "add --live"),
    ("queries are text", "fleet --queries --format json", "--format is for answers", "--queries"),
    ("two beginnings", "fleet --queries --window 7d --since 2d", "--window is given beside --since", "leave out one"),
    ("a list asks nobody", "fleet targets --hosts a --engine http://x:1", "--engine is for the views", "leave it out"),
    ("nor about a time", "fleet targets --hosts a --window 7d", "--window is for the views", "leave it out"),
    ("hosts are no pods", "fleet targets --hosts a --selector b=c", "--selector chooses pods", "--kubernetes"),
    ("a view has no ports", "fleet --port 1", "--port is for 'assay fleet targets'", "assay fleet targets"),
]


@pytest.fixture(scope="module")
def place(program, tmp_path_factory):
    """A folder with a session, captures, job records, baselines and a machine with AMD's GPUs."""
    folder = tmp_path_factory.mktemp("use")
    shutil.copy(ROOT / "docs/example/tour.assay", folder / "run.assay")
    shutil.copy(FIXTURES / "dcgm/dmon-basic-2gpu-c3.txt", folder / "dmon.txt")
    shutil.copy(FIXTURES / "tour/h200-tour.dmon.txt", folder / "tour.txt")
    (folder / "runs").mkdir()
    for name in ("gemm_bf16", "checkpoints"):
        shutil.copy(ROOT / f"tests/truth/{name}.assay", folder / "runs")
    (folder / "state").mkdir(mode=0o700)
    db = sqlite3.connect(folder / "state/jobs.db")
    db.executescript(f"create table record({COLUMNS})")
    db.execute(f"insert into record values({','.join('?' * len(FAIR))})", list(FAIR.values()))
    db.commit()
    db.close()
    subprocess.run([program, "baseline", "add", "main", "run.assay", "--baselines", "base"], cwd=folder, check=True)
    Tree(folder / "root").add("names").add("mi250x")
    rows = (folder / "dmon.txt").read_text().splitlines(True)
    (folder / "short.txt").write_text("".join(rows[:4]))
    shutil.copy(FIXTURES / "nvidia-smi/smi-dmon-mu.txt", folder / "mu.txt")
    (folder / "steps.jsonl").write_text("".join(f'{{"ts":"2026-01-02T03:04:{i:02d}.000+00:00","type":"step","name":"step","seconds":1}}\n' for i in range(20)))
    (folder / "rocm.scn").write_text(f"log {folder}/rocm.calls\n")
    for name in ("dcgmi", "ssh"):
        (folder / name).write_text('#!/bin/sh\necho "$*" >> x.txt\nexit 1\n')
        (folder / name).chmod(0o755)
    return folder


def run(program, place, words, env=None, text=True):
    environment = {**clean_env(place), "XDG_DATA_HOME": str(place / "nothing"), **(env or {})}
    return subprocess.run([program, *words.split()], cwd=place, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=text, timeout=60, check=False)


@pytest.mark.parametrize("why, words, said, hint", REFUSED, ids=[r[1] for r in REFUSED])
def test_what_has_no_use_is_refused(program, place, why, words, said, hint):
    done = run(program, place, words)
    assert (done.returncode, done.stdout) == (2, ""), (why, done)
    assert said in done.stderr and hint in done.stderr and len(done.stderr.splitlines()) == 2, done.stderr


def test_the_closer_format_wins(program, place):
    json = run(program, place, "once dmon.txt --json").stdout
    csv = run(program, place, "once dmon.txt --csv").stdout
    assert run(program, place, "once dmon.txt --csv", env={"ASSAY_JSON": "1"}).stdout == csv
    assert run(program, place, "once dmon.txt --json", env={"ASSAY_CSV": "1"}).stdout == json


def test_what_stands_in_the_environment_is_for_others(program, place):
    """Refused is what was typed; a file and the environment speak to all commands."""
    env = {"ASSAY_LEVELS": "process", "ASSAY_WEIGHTS": "hpc", "ASSAY_BACKEND": "replay", "ASSAY_CRLF": "1"}
    assert run(program, place, "once dmon.txt", env=env).returncode == 0
    assert run(program, place, "diff run.assay run.assay", env=env).returncode == 0
    assert run(program, place, "doctor --json", env=env).stdout.startswith("{")


# --- every option of every command ----------------------------------------------------------------
#
# command: (a command line that works, {option: (its value, what stands in the line's place, or None)}). With the option something
# else is told, written or said. A value that cannot be used shows that the option is looked at, where what it changes is of this machine.

ONCE = "once tour.txt --at 300"
NODES = ("nowhere.invalid", None)
SOURCES = {  # what all that reads GPUs takes
    "source": ("dmon.txt", "{name}{count}"), "gpus": ("99", None), "show-all": ("", "{name}{count} --source dmon.txt"), "backend": ("dcgm --dcgmi /nowhere", "{name}{count} --source dmon.txt"),
    "dcgmi": ("/nowhere", "{name}{count} --backend dcgm"), "dcgm-host": ("nowhere.invalid:1", "{name}{count} --backend dcgm --dcgmi ./dcgmi"),
    "nvml-lib": ("/nowhere", "{name}{count} --backend nvml"), "rocm-lib": ("{rocm}", "{name}{count} --backend drm --root root"), "root": ("root", "{name}{count} --backend drm"),
    "token-file": ("/nowhere", "{name}{count} --source http://127.0.0.1:1/metrics"),
}
HOSTS = {"hosts": NODES, "slurm": ("1", None), "ssh": ("/nowhere", "{name}{count} --hosts nowhere.invalid"), "remote-assay": ("/nowhere", "{name}{count} --hosts a --ssh ./ssh")}
LEVELS = {"pid": ("999999999", "{host}"), "user": ("no-such-user", "{host}"), "job": ("none", "{host}"), "cgroup": ("/no/such", "{host}"), "engine": ("nowhere", "{host}"), "levels": ("foo", "{host}"), "pss": ("", "{pss}")}

USED = {
    "once": (ONCE, {"schema": ("", None), "collect": ("n=/nowhere", None), **SOURCES, **HOSTS, **LEVELS, "flops": ("bf16", ONCE + " --json"), "poll": ("5", None), "at": ("500", None), "json": ("", None), "csv": ("", None), "focus-gpu": ("0", None),
                    "host": ("", None), "width": ("60", None), "ascii": ("", ONCE + " --focus-gpu 0"), "weights": ("hpc", None), "missing": ("zero", "once mu.txt"), "no-profiling": ("", "once tour.txt --at 300 --json"), "crlf": ("", "once dmon.txt --csv")}),
    "export": ("export tour.txt", {"schema": ("", None), "collect": ("n=x", None), **SOURCES, **HOSTS, **LEVELS, "format": ("jsonl", None), "flops": ("bf16", "export tour.txt --format jsonl"), "poll": ("5", None), "count": ("2", None),
               "at": ("5", None), "host": ("", "export run.assay"), "weights": ("hpc", "export all tour.txt"),
               "missing": ("zero", "export all mu.txt"), "no-profiling": ("", None), "crlf": ("", None), "peer": ("", None)}),
    "devices": ("devices", {"schema": ("", None), **SOURCES, "gpus": ("99", "devices --source dmon.txt"), "poll": ("0.0001", None), "json": ("", "devices --source dmon.txt")}),
    "report": ("report run.assay", {"schema": ("", None), "charts": ("power", "report run.assay --format html"), "output": ("x.txt", None), "format": ("json", None), "phase": ("0", None), "all": ("", None), "each": ("", None), "flops": ("bf16", None),
               "goodput": ("", None), "flops-per-step": ("1e15", "report steps.jsonl"), "force": ("", "report run.assay -o other.assay"), "recover": ("", None), "sort": ("limiter", "report runs --format csv"), "level": ("user", "report run.assay --all"), "gpus": ("99", None), "poll": ("2", "report dmon.txt"),
               "weights": ("hpc", None), "tag-cpu": ("0", "report run.assay --format json"), "tag-memory": ("0", "report run.assay --format json"), "tag-gpu": ("0", "report run.assay --format json"),
               "tag-gpu-memory": ("0", "report run.assay --format json"), "missing": ("zero", "report mu.txt --format json")}),
    "diff": ("diff run.assay run.assay", {"schema": ("", None), "output": ("x.txt", None), "format": ("json", None), "base": ("run.assay", None), "new": ("tour.txt", None), "baseline": ("main", "diff tour.txt --baselines base"),
             "baselines": ("base", "diff tour.txt --baseline main"), "gate": ("time=5%", None), "allow": ("gpus,coverage", "diff run.assay dmon.txt --format json"), "force": ("", "diff run.assay run.assay -o other.assay"),
             "gpus": ("99", None), "poll": ("2", "diff tour.txt tour.txt")}),
    "plot": ("plot run.assay -o -", {"output": ("x.svg", "plot run.assay"), "phase": ("0", None), "force": ("", "plot run.assay -o other.svg"), "level": ("user", "plot run.assay -o - --metrics cpu"),
             "metrics": ("power", None), "per-gpu": ("", "plot dmon.txt -o - --metrics power"), "last": ("9s", None), "title": ("mine", None), "gpus": ("99", None), "poll": ("2", "plot dmon.txt -o -"),
             "width": ("500", None), "height": ("500", None), "size": ("slide", None), "weights": ("hpc", "plot run.assay -o - --metrics real_util"), "missing": ("zero", "plot mu.txt -o - --metrics real_util")}),
    "publish": ("publish tour.txt", {"to": ("jsonl:x.jsonl", None)}),
    "convert": ("convert tour.txt x.csv", {"to": ("jsonl", None), "gpus": ("99", None), "poll": ("2", None), "weights": ("hpc", None), "missing": ("zero", "convert mu.txt x.csv"), "crlf": ("", None)}),
    "fleet": ("fleet --engine http://127.0.0.1:1 --queries", {"schema": ("", None), "output": ("x.txt", None), "engine": ("http://127.0.0.1:2", "fleet"), "live": ("", "fleet --engine http://127.0.0.1:1"), "window": ("7d", None),
              "format": ("xml", None), "hosts": ("a", "fleet targets"), "slurm": ("all", "fleet targets"), "kubernetes": ("", "fleet targets"), "port": ("1", "fleet targets --hosts a"),
              "labels": ("a=b", "fleet targets --hosts a"), "since": ("2d", None), "limit": ("3", "fleet jobs --queries"), "queries": ("", "fleet --engine http://127.0.0.1:1"),
              "token-file": ("/nowhere", "fleet --engine http://127.0.0.1:1"), "user": ("ada", None), "account": ("physics", None), "partition": ("long", None),
              "cluster": ("east", None), "node": ("node07", None), "model": ("h100", None), "grace": ("2h", None), "except": ("/nowhere", None), "scancel": ("", None),
              "notify": ("mail", None), "mail-domain": ("example.org", None), "send": ("", None), "repeat": ("2h", None), "state": ("/nowhere", None), "co2": ("400", None)}),
    "jobs": ("jobs --state state", {"schema": ("", "jobs"), "format": ("csv", None), "user": ("nobody", None), "state": ("/nowhere", None), "since": ("1h", None), "wasted": ("", None)}),
    "job": ("job 5 --state state", {"schema": ("", "job"), "co2": ("no", None), "format": ("json", None), "merge": ("x", None), "state": ("/nowhere", None), "brief": ("", None)}),
    "baseline": ("baseline list", {"baselines": ("base", None)}),
    "metrics": ("metrics", {"schema": ("", None), "json": ("", None)}),
    "columns": ("columns", {"schema": ("", None), "json": ("", None)}),
    "doctor": ("doctor --root root", {"schema": ("", None), "source": ("nowhere.invalid:1", None), "json": ("", None), "backend": ("drm", None), "token-file": ("/nowhere", None), "dcgmi": ("./dcgmi", None),
               "dcgm-host": ("nowhere.invalid:1", "doctor --dcgmi ./dcgmi"), "nvml-lib": ("/nowhere", None), "root": ("root", "doctor")}),
    "mark": ("mark phase p --log x.jsonl --seconds 1", {"session": ("/nowhere", None), "begin": ("", None), "end": ("", None), "seconds": ("3", "mark phase p --log x.jsonl"), "data": ("{{}}", "mark event p --log x.jsonl"),
             "log": ("x.jsonl", "mark event p")}),
}

# Screens, servers and recorders are tried by tests of their own.
ELSEWHERE = {"top": "test_top.py", "dump": "test_flight.py", "tour": "test_tour_command.py", "serve": "test_serve.py", "run": "test_run.py", "record": "test_record.py", "stacks": "test_stacks_command.py", "why": "test_why.py", "selftest": "test_selftest.py", "library": "test_lib.py", "-": "test_options.py"}
EXCEPTIONS = {
    ("mark", "quiet"): "nothing but errors is printed in any case; scripts give it to all commands",
    ("fleet", "poll"): "of the screen; refused without --live", ("fleet", "theme"): "of the screen", ("fleet", "ascii"): "of the screen",
    ("export", "speed"): "takes its time: test_a_speed_is_kept", ("fleet", "until"): "asks an engine: test_fleet_engine.py",
    ("fleet", "tenant"): "in a header: test_fleet.py", ("fleet", "timeout"): "a slow engine: test_fleet.py", ("fleet", "selector"): "needs kubectl: test_targets.py",
}


def option_table():
    """(command, option) for all rows of options.def."""
    text = (ROOT / "src/config/options.def").read_text(encoding="utf-8")
    macros = dict(re.findall(r"^#define (\w+) (.+)$", text, re.M))
    for name, takers in re.findall(r'^(?:OPTION|DEEP)\(\w+, "([\w-]+)", \w+, "[^"]*", "[^"]*", (.*?), "', text, re.M):
        for _ in range(4):
            takers = re.sub(r'\b[A-Z]+\b(?=(?:[^"]*"[^"]*")*[^"]*$)', lambda m: macros[m[0]], takers)
        for command in "".join(re.findall('"([^"]*)"', takers)).split():
            yield command, name


PAIRS = sorted((c, o) for c, o in option_table() if c not in ELSEWHERE and (c, o) not in EXCEPTIONS)


WRITTEN = ("x.txt", "x.csv", "x.svg", "x.jsonl", "other.assay", "other.svg", "rocm.calls")


def outcome(program, place, words):
    """Everything that a command line does: what it says and what it writes. Of a host and of marks, whose numbers are of this moment, the shape."""
    for name in WRITTEN:
        (place / name).unlink(missing_ok=True)
    shutil.copy(place / "run.assay", place / "other.assay")
    shutil.copy(place / "run.assay", place / "other.svg")
    env = {"CUDA_VISIBLE_DEVICES": "0", "FAKE_ROCM": str(place / "rocm.scn")}
    done = run(program, place, words, env=env, text=False)
    written = [(name, (place / name).read_bytes()) for name in WRITTEN if (place / name).exists()]
    shape = shape_of(words.split())
    said = re.sub(rb"after \d+ ms", b"after some ms", done.stderr)  # libcurl's own words
    return done.returncode, shape(done.stdout), said, [(name, shape(text)) for name, text in written]


def shape_of(words):
    """What stays of an output that is of this moment: of a host the keys, or the heading; of GPUs and marks all but the numbers."""
    if "--host" in words or words == ["once"]:
        return lambda text: sorted(set(re.findall(rb'"\w+":(?:"blank")?', text))) or text.split(b"\n")[0]
    if "root" in words or words[0] == "mark":
        return lambda text: re.sub(rb"[-\d.:+]+", b"#", text)
    return lambda text: text


@pytest.mark.parametrize("command, option", PAIRS)
def test_what_is_accepted_is_used(program, place, command, option):
    usual, options = USED[command]
    assert option in options, f"a new option: say in USED how it shows that 'assay {command}' uses it"
    value, line = options[option]
    build = pathlib.Path(program).parent / "tests"
    names = {"name": command, "count": " --count 1" if command == "export" else "", "rocm": build / "librocm-smi-fake.so",
             "host": {"once": "once dmon.txt --host"}.get(command, "export --host --count 1"), "pss": "once dmon.txt --host --json" if command == "once" else "export --host --format jsonl --count 1"}
    line = (line or usual).format(**names)
    words = f"{line} --{option} {value.format(**names)}"
    usually = outcome(program, place, line)
    assert usually == outcome(program, place, line), f"'{line}' is never the same"
    assert usually != outcome(program, place, words), words


def test_a_speed_is_kept(program, place):
    began = time.monotonic()
    run(program, place, "export dmon.txt --speed 2")
    assert time.monotonic() - began > 0.9  # it is 2 s long


def test_no_row_is_of_an_option_that_went():
    known = set(option_table())
    assert {(c, o) for c, (_, options) in USED.items() for o in options if (c, o) not in known} - {(c, "rocm-lib") for c in USED} == set()
    assert set(EXCEPTIONS) <= known and {c for c, _ in known} == set(USED) | set(ELSEWHERE)
