"""The dcgm source, through a stand-in dcgmi that replays what the real one printed."""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

FAKE = pathlib.Path(__file__).resolve().parent.parent / "fakes" / "dcgmi"
MIG = {"list": {"out": "discovery-l-mig.txt"}, "slices": {"out": "discovery-c-mig.txt"}}


@pytest.fixture
def dcgm(assay, tmp_path):
    """Runs assay over a scenario; gives the finished process and the calls of dcgmi."""

    def run(command, scenario, *args, env=None, timeout=30):
        log = tmp_path / "calls"
        log.unlink(missing_ok=True)
        environment = {"FAKE_DCGMI": json.dumps({"log": str(log), **scenario}), **(env or {})}
        done = assay(*command.split(), "--backend", "dcgm", "--dcgmi", FAKE, *args, env=environment,
                     timeout=timeout)
        calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        assert not [c for c in calls if alive(c["pid"])], "a child was left behind"
        return done, calls

    return run


def alive(pid):
    """Whether that process still runs; a zombie does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def table(done):
    return list(csv.DictReader(io.StringIO(done.stdout)))


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def word_after(args, flag):
    return args[args.index(flag) + 1]


def test_the_stream_is_asked_for_as_documented(dcgm):
    done, calls = dcgm("export all", {}, "--poll", "0.1", "--count", "2")
    assert done.returncode == 0, done.stderr
    assert [c["args"][:2] for c in calls] == [["discovery", "-l"], ["discovery", "-c"], ["dmon", "-c"]]
    args = calls[2]["args"]
    assert word_after(args, "-c") == "0" and word_after(args, "-d") == "100" and "-i" not in args
    ids = [int(i) for i in word_after(args, "-e").split(",")]
    assert {230, 393, 394, 395, 396, 1013, 1014, 1015, 1016} <= set(ids)
    assert len(ids) == len(set(ids)) <= 128
    rows = table(done)
    assert [r["gpu_id"] for r in rows] == ["0", "1", "0", "1"]
    assert rows[1]["sm_active_pct"] == "20.00", "the blank first round of counters is passed over"


def test_no_profiling_field_is_asked_for_where_none_may_be(dcgm):
    done, calls = dcgm("export all", {}, "--poll", "0.1", "--count", "2", "--no-profiling")
    assert done.returncode == 0, done.stderr
    ids = [int(i) for i in word_after(calls[2]["args"], "-e").split(",")]
    assert ids and not [i for i in ids if 1001 <= i < 1200]
    assert done.stderr == ""  # nobody refused anything


def test_identity_comes_from_discovery(dcgm):
    done, _ = dcgm("export --format jsonl", {}, "--poll", "0.1", "--count", "1")
    first, second = lines(done)
    assert first["identity"] == {"model": "NVIDIA H100 80GB HBM3", "pci": "00000000:18:00.0",
                                 "uuid": "GPU-00000000-1111-2222-3333-444444440000"}
    assert second["identity"]["pci"] == "00000000:28:00.0"
    assert first["source"] == "dcgm"


@pytest.mark.parametrize("capture,gpus", [("dmon-basic-2gpu-c3.txt", 2), ("dmon-prof-2gpu-c3.txt", 2),
                                          ("dmon-remap-2gpu-c2.txt", 2), ("dmon-8gpu.txt", 8),
                                          ("dmon-strings.txt", 2)])
def test_captures_read_the_same_live_as_replayed(dcgm, assay, capture, gpus):
    fixture = FAKE.parent.parent / "fixtures" / "dcgm" / capture
    rounds = "1" if "strings" in capture else "2"
    blank = "prof" in capture  # the first round, which the live source passes over
    replayed = assay("export", "all", "--source", fixture, "--count", str(int(rounds) + blank))
    done, _ = dcgm("export all", {"list": gpus, "streams": [{"out": capture}]}, "--poll", "0.1", "--count",
                   rounds)
    assert done.returncode == 0, done.stderr
    skip = {"timestamp", "model", "uuid", "pci", "pcie_replay_rate_s"}
    values = [[{k: v for k, v in r.items() if k not in skip} for r in table(d)] for d in (done, replayed)]
    assert values[0] == values[1][blank * gpus:] and len(values[0]) == int(rounds) * gpus


def test_mig_rows_are_known_by_gpu_and_instance(dcgm):
    scenario = {**MIG, "streams": [{"out": "dmon-mig-all.txt", "hang": 1}]}
    done, calls = dcgm("export --format jsonl", scenario, "--poll", "0.1", "--count", "1")
    rows = lines(done)
    assert [r["gpu"] for r in rows] == ["0", "1", "1/1", "1/1/0", "1/2", "1/2/0", "1/2/1"]
    assert all("flat" not in r for r in rows)
    assert rows[6]["index"] == 1 and rows[6]["gi"] == 2 and rows[6]["ci"] == 1
    assert rows[2]["identity"]["model"] == "NVIDIA H100 80GB HBM3"
    assert word_after(calls[2]["args"], "-i") == "*,*/*,*/*/*"


SLICES = {"list": {"out": "discovery-l-mig.txt"}, "slices": {"out": "discovery-c-mig.txt"},
          "streams": [{"synth": True, "entities": ["GPU 0", "GPU 1", "GPU-I 7", "GPU-CI 7", "GPU-I 8",
                                                   "GPU-CI 8", "GPU-CI 9"]}]}


def test_what_belongs_to_the_gpu_is_not_a_slices(dcgm):
    done, calls = dcgm("export --format jsonl", SLICES, "--poll", "0.1", "--count", "1")
    assert word_after(calls[2]["args"], "-e").startswith("50,54,"), "profile and UUID are asked for"
    rows = {r["gpu"]: r for r in lines(done)}
    assert list(rows) == ["0", "1", "1/1", "1/1/0", "1/2", "1/2/0", "1/2/1"]
    assert [r["metrics"]["power"] for r in rows.values()] == [300, 300] + 5 * [None]
    assert [r["metrics"]["gpu_util"] for r in rows.values()] == [0.1, 0.11] + 5 * [None]
    assert all(r["metrics"]["fb_used"] and r["metrics"]["sm_active"] for r in rows.values())
    assert rows["1/1"]["missing"]["power"] == "unsupported"
    assert rows["1/1"]["health"]["state"] == rows["1"]["health"]["state"] == "OK"
    assert rows["1/1"]["identity"]["mig_profile"] == "2g.20gb"
    assert rows["1/1"]["identity"]["uuid"].startswith("MIG-00000002")
    assert rows["1/1"]["identity"]["model"] == "NVIDIA H100 80GB HBM3", "its GPU's"
    assert "mig_profile" not in rows["1"]["identity"]


def test_a_slice_is_chosen_by_its_uuid(dcgm):
    env = {"CUDA_VISIBLE_DEVICES": "MIG-00000004-1111-2222-3333-444444440004"}
    done, _ = dcgm("once --csv", SLICES, "--poll", "0.1", env=env)
    assert [r["gpu_id"] for r in table(done)] == ["1/2"], done.stderr


def test_the_report_gives_energy_to_the_gpu_alone(dcgm, assay, tmp_path):
    file = tmp_path / "mig.assay"
    done, _ = dcgm("record", SLICES, "-o", file, "--poll", "0.1", "--duration", "1")
    assert done.returncode == 0, done.stderr
    report = json.loads(assay("report", "--format", "json", file).stdout)
    energy = {g["gpu"]: g.get("energy_j") for g in report["run"]["gpus"]}
    assert energy["0"] and energy["1"] and not any(energy[g] for g in energy if "/" in g)


@pytest.mark.parametrize("gpus,expected", [("GPU-I 9", ["GPU-I 9"]), ("GPU-CI 10", ["GPU-CI 10"]),
                                           ("1,GPU-I 7", ["1", "GPU-I 7"])])
def test_flat_numbers_of_a_capture_can_be_chosen(assay, gpus, expected):
    capture = FAKE.parent.parent / "fixtures" / "dcgm" / "dmon-mig-device-fields.txt"
    done = assay("once", "--csv", "--source", capture, "--gpus", gpus)
    assert [r["gpu_id"] for r in table(done)] == expected
    shown = assay("once", "--source", capture, "--gpus", gpus).stdout
    assert all(f"\n{name} " in shown for name in expected), "the table has the whole name"


def test_a_capture_of_slices_counts_power_once(assay):
    capture = FAKE.parent.parent / "fixtures" / "dcgm" / "dmon-mig-device-fields.txt"
    done = assay("once", "--json", "--source", capture)
    power = [r["metrics"]["power"] for r in json.loads(done.stdout)["gpus"]]
    assert [p for p in power if p is not None] == [68.512, 623.635]


def fake_root(tmp_path, gpus, denied=()):
    """A machine whose driver lists these (pci, uuid); device files are plain files."""
    for minor, (pci, uuid) in enumerate(gpus):
        folder = tmp_path / "proc/driver/nvidia/gpus" / pci
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\n"
                                            f"Bus Location: \t {pci}\nDevice Minor: \t {minor}\n")
        (tmp_path / "dev").mkdir(exist_ok=True)
        if minor not in denied:
            (tmp_path / f"dev/nvidia{minor}").write_text("")
    return tmp_path


def test_numbers_are_those_of_this_container(dcgm, tmp_path):
    uuid = "GPU-00000001-1111-2222-3333-444444440001"
    root = fake_root(tmp_path / "root", [("0000:28:00.0", uuid)])
    scenario = {"streams": [{"synth": True, "entities": ["GPU 1"]}]}
    done, calls = dcgm("export --format jsonl", scenario, "--poll", "0.1", "--count", "1", "--root", root)
    assert [(r["gpu"], r["identity"]["uuid"]) for r in lines(done)] == [("0", uuid)]
    assert word_after(calls[2]["args"], "-i") == "1", "what cannot be reached is not asked about"


def test_a_device_that_cannot_be_opened_is_not_there(dcgm, tmp_path):
    gpus = [("0000:18:00.0", "GPU-00000000-1111-2222-3333-444444440000"),
            ("0000:28:00.0", "GPU-00000001-1111-2222-3333-444444440001")]
    root = fake_root(tmp_path / "root", gpus, denied={0})
    done, _ = dcgm("export --format jsonl", {}, "--poll", "0.1", "--count", "1", "--root", root)
    assert [(r["gpu"], r["identity"]["uuid"]) for r in lines(done)] == [("0", gpus[1][1])]


def test_the_environment_chooses_and_dcgmi_does_not_see_it(dcgm):
    env = {"CUDA_VISIBLE_DEVICES": "1"}
    done, calls = dcgm("export all", {}, "--poll", "0.1", "--count", "1", env=env)
    assert [r["gpu_id"] for r in table(done)] == ["1"]
    assert all(c["visible"] is None for c in calls)


def test_a_warning_among_the_rows_is_passed_over(dcgm):
    done, _ = dcgm("export all", {"warn": True}, "--poll", "0.1", "--count", "2")
    assert done.returncode == 0 and done.stderr == "" and len(table(done)) == 4


def test_a_remote_engine_keeps_its_numbers(dcgm, tmp_path):
    uuid = "GPU-00000001-1111-2222-3333-444444440001"
    root = fake_root(tmp_path / "root", [("0000:28:00.0", uuid)])
    done, calls = dcgm("export all", {}, "--poll", "0.1", "--count", "1", "--root", root, "--dcgm-host",
                       "node7:5555", env={"CUDA_VISIBLE_DEVICES": "1"})
    assert [r["gpu_id"] for r in table(done)] == ["0", "1"]
    assert all(word_after(c["args"], "--host") == "node7:5555" for c in calls)


FAILURES = [
    ({"list": {"out": "dmon-unreachable.txt", "status": 235}}, "cannot be reached", "--dcgm-host",
     "no engine"),
    ({"streams": [{"out": "dmon-unreachable.txt", "status": 235}]}, "cannot be reached", "nv-hostengine",
     "the engine went away after discovery"),
    ({"list": {}}, "sees no GPU", "nvidia-smi", "discovery lists nothing"),
    ({"streams": [{"out": "shim-watch-rc-29.txt", "status": 3}]}, "ended", "assay doctor",
     "it ends without a word"),
    ({"fields": [203, 252], "streams": [{"out": "shim-watch-rc-29.txt", "status": 7}]},
     "its exit status is 7", "assay doctor", "the fields were narrowed, then it ended"),
]


@pytest.mark.parametrize("scenario,what,remedy,why", FAILURES, ids=[f[3] for f in FAILURES])
def test_failures_are_told_with_a_remedy(dcgm, scenario, what, remedy, why):
    done, _ = dcgm("once", scenario)
    assert done.returncode == 3 and done.stdout == ""
    assert what in done.stderr and remedy in done.stderr
    assert len(done.stderr.splitlines()) == 2


REFUSALS = [(17, "not permitted"), (29, "runs as root"), (33, "profiling module"),
            (34, "another program holds"), (36, "no profiling counters"), (37, "profiling module failed"),
            (44, "too old"), (6, "do not support"), (54, "is paused"), (57, "did not answer"),
            (67, "detached")]


@pytest.mark.parametrize("code,what", REFUSALS)
def test_refused_counters_leave_the_device_fields(dcgm, code, what):
    done, calls = dcgm("export all", {"streams": [{"synth": True, "refuse": -code}]}, "--poll", "0.1",
                       "--count", "1")
    rows = table(done)
    assert done.returncode == 0 and rows[0]["gpu_util_pct"] == "10.00"
    assert rows[0]["sm_active_pct"] == "" and rows[0]["tensor_active_pct"] == ""
    assert what in done.stderr and "device fields only, because" in done.stderr
    last = [int(i) for i in word_after(calls[-1]["args"], "-e").split(",")]
    assert not [i for i in last if 1001 <= i < 1200] and {200, 201, 843, 897} <= set(last)


@pytest.mark.parametrize("code", [29, 33, 34, 36])
def test_real_refusals_are_understood(dcgm, code):
    refused = {"out": f"shim-watch-rc-{code}.txt", "err": f"shim-watch-rc-{code}.stderr.txt",
               "status": 256 - code}
    done, _ = dcgm("once --json", {"streams": [refused, {"out": "dmon-basic-2gpu-c3.txt", "hang": 1}]})
    assert json.loads(done.stdout)["source"] == "dcgm, device fields only"
    assert "device fields only, because" in done.stderr


def test_holding_counters_recommends_other_sources(dcgm):
    done, _ = dcgm("once", {"streams": [{"synth": True, "refuse": -34}]})
    assert "--backend prometheus" in done.stderr and "--backend nvml" in done.stderr


def test_a_notice_is_no_reason_to_leave_a_source(assay, tmp_path):
    """Some counters, and a word about the others, are better than none."""
    refused = {"synth": True, "refuse": -38}
    scenario = {"log": str(tmp_path / "calls"), "streams": [refused, refused, {"synth": True}]}
    done = assay("once", "--json", "--dcgmi", FAKE, "--nvml-lib", "/nonexistent",
                 env={"FAKE_DCGMI": json.dumps(scenario)})
    assert done.returncode == 0 and json.loads(done.stdout)["source"] == "dcgm, some counters", done.stderr


def test_counters_that_need_several_passes_are_halved_first(dcgm):
    refused = {"synth": True, "refuse": -38}
    scenario = {"streams": [refused, refused, {"synth": True}]}
    done, calls = dcgm("export all", scenario, "--poll", "0.1", "--count", "1")
    assert "fewer counters" in done.stderr and table(done)[0]["sm_active_pct"] == "10.00"
    ids = {int(i) for i in word_after(calls[-1]["args"], "-e").split(",")}
    assert {1002, 1004, 1005, 1010} <= ids and not {1006, 1013} & ids


def test_only_fields_that_dcgmi_knows_are_asked_for(dcgm):
    known = [100, 150, 155, 203, 252, 1001, 1002, 1004, 1005]
    done, calls = dcgm("export all", {"fields": known}, "--poll", "0.1", "--count", "1")
    assert done.returncode == 0, done.stderr
    assert sorted(int(i) for i in word_after(calls[-1]["args"], "-e").split(",")) == known


def test_refused_for_administrators_says_whom_to_ask(dcgm, tmp_path):
    params = tmp_path / "root/proc/driver/nvidia/params"
    params.parent.mkdir(parents=True)
    params.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    refused = {"out": "shim-watch-rc-29.txt", "err": "shim-watch-rc-29.stderr.txt", "status": 227}
    done, _ = dcgm("once", {"streams": [refused]}, "--root", tmp_path / "root")
    assert done.returncode == 3 and "NVreg_RestrictProfilingToAdminUsers=0" in done.stderr


def test_dcgmi_that_is_not_there(assay, tmp_path):
    done = assay("once", "--backend", "dcgm", env={"PATH": str(tmp_path)})
    assert done.returncode == 3 and "dcgmi is not installed" in done.stderr
    done = assay("once", "--backend", "dcgm", "--dcgmi", tmp_path / "nosuch")
    assert done.returncode == 3 and "nosuch' does not exist" in done.stderr
    (tmp_path / "odd").write_text("no program")
    done = assay("once", "--backend", "dcgm", "--dcgmi", tmp_path / "odd")
    assert done.returncode == 3 and "odd' is not executable" in done.stderr
    (tmp_path / "odd").chmod(0o755)
    done = assay("once", "--backend", "dcgm", "--dcgmi", tmp_path / "odd")
    assert done.returncode == 3 and "cannot be run" in done.stderr and "Exec format" in done.stderr
    done = assay("once", "--backend", "dcgm", "--dcgmi", tmp_path)
    assert done.returncode == 3 and "is a folder" in done.stderr


def test_switches_that_cannot_be_listed_do_not_matter(dcgm):
    denied = {"list": {"out": "discovery-l-nvswitch-denied.txt", "status": 223},
              "streams": [{"out": "dmon-nvswitch-denied.txt", "hang": 3}]}
    done, _ = dcgm("once --csv", denied, "--poll", "0.1")
    rows = table(done)
    assert done.returncode == 0 and len(rows) == 8, done.stderr
    assert rows[7]["sm_active_pct"] == "90.00" and rows[7]["power_w"] == "623.6350"


def test_counters_that_others_watch_come_first(dcgm):
    """SM activity is there at once, because an exporter watches it; the rest comes a round later."""
    half = {"synth": True, "watched": [1001, 1002], "late": 2}
    done, _ = dcgm("once --csv", {"streams": [half]}, "--poll", "0.1")
    row = table(done)[1]
    assert row["sm_active_pct"] == "20.00" and row["tensor_active_pct"] == "20.00"
    assert row["dram_active_pct"] == "20.00"


def test_counters_that_never_come_are_not_waited_for_long(dcgm):
    done, _ = dcgm("once --csv", {"streams": [{"synth": True, "watched": [1002], "late": 10 ** 6}]},
                   "--poll", "0.1")
    row = table(done)[1]
    assert row["sm_active_pct"] == "20.00" and row["tensor_active_pct"] == ""


def gpus_in(program, file):
    done = subprocess.run([program, "report", "--format", "json", file], capture_output=True, timeout=30)
    return [g["gpu"] for g in json.loads(done.stdout)["run"]["gpus"]] if done.returncode == 0 else []


def test_an_engine_that_starts_later_is_waited_for(program, tmp_path):
    engine, file = tmp_path / "engine", tmp_path / "run.assay"
    process, log = start(program, tmp_path, {"engine": str(engine)}, "-o", str(file), "--poll", "0.1",
                         command=("record",))
    deadline = time.monotonic() + 30
    while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    engine.touch()
    while not (file.exists() and gpus_in(program, file)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0 and "waiting for it" in err, err
    assert gpus_in(program, file) == ["0", "1"]


def test_once_does_not_wait_for_an_engine(dcgm, tmp_path):
    done, _ = dcgm("once", {"engine": str(tmp_path / "nosuch")})
    assert done.returncode == 3 and "cannot be reached" in done.stderr


@pytest.mark.slow
def test_auto_tells_of_an_engine_that_hangs(assay):
    env = {"FAKE_DCGMI": json.dumps({"list": {"hang": True}})}
    words = ("--dcgmi", FAKE, "--nvml-lib", "/nonexistent")
    once = assay("once", *words, env=env)
    assert once.returncode == 3 and "no GPU found" in once.stdout and "dcgmi does not answer" in once.stdout
    export = assay("export", "all", "--count", "1", *words, env=env)
    assert export.returncode == 3 and "dcgmi does not answer" in export.stderr


def test_auto_tells_why_it_reads_dcgm(assay):
    done = assay("once", "--dcgmi", FAKE, "--nvml-lib", "/nonexistent", env={"FAKE_DCGMI": "{}"})
    assert "counters come from DCGM" in done.stderr and "/nonexistent" in done.stderr


def test_a_path_is_a_socket(dcgm):
    _, calls = dcgm("once", {}, "--dcgm-host", "/run/dcgm.sock", "--poll", "0.1")
    assert {word_after(c["args"], "--host") for c in calls} == {"unix:///run/dcgm.sock"}


def test_a_vgpu_is_passed_over(dcgm):
    scenario = {"streams": [{"synth": True, "entities": ["GPU 0", "vGPU 3", "GPU 1"]}]}
    done, _ = dcgm("export all", scenario, "--poll", "0.1", "--count", "1")
    assert [r["gpu_id"] for r in table(done)] == ["0", "1"] and done.stderr == ""


def test_assumed_times_are_told(assay):
    capture = FAKE.parent.parent / "fixtures" / "dcgm" / "dmon-8gpu.txt"
    assert "assumed: 1 s between rounds" in assay("report", capture).stdout
    assert "assumed: 0.5 s between rounds" in assay("report", capture, "--poll", "0.5").stdout
    assert json.loads(assay("report", "--format", "json", capture).stdout)["times_assumed"] == 1
    assert "at 0.0 s (assumed)" in assay("once", capture).stdout
    assert "1.0 s (assumed: the capture has no times)" in assay("plot", capture, "-o", "-").stdout
    assert "assumed: 1 s between rounds" in assay("report", "--format", "html", capture).stdout


def test_an_outage_is_in_no_report(dcgm, assay, tmp_path):
    dies = {"synth": 8, "entities": ["GPU 0"], "status": 235}
    scenario = {"list": {"out": "discovery-l-2gpu.txt"},
                "streams": [dies, {"synth": True, "entities": ["GPU 0"]}]}
    file = tmp_path / "run.assay"
    done, _ = dcgm("record", scenario, "-o", file, "--poll", "0.1", "--duration", "3")
    assert done.returncode == 0, done.stderr
    report = json.loads(assay("report", "--format", "json", file).stdout)
    gpu = report["run"]["gpus"][0]
    assert 0.3 < gpu["seconds"] < 2.6, "a second and more of silence is not counted"
    assert abs(gpu["energy_j"] - 300 * gpu["seconds"]) < 60


def test_short_polls_are_raised(dcgm):
    done, calls = dcgm("export all", {}, "--poll", "0.01", "--count", "1")
    assert "raised to 0.1" in done.stderr and word_after(calls[2]["args"], "-d") == "100"


def test_a_dead_stream_ages_and_comes_back(dcgm):
    dies = {"out": "dmon-he-dies.txt", "err": "dmon-he-dies.stderr.txt", "status": 235}
    scenario = {"streams": [dies, {"synth": True, "entities": ["GPU 0"]}]}
    done, calls = dcgm("export --format jsonl", scenario, "--poll", "0.2", "--count", "12")
    rows = [r for r in lines(done) if r["gpu"] == "0"]
    stale = [r for r in rows if r["stale"]]
    ages = [r["age"]["power"] for r in stale]
    assert len(stale) >= 3 and ages == sorted(ages) and ages[-1] > 0.8
    assert all(r["metrics"]["power"] == 68.512 for r in stale)
    assert not rows[0]["stale"] and not rows[-1]["stale"] and rows[-1]["age"] == {}
    assert "dcgmi failed 1 time, last because" in done.stderr and len(calls) == 6
    assert stale[-1]["source"] == "dcgm, stale: the DCGM host engine cannot be reached"
    assert rows[-1]["source"] == "dcgm"


def test_a_whole_round_is_not_held_back(dcgm):
    began = time.monotonic()
    done, _ = dcgm("export all", {"streams": [{"out": "dmon-basic-2gpu-c3.txt", "hang": 1}]}, "--poll",
                   "20", "--count", "1")
    assert len(table(done)) == 2 and time.monotonic() - began < 5


def test_a_round_that_lacks_an_entity_ends_with_the_pause(dcgm):
    scenario = {"streams": [{"synth": True, "entities": ["GPU 1"]}]}
    done, _ = dcgm("export all", scenario, "--poll", "0.3", "--count", "2")
    assert [r["gpu_id"] for r in table(done)] == ["1", "1"]


def start(program, tmp_path, scenario, *args, command=("export", "all")):
    log = tmp_path / "calls"
    # ThreadSanitizer sleeps a second before it exits unless told not to.
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TSAN_OPTIONS": "atexit_sleep_ms=0",
           "FAKE_DCGMI": json.dumps({"log": str(log), **scenario})}
    process = subprocess.Popen([program, *command, "--backend", "dcgm", "--dcgmi", str(FAKE), *args],
                               env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, log


def gone_within(pid, seconds):
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


@pytest.mark.parametrize("sig,status", [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
@pytest.mark.parametrize("scenario", [{}, {"streams": [{"synth": True, "hang": 3}]}], ids=["runs", "hangs"])
def test_no_child_is_left_by_a_signal(program, tmp_path, sig, status, scenario):
    process, log = start(program, tmp_path, scenario, "--poll", "0.1")
    process.stdout.readline()
    process.stdout.readline()
    child = json.loads(log.read_text().splitlines()[-1])["pid"]
    assert alive(child)
    began = time.monotonic()
    process.send_signal(sig)
    process.communicate(timeout=5)
    assert process.returncode == status and time.monotonic() - began < 1
    assert gone_within(child, 2)


def test_a_long_poll_is_interrupted_at_once(program, tmp_path):
    process, _ = start(program, tmp_path, {"streams": [{"out": "dmon-basic-2gpu-c3.txt"}]}, "--poll", "60")
    process.stdout.readline()
    process.stdout.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=5)
    assert process.returncode == 0 and time.monotonic() - began < 0.4


@pytest.mark.slow
def test_dcgmi_that_never_answers(dcgm):
    began = time.monotonic()
    done, _ = dcgm("once", {"list": {"hang": True}})
    assert done.returncode == 3 and "does not answer" in done.stderr
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("stage,text,fd", [
    ("list", "| GPU | nonsense |\n", 1),
    ("list", "no end of line ", 1),
    ("slices", "| GPU | nonsense |\n", 1),
    pytest.param("list", "complaint\n", 2, marks=pytest.mark.slow),
    pytest.param("streams", "nonsense\n", 1, marks=pytest.mark.slow)])
def test_dcgmi_that_prints_without_end(dcgm, stage, text, fd):
    """At discovery it is refused within its 10 s; as a stream it has no rows. Memory and time are bounded."""
    endless = {"endless": text, "fd": fd}
    done, _ = dcgm("once", {stage: [endless] if stage == "streams" else endless}, timeout=60)
    assert done.returncode == 3 and "dcgmi" in done.stderr, done.stderr
    if fd == 1 and stage == "list":
        assert "without end" in done.stderr


def read_until(process, wanted, seconds=10):
    """Lines of JSON up to the first for which wanted(row) holds."""
    until, rows = time.monotonic() + seconds, []
    while time.monotonic() < until:
        rows.append(json.loads(process.stdout.readline()))
        if wanted(rows[-1]):
            return rows
    raise AssertionError("it did not come")


def test_a_killed_dcgmi_comes_back(program, tmp_path):
    process, log = start(program, tmp_path, {}, "--poll", "0.1", "--format", "jsonl")
    try:
        read_until(process, lambda row: not row["stale"])
        os.kill(json.loads(log.read_text().splitlines()[-1])["pid"], signal.SIGKILL)
        read_until(process, lambda row: row["stale"])
        rows = read_until(process, lambda row: not row["stale"])
        assert max(row["age"].get("sm_active", 0) for row in rows) > 0.5
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
    assert process.returncode == 0


def test_waiting_for_a_restart_is_interrupted_at_once(program, tmp_path):
    """The engine stays down: it pauses longer and longer."""
    streams = [{"synth": 3}, {"out": "dmon-unreachable.txt", "status": 235}]
    process, log = start(program, tmp_path, {"streams": streams}, "--poll", "0.1", "--format", "jsonl")

    def has_failed_twice(row):
        streams = [c for c in map(json.loads, log.read_text().splitlines()) if "dmon" in c["args"] and not alive(c["pid"])]
        return row["age"].get("sm_active", 0) > 1.5 and len(streams) >= 2

    read_until(process, has_failed_twice)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=5)
    assert process.returncode == 0 and time.monotonic() - began < 2
    assert "dcgmi failed 2 times, last because the DCGM host engine cannot be reached" in said
    assert not [c for c in map(json.loads, log.read_text().splitlines()) if alive(c["pid"])]
