"""assay doctor and assay devices."""
import http.server
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent.parent
FAKE = HERE / "fakes" / "dcgmi"
VERSION = ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26 02:00:49 UTC 2025\n"
           "GCC version:  gcc version 12.2.0\n")


@pytest.fixture(scope="session")
def nvml(tmp_path_factory):
    """A folder with a libnvidia-ml.so.1 that says what the test wants."""
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1",
                    HERE / "fakes" / "nvml_for_doctor.c"], check=True)
    return folder


@pytest.fixture
def machine(tmp_path):
    """A file system root with a driver and one GPU; gives its folder."""
    root = tmp_path / "root"
    files = {
        "proc/driver/nvidia/version": VERSION,
        "proc/driver/nvidia/params": "EnableMSI: 1\nRmProfilingAdminOnly: 0\n",
        "proc/driver/nvidia/gpus/0000:18:00.0/information":
            "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-00000000-1111\nBus Location: \t 0000:18:00.0\n"
            "Device Minor: \t 0\n",
        "proc/self/cgroup": "0::/user.slice/session-1.scope\n",
        "proc/mounts": "proc /proc proc rw,nosuid 0 0\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "sys/bus/pci/devices/0000:18:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:18:00.0/class": "0x030200\n",
        "dev/nvidia0": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture
def doctor(assay, nvml, machine):
    """Runs doctor on the machine; gives the finished process and the checks by name."""

    def run(says="", *args, env=None):
        environment = {"LD_LIBRARY_PATH": str(nvml), "FAKE_NVML": says, "FAKE_DCGMI": "{}", **(env or {})}
        done = assay("doctor", "--json", "--root", machine, "--source", "http://127.0.0.1:1/metrics", *args,
                     env=environment)
        told = json.loads(done.stdout)
        return done, told, {c["check"]: c for c in told["checks"]}

    return run


def test_a_healthy_machine(doctor):
    done, told, checks = doctor()
    assert done.returncode == 0 and told["counters"] is True
    for name in ("hardware", "driver", "library", "devices", "gpm", "profiling", "mig", "persistence",
                 "visible", "cgroup", "hidepid"):
        assert checks[name]["outcome"] == "ok", checks[name]
    assert checks["driver"]["says"] == "570.124.06" and "H200" in checks["hardware"]["says"]
    assert checks["gpm"]["counters"] is True
    assert checks["slurm"]["outcome"] == "note" and checks["exporter"]["outcome"] == "note"


HARDWARE = [
    ("", True, 1, "ok", "1 x NVIDIA H200", "the library and the driver agree"), ("gpus=2", True, 1, "ok", "2 x NVIDIA H200", "the library counts"),
    ("", False, 1, "ok", "1 x NVIDIA H200", "a container without the driver's folder"), ("init=9", True, 1, "ok", "1 x NVIDIA H200", "a library that does not start"),
    ("init=9", False, 1, "warn", "1 NVIDIA device on the PCI bus, not in use", "no driver"),
    ("init=9", False, 2, "warn", "2 NVIDIA devices on the PCI bus, not in use", "no driver for either"),
]


@pytest.mark.parametrize("says,driver,devices,outcome,words,why", HARDWARE, ids=[h[5] for h in HARDWARE])
def test_which_hardware(doctor, machine, says, driver, devices, outcome, words, why):
    if not driver:
        shutil.rmtree(machine / "proc/driver/nvidia/gpus")
    if devices == 2:
        shutil.copytree(machine / "sys/bus/pci/devices/0000:18:00.0", machine / "sys/bus/pci/devices/0000:19:00.0")
    _, _, checks = doctor(says)
    assert (checks["hardware"]["outcome"], checks["hardware"]["says"]) == (outcome, words), why


NVML = [
    ("init=18", "driver", "fail", "another version", 3, "the driver was updated under a running system"),
    ("init=9", "library", "fail", "Driver Not Loaded", 3, "the library finds no driver"),
    ("driver=550.1.2", "driver", "warn", "550.1.2", 0, "versions differ"),
    ("no-gpm", "gpm", "warn", "0 of 1", 3, "older than Hopper"),
    ("sample=4", "gpm", "warn", "NVML 4", 3, "GPM is there and gives nothing"),
    ("mig", "mig", "ok", "on for GPU 0", 0, "MIG"),
    ("gpus=2 no-persistence", "persistence", "warn", "GPU 0, 1", 0, "persistence off"),
    ("crash=nvmlDeviceGetCount_v2", "library", "fail", "nvmlDeviceGetCount_v2", 3, "the library crashes"),
]


@pytest.mark.parametrize("says,name,outcome,words,status,why", NVML, ids=[n[5] for n in NVML])
def test_what_the_library_says(doctor, says, name, outcome, words, status, why):
    done, _, checks = doctor(says)
    assert checks[name]["outcome"] == outcome and words in checks[name]["says"]
    assert done.returncode == status
    assert outcome == "ok" or checks[name]["remedy"], "a remedy is given"


@pytest.mark.slow
def test_a_driver_that_hangs_does_not_hang_doctor(doctor):
    began = time.monotonic()
    done, _, checks = doctor("hang=nvmlDeviceGetName")
    assert time.monotonic() - began < 8 and done.returncode == 3
    assert checks["library"]["outcome"] == "fail" and "nvmlDeviceGetName" in checks["library"]["says"]


def set_up(machine, name, text):
    if text is None:
        (machine / name).unlink()
    else:
        (machine / name).write_text(text)


# As the open kernel module of an H200 writes it.
OPEN_MODULE = ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (nixbld@)  \n"
               "GCC version:  gcc version 15.3.0 (GCC) \n")
FILES = [
    ("proc/driver/nvidia/version", OPEN_MODULE, {"FAKE_NVML": "driver=580.159.04"}, "driver", "ok", "580.159.04"),
    ("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n", {}, "profiling", "note", "administrators"),
    ("dev/nvidia0", None, {}, "devices", "fail", "/dev/nvidia0: No such file"),
    ("proc/driver/nvidia/version", None, {}, "driver", "fail", "not loaded"),
    ("proc/mounts", "proc /proc proc rw,hidepid=2 0 0\n", {}, "hidepid", "warn", "cannot be seen"),
    ("proc/mounts", "proc /proc proc rw,hidepid=invisible 0 0\n", {}, "hidepid", "warn", "cannot be seen"),
    ("proc/self/cgroup", None, {}, "cgroup", "warn", "cannot be read"),
    ("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_0\n",
     {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0"}, "slurm", "ok", "job 7"),
    ("proc/self/cgroup", "0::/user.slice\n", {"SLURM_JOB_ID": "7"}, "slurm", "warn", "no cgroup"),
    ("proc/mounts", "", {"CUDA_VISIBLE_DEVICES": "0"}, "visible", "ok", "CUDA_VISIBLE_DEVICES=0"),
    ("proc/mounts", "", {"CUDA_VISIBLE_DEVICES": "7"}, "visible", "warn", "'7'"),
    ("proc/mounts", "", {"CUDA_VISIBLE_DEVICES": ""}, "visible", "warn", "hides all"),
    ("proc/mounts", "", {"CUDA_VISIBLE_DEVICES": "GPU-ffff"}, "visible", "warn", "GPU-ffff"),
    ("proc/mounts", "", {"CUDA_VISIBLE_DEVICES": "GPU-00000000"}, "visible", "ok", "GPU-00000000"),
    ("proc/mounts", "", {"NVIDIA_VISIBLE_DEVICES": "what?"}, "visible", "warn", "not a list"),
]


@pytest.mark.parametrize("file,text,env,name,outcome,words", FILES, ids=[f"{f[3]}-{f[5]}" for f in FILES])
def test_what_files_and_variables_say(doctor, machine, file, text, env, name, outcome, words):
    set_up(machine, file, text)
    _, _, checks = doctor(env=env)
    assert checks[name]["outcome"] == outcome and words in checks[name]["says"], checks[name]
    assert outcome in ("ok", "note") or checks[name]["remedy"]


def test_a_container_with_its_own_pids(doctor, machine):
    (machine / "proc/self/ns").mkdir()
    (machine / "proc/self/ns/pid").symlink_to("pid:[4026532999]")
    (machine / ".dockerenv").write_text("")
    _, _, checks = doctor()
    assert checks["pids"]["outcome"] == "warn" and "--pid=host" in checks["pids"]["remedy"]


def test_dcgm_alone_is_enough(doctor):
    done, _, checks = doctor("no-gpm", "--dcgmi", FAKE)
    assert checks["dcgm"]["outcome"] == "ok" and checks["dcgm"]["counters"] and done.returncode == 0


def test_who_holds_the_counters(doctor, machine):
    (machine / "proc/812").mkdir()
    (machine / "proc/812/comm").write_text("dcgm-exporter\n")
    scenario = json.dumps({"streams": [{"synth": True, "refuse": -34}]})
    done, _, checks = doctor("no-gpm", "--dcgmi", FAKE, env={"FAKE_DCGMI": scenario})
    assert "another program holds" in checks["dcgm"]["says"]
    assert "dcgm-exporter (pid 812)" in checks["dcgm"]["says"]
    assert "--backend prometheus" in checks["dcgm"]["remedy"] and done.returncode == 3


@pytest.mark.parametrize("name, is_named", [
    ("dcgmproftester", True), ("dcgmproftester1", True), ("nv-hostengine", True), ("ncu", True), ("nsys-launcher", True),
    ("ncurses-demo", False), ("dcgmproftesters", False), ("nsys-launch", False), ("python3", False),
])
def test_programs_that_take_counters(doctor, machine, name, is_named):
    """dcgmproftester11, 12 and 13: the kernel cuts names to 15 characters."""
    (machine / "proc/77").mkdir()
    (machine / "proc/77/comm").write_text(name + "\n")
    scenario = json.dumps({"streams": [{"synth": True, "refuse": -34}]})
    _, _, checks = doctor("no-gpm", "--dcgmi", FAKE, env={"FAKE_DCGMI": scenario})
    assert (f"{name} (pid 77)" in checks["dcgm"]["says"]) == is_named


def test_an_engine_that_is_down(doctor):
    scenario = json.dumps({"list": {"out": "dmon-unreachable.txt", "status": 235}})
    _, _, checks = doctor("", "--dcgmi", FAKE, env={"FAKE_DCGMI": scenario})
    assert checks["dcgm"]["outcome"] == "warn" and "nv-hostengine" in checks["dcgm"]["remedy"]


@pytest.fixture
def exporter():
    """Serves one text on a port of its own; gives a function that sets it and returns the address."""
    servers = []

    def serve(text):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/metrics" else 404)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/metrics"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


EXPORTERS = [('DCGM_FI_PROF_SM_ACTIVE{gpu="0"} 0.5\n', "ok", True), ('DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5\n', "warn", False),
             ("up 1\n", "note", False)]


@pytest.mark.parametrize("text,outcome,counters", EXPORTERS)
def test_an_exporter(doctor, exporter, text, outcome, counters):
    done, _, checks = doctor("no-gpm", "--source", exporter(text))
    assert checks["exporter"]["outcome"] == outcome and checks["exporter"]["counters"] is counters
    assert done.returncode == (0 if counters else 3)


def test_what_would_make_a_verdict_sure(doctor, machine):
    """Which counters, which setting, who can set it."""
    sure = doctor()[2]["verdicts"]
    assert sure["outcome"] == "ok" and "counters" in sure["says"] and not sure["remedy"]
    likely = doctor("no-gpm")[2]["verdicts"]
    assert likely["outcome"] == "note" and "likely on 1 of 1 GPU" in likely["says"]
    assert "1002, 1004, 1005" in likely["remedy"] and "root starts nvidia-hostengine" in likely["remedy"] and "NVreg" not in likely["remedy"]
    (machine / "proc/driver/nvidia/params").write_text("RmProfilingAdminOnly: 1\n")
    assert "NVreg_RestrictProfilingToAdminUsers=0, which root sets" in doctor("no-gpm")[2]["verdicts"]["remedy"]
    assert "nothing makes them sure" in doctor("no-gpm name=GeForce")[2]["verdicts"]["remedy"]


GOOD, PLAIN = EXPORTERS[0][0], EXPORTERS[1][0]


@pytest.mark.parametrize("texts, dead, outcome, says, remedy", [
    ([GOOD, GOOD, GOOD], 0, "ok", "3 of 3 answer, with counters", None),
    ([GOOD, PLAIN], 0, "warn", "2 of 2 answer, 1 with counters", "add the profiling fields"),
    ([GOOD, GOOD], 1, "warn", "2 of 3 answer, 2 with counters", "look at 127.0.0.1:1/metrics: it does not answer"),
    ([GOOD, "up 1\n"], 0, "warn", "1 of 2 answer, 1 with counters", "look at 127.0.0.1:"),
])
def test_a_list_of_exporters(doctor, exporter, texts, dead, outcome, says, remedy):
    """Each is asked by itself, not all of them as one address."""
    addresses = [exporter(text) for text in texts] + ["http://127.0.0.1:1/metrics"] * dead
    done, _, checks = doctor("no-gpm", "--source", ",".join(addresses))
    told = checks["exporter"]
    assert (told["outcome"], told["says"], told["counters"]) == (outcome, says, True) and done.returncode == 0
    assert told["remedy"] is None if remedy is None else remedy in told["remedy"]


BACKENDS = [("nvml", 0, {"gpm", "library"}, {"dcgm", "exporter", "drm"}), ("dcgm", 3, {"dcgm", "profiling"}, {"gpm", "exporter", "drm"}),
            ("drm", 3, {"drm", "hidepid"}, {"gpm", "library", "dcgm", "exporter"}), ("prometheus", 3, {"exporter"}, {"gpm", "library", "dcgm", "slurm"})]


@pytest.mark.parametrize("backend, status, told, left_out", BACKENDS)
def test_one_backend(assay, nvml, machine, backend, status, told, left_out):
    """Its checks alone, and the exit status is about it: GPM works here, and nothing else."""
    done = assay("doctor", "--json", "--root", machine, "--backend", backend, env={"LD_LIBRARY_PATH": str(nvml), "FAKE_NVML": "", "ASSAY_SOURCE": "http://127.0.0.1:1/"})
    checks = {c["check"] for c in json.loads(done.stdout)["checks"]}
    assert done.returncode == status and told <= checks and not left_out & checks
    assert (status == 0) == json.loads(done.stdout)["counters"]
    assert status == 0 or f"--backend {backend}" in json.loads(done.stdout)["conclusion"]


def test_the_library_that_is_named(assay, nvml, machine):
    def library(path):
        done = assay("doctor", "--json", "--root", machine, "--nvml-lib", path, "--source", "http://127.0.0.1:1/", env={"FAKE_NVML": ""})
        return done.returncode, {c["check"]: c for c in json.loads(done.stdout)["checks"]}["library"]

    assert library(nvml / "libnvidia-ml.so.1")[0] == 0
    status, check = library("/nowhere/nvml.so")
    assert status == 3 and check["outcome"] == "fail" and "/nowhere/nvml.so" in check["says"]


def test_an_exporter_with_a_token_and_a_path(doctor, tmp_path):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.headers.get("Authorization") == "Bearer secret"
            self.send_response(401 if not known else 200 if self.path == "/gpus/metrics?a=b" else 404)
            self.end_headers()
            self.wfile.write(b"DCGM_FI_PROF_SM_ACTIVE 0.5\n")

        def log_message(self, *args):
            pass

    (tmp_path / "token").write_text("secret\n")
    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        exporter = [doctor("no-gpm", "--source", at + path, *more)[2]["exporter"] for path, more in
                    (("/gpus/metrics?a=b", ()), ("/gpus/metrics?a=b", ("--token-file", tmp_path / "token")), ("", ("--token-file", tmp_path / "token")))]
        server.shutdown()
    assert "401" in exporter[0]["says"] and "--token-file" in exporter[0]["remedy"]
    assert exporter[1]["outcome"] == "ok" and exporter[1]["counters"] is True
    assert "404" in exporter[2]["says"] and "path" in exporter[2]["remedy"]


def test_a_port_that_never_answers(doctor):
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        began = time.monotonic()
        _, _, checks = doctor("", "--source", f"http://127.0.0.1:{s.getsockname()[1]}/metrics")
        assert checks["exporter"]["outcome"] == "note" and time.monotonic() - began < 4


def test_no_gpu_fits_one_screen(assay, tmp_path):
    (tmp_path / "empty").mkdir()
    done = assay("doctor", "--root", tmp_path / "empty", "--source", "http://127.0.0.1:1/")
    assert done.returncode == 3
    assert "no NVIDIA GPU" in done.stdout and "assay FILE" in done.stdout
    assert len(done.stdout.splitlines()) <= 24 and max(map(len, done.stdout.splitlines())) <= 100


def test_devices_of_a_capture(assay):
    done = assay("devices", "--source", HERE / "fixtures/dcgm/dmon-strings.txt")
    assert done.returncode == 0
    assert "GPU-00000001-1111-2222-3333-444444440001" in done.stdout and "H100 80GB" in done.stdout


def test_devices_as_json(assay):
    done = assay("devices", "--json", "--backend", "dcgm", "--dcgmi", FAKE, "--poll", "0.1",
                 env={"FAKE_DCGMI": "{}"})
    told = json.loads(done.stdout)
    assert [d["gpu"] for d in told["devices"]] == ["0", "1"] and told["source"] == "dcgm"
    first = told["devices"][0]
    assert "sm_active" in first["metrics"] and first["missing"]["hotspot_temp"] == "absent"
    assert first["identity"]["pci"] == "00000000:18:00.0"


def test_devices_wait_for_the_counters(assay):
    """The first round of a stream has none."""
    done = assay("devices", "--json", "--source", HERE / "fixtures/dcgm/dmon-prof-2gpu-c3.txt")
    assert all("sm_active" in d["metrics"] for d in json.loads(done.stdout)["devices"])


def test_devices_keep_to_the_selection(assay):
    done = assay("devices", "--json", "--gpus", "1", "--source", HERE / "fixtures/dcgm/dmon-8gpu.txt")
    assert [d["gpu"] for d in json.loads(done.stdout)["devices"]] == ["1"]
    done = assay("devices", "--gpus", "9", "--source", HERE / "fixtures/dcgm/dmon-8gpu.txt")
    assert done.returncode == 2
