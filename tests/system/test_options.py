"""Options from flags, the environment and the config file; the dashboard's spellings."""
import re

import pytest

from conftest import FIXTURES, ROOT

TOUR = str(FIXTURES / "tour" / "h200-tour.dmon.txt")
TWO = str(FIXTURES / "dcgm" / "dmon-basic-2gpu-c3.txt")


def test_flags_win_over_environment_over_file(assay, tmp_path):
    folder = tmp_path / "assay"
    folder.mkdir()
    (folder / "config").write_text("# ours\ngpus = 1\nsource = " + TWO + "\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert assay("export", "gpu_id", env=env).stdout.split()[1:] == ["1", "1", "1"]
    assert assay("export", "gpu_id", env={**env, "ASSAY_GPUS": "0"}).stdout.split()[1:] == ["0", "0", "0"]
    done = assay("export", "gpu_id", "--gpus", "all", env={**env, "ASSAY_GPUS": "0"})
    assert done.stdout.split()[1:3] == ["0", "1"]


def test_bad_config_names_file_and_key(assay, tmp_path):
    config = tmp_path / "config"
    config.write_text("polll = 1\n")
    done = assay("once", "--config", config)
    assert done.returncode == 2 and "polll" in done.stderr and "did you mean" in done.stderr
    config.write_text("this is no setting\n")
    done = assay("once", "--config", config)
    assert done.returncode == 2 and "line 1" in done.stderr


def test_dashboard_spellings(assay):
    old = assay("--backend", "replay", "--source", TOUR, "--export", "all")
    assert old.stdout == assay("export", "all", "--backend", "replay", "--source", TOUR).stdout
    old = assay("--backend", "replay", "--source", TOUR, "--export")
    assert old.stdout == assay("export", "--source", TOUR).stdout
    old = assay("--backend", "replay", "--source", TOUR, "--once")
    assert old.stdout == assay("once", "--source", TOUR).stdout
    old = assay("--source", TOUR, "--export=timestamp,gpu_id")
    assert old.stdout.startswith("timestamp,gpu_id\n")
    old = assay("--source", TOUR, "--export", "--once")
    assert old.stdout == assay("export", "--count", "1", "--source", TOUR).stdout


def test_seconds_with_units(assay):
    assert assay("export", "timestamp", "--poll", "100ms", "--source", TWO).stdout.split()[1:] == [
        "0.00", "0.00", "0.10", "0.10", "0.20", "0.20"]


@pytest.mark.parametrize("why, words", [
    ("minutes, as --poll has them", "jobs --since 90min"), ("a span with a fraction", "jobs --since 1.5d"), ("weeks", "plot {} -o - --last 1w"),
    ("days", "fleet --timeout 1d --queries"), ("minutes of a window", "fleet --window 90min --queries"), ("a number alone is seconds", "fleet --window 3600 --queries"),
    ("milliseconds of a moment", "fleet --since 90000ms --queries"), ("minutes of a gate", "diff {} {} --gate time=1m"), ("days of a gate", "diff {} {} --gate time=1d"),
])
def test_one_way_to_write_a_time(assay, tmp_path, why, words):
    run = str(FIXTURES / "session/tour.assay")
    done = assay(*words.format(run, run).split(), env={"ASSAY_STATE": str(tmp_path)})
    assert done.returncode != 2, (why, done.stderr)


@pytest.mark.parametrize("why, words", [
    ("a number alone may be a year", "jobs --since 2026"), ("the same of the end", "fleet --until 2026 --queries"), ("less than a minute", "fleet --window 30 --queries"),
    ("a share or a time", "diff a b --gate time=5"), ("before its beginning", "jobs --since=-5m"), ("larger than numbers are", "fleet --window 1e308w --queries"),
    ("two of them", "plot a --last 1h30m"), ("no unit", "record --duration 5y"),
])
def test_what_is_no_time(assay, why, words):
    done = assay(*words.split())
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 2, (why, done.stderr)


def test_environment_chooses_from_a_capture(assay):
    """As the dashboard before did; --show-all does not ask it."""
    done = assay("export", "gpu_id", "--source", TWO, env={"CUDA_VISIBLE_DEVICES": "1"})
    assert set(done.stdout.split()[1:]) == {"1"}
    done = assay("export", "gpu_id", "--source", TWO, "--show-all", env={"CUDA_VISIBLE_DEVICES": "1"})
    assert done.stdout.split()[1:3] == ["0", "1"]


def test_help_of_every_command(assay):
    overview = assay("help").stdout
    for line in overview.split("commands\n")[1].split("\n\n")[0].splitlines():
        name = line.split()[0]
        done = assay("help", name)
        assert done.returncode == 0 and name in done.stdout
        assert assay(name, "--help").stdout == done.stdout


def test_a_recording_takes_no_options_of_live_sources(assay, tmp_path):
    for command in ("report", "plot", "convert"):
        help_ = assay("help", command).stdout
        assert "--gpus" in help_ and "--dcgmi" not in help_ and "--root" not in help_ and "--history" not in help_
        done = assay(command, "--dcgmi", "x", TOUR, tmp_path / "out.csv")
        assert done.returncode == 2 and f"assay {command} does not take --dcgmi" in done.stderr
    done = assay("report", "http://127.0.0.1:1/metrics")
    assert done.returncode == 2 and "is an address" in done.stderr


def test_a_backend_for_live_use_leaves_recordings_alone(assay, tmp_path):
    env = {"ASSAY_BACKEND": "nvml", "ASSAY_NVML_LIB": "/nowhere.so", "ASSAY_ROOT": "/nowhere"}
    assert assay("report", TOUR, env=env).stdout == assay("report", TOUR).stdout
    assert assay("convert", TOUR, tmp_path / "out.csv", env=env).returncode == 0


@pytest.mark.parametrize("columns", ["all", "full", "default"])
def test_a_set_of_columns_is_fine_for_json(assay, columns):
    """JSON has every value, so whoever asks for all of them gets what was asked for."""
    tour = ROOT / "data" / "h200-tour.csv"
    lines = assay("export", columns, "--source", tour, "--format", "jsonl", "--count", "1").stdout
    assert lines and lines == assay("export", "--source", tour, "--format", "jsonl", "--count", "1").stdout


def test_a_set_of_columns_is_fine_for_the_host(assay):
    done = assay("export", "all", "--host", "--levels", "system", "--count", "1")
    assert done.returncode == 0 and done.stdout.startswith("timestamp,level,")


@pytest.mark.parametrize("format_", ["json", "html"])
def test_all_of_a_report_is_fine_where_all_is_told(assay, format_):
    tour = ROOT / "docs" / "example" / "tour.assay"
    whole = assay("report", tour, "--format", format_, "--all").stdout
    assert whole and whole == assay("report", tour, "--format", format_).stdout


@pytest.mark.parametrize("line", [
    "--export gpu_id,power_w --history 3 --once", "--export gpu_id,power_w --focus-gpu 0 --once", "--once --history 3", "--onc --sho", "--exp all --onc",
    "--w 0.1,0.2,0.3,0.4 --once", "--he", "--export --once --backend=replay", "--export --once --hist=9"])
def test_command_lines_of_the_dashboard_go_on_working(assay, line):
    assert assay(*line.split(), "--source", ROOT / "data/h200-tour.csv").returncode == 0


@pytest.mark.parametrize("line, said", [
    ("--h", "unknown option '--h'"),  # --help, --history and --hpc-weights
    ("once --history 3", "assay once does not take --history"), ("export --focus-gpu 0", "assay export does not take --focus-gpu"),
    ("once --hist 3", "unknown option '--hist'"), ("--once --web 3", "unknown option '--web'"), ("--once --gate 3", "assay once does not take --gate")])
def test_and_no_others(assay, line, said):
    done = assay(*line.split(), "--source", ROOT / "data/h200-tour.csv")
    assert done.returncode == 2 and said in done.stderr


def test_every_flag_of_the_dashboard_is_an_option(assay):
    """config/dashboard.def names nothing that the tables of options do not."""
    flags = re.findall(r'FLAG\("(.*)"\)', (ROOT / "src/config/dashboard.def").read_text())
    names = re.findall(r'^(?:OPTION|DEEP)\(\w+, "(.*?)"|^ALIAS\("(.*?)"', "".join((ROOT / f"src/config/{x}.def").read_text() for x in ("options", "aliases")), re.M)
    assert len(flags) > 10 and set(flags) <= {a or b for a, b in names}
