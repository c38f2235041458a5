"""What `assay serve` says to Prometheus: names, numbers, dialects, and that they survive."""
import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import FIXTURES, ROOT, clean_env
from drm_tree import Tree
from serving import Server, samples, total

EXPOSITION = FIXTURES / "exposition"
TOUR = ROOT / "data" / "h200-tour.csv"


@pytest.fixture
def serve(program, tmp_path):
    servers = []

    def start(*args, **more):
        servers.append(Server(program, tmp_path, *args, **more).start())
        return servers[-1]

    yield start
    for s in servers:
        s.stop()


def collectors_of(text):
    """The collectors file that makes an exporter write these families."""
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.M))
    types = dict(re.findall(r"^# TYPE (\S+) (.*)$", text, re.M))
    out = io.StringIO()
    out.write("# made from a scrape\n")
    for name in dict.fromkeys(re.findall(r"^# TYPE (\S+)", text, re.M)):
        csv.writer(out).writerow([name, " " + types[name], helps[name]])
    return out.getvalue()


def theirs(text):
    """Their lines alone, without the value that means nothing."""
    lines = [line for line in text.splitlines() if re.match(r"(# \w+ )?DCGM_", line)]
    return [line for line in lines if not line.endswith(" 9223372036854775794")]


@pytest.mark.parametrize("name", ["dcgm-exporter.prom", "mig.prom"])
def test_equal_to_dcgm_exporter_line_for_line(serve, tmp_path, name):
    """With and without MIG: what their exporter wrote is what ours writes of the same GPUs, values too."""
    text = (EXPOSITION / name).read_text()
    (tmp_path / "c.csv").write_text(collectors_of(text))
    s = serve(EXPOSITION / name, "-f", tmp_path / "c.csv", "--owner-labels").ready()
    assert theirs(s.metrics()) == theirs(text)


# DCGM's marks of a value that is none: of 32 and 64 bits and of floating point, each with its kin.
BLANKS = [str(v + i) for v in (0x7ffffff0, 0x7ffffffffffffff0, 0x800000000000) for i in range(4)] + ["NaN", "N/A"]


def test_blanks_never_appear(serve, tmp_path):
    """Each family's value in turn is one of them: it has no line, neither in their words nor in ours."""
    lines, n = (EXPOSITION / "dcgm-exporter.prom").read_text().splitlines(), 0
    for i, line in enumerate(lines):
        if 'gpu="0"' in line:
            lines[i] = f"{line.rsplit(' ', 1)[0]} {BLANKS[n % len(BLANKS)]}"
            n += 1
    assert n >= len(BLANKS)
    (tmp_path / "blank.prom").write_text("\n".join(lines) + "\n")
    text = serve(tmp_path / "blank.prom", "--names", "both").ready().metrics()
    assert "DCGM_FI_DEV_GPU_TEMP{gpu=\"1\"" in text and not re.findall(r'^DCGM_\w+\{gpu="0".*', text, re.M)
    told = {line.rsplit(" ", 1)[1] for line in text.splitlines() if not line.startswith("#")}
    assert not told & {*BLANKS, *(f"{int(b)}.000000" for b in BLANKS if b.isdigit())}


def test_what_is_answered_by_default(serve):
    s = serve(TOUR, "--speed", "1").ready()
    status, headers, _ = s.ask("/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert s.ask("/health")[::2] == (200, "OK") and s.ask("/-/ready")[0] == 200


def test_default_address(program, tmp_path):
    """dcgm-exporter's port, on loopback."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 9400))
            taken.listen()
        except OSError:
            pass  # somebody has it: all the better
        done = subprocess.run([program, "serve", TOUR], env=clean_env(tmp_path), capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode != 0 and "127.0.0.1:9400" in done.stderr, done.stderr


# What 4.9 calls their families, how many of its unit one of the old is, and whether it writes a whole number.
RENAMED = {
    "DEV_SM_CLOCK": ("DEV_SM_CLOCK_HERTZ", 10**6, int), "DEV_MEM_CLOCK": ("DEV_MEMORY_CLOCK_HERTZ", 10**6, int),
    "DEV_MEMORY_TEMP": ("DEV_MEMORY_TEMP_CELSIUS", 1, int), "DEV_GPU_TEMP": ("DEV_GPU_TEMP_CELSIUS", 1, int),
    "DEV_POWER_USAGE": ("DEV_BOARD_POWER_WATTS", 1, float), "DEV_TOTAL_ENERGY_CONSUMPTION": ("DEV_GPU_ENERGY_JOULES_TOTAL", 1e-3, int),
    "DEV_PCIE_REPLAY_COUNTER": ("DEV_PCIE_REPLAY_TOTAL", 1, int), "DEV_GPU_UTIL": ("DEV_GPU_UTIL_RATIO", 0.01, float),
    "DEV_MEM_COPY_UTIL": ("DEV_MEMORY_UTIL_RATIO", 0.01, float), "DEV_ENC_UTIL": ("DEV_ENC_UTIL_RATIO", 0.01, float),
    "DEV_DEC_UTIL": ("DEV_DEC_UTIL_RATIO", 0.01, float), "DEV_XID_ERRORS": ("DEV_XID_ERROR", 1, int),
    "DEV_FB_FREE": ("DEV_FB_FREE_BYTES", 2**20, int), "DEV_FB_USED": ("DEV_FB_USED_BYTES", 2**20, int),
    "DEV_FB_RESERVED": ("DEV_FB_RESERVED_BYTES", 2**20, int), "DEV_NVLINK_BANDWIDTH_TOTAL": ("DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND", 1024000, int),
    "DEV_UNCORRECTABLE_REMAPPED_ROWS": ("DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", 1, int),
    "DEV_CORRECTABLE_REMAPPED_ROWS": ("DEV_ROW_REMAP_CORRECTABLE_TOTAL", 1, int), "DEV_ROW_REMAP_FAILURE": ("DEV_ROW_REMAP_FAILED", 1, int),
    "PROF_GR_ENGINE_ACTIVE": ("PROF_GR_ENGINE_UTIL_RATIO", 1, float), "PROF_SM_ACTIVE": ("PROF_SM_UTIL_RATIO", 1, float),
    "PROF_SM_OCCUPANCY": ("PROF_SM_OCCUPANCY_RATIO", 1, float), "PROF_PIPE_TENSOR_ACTIVE": ("PROF_TENSOR_UTIL_RATIO", 1, float),
    "PROF_DRAM_ACTIVE": ("PROF_DRAM_UTIL_RATIO", 1, float), "PROF_PIPE_FP64_ACTIVE": ("PROF_FP64_UTIL_RATIO", 1, float),
    "PROF_PIPE_FP32_ACTIVE": ("PROF_FP32_UTIL_RATIO", 1, float), "PROF_PIPE_FP16_ACTIVE": ("PROF_FP16_UTIL_RATIO", 1, float),
    **{f"PROF_{n}_BYTES": (f"PROF_{n}_BYTES", 1, int) for n in ("PCIE_TX", "PCIE_RX", "NVLINK_TX", "NVLINK_RX")},
}


def as_written_since_4_9(text):
    """A scrape of an older dcgm-exporter in the words and units of a newer one."""
    def value(line, factor, kind):
        name, number = line.rsplit(" ", 1)
        if number == "9223372036854775794":
            return line
        return f"{name} {int(float(number) * factor + 0.5) if kind is int else format(float(number) * factor, '.6f')}"

    lines = []
    for line in text.splitlines():
        old = re.match(r"(?:# \w+ )?DCGM_FI_(\w+)", line).group(1)
        new, factor, kind = RENAMED[old]
        line = line.replace(f"DCGM_FI_{old}", f"DCGM_FI_{new}", 1)
        line = line.replace('Hostname="', 'hostname="').replace('DCGM_FI_DRIVER_VERSION="', 'DCGM_FI_SYSTEM_DRIVER_VERSION="')
        lines.append(line if line.startswith("#") else value(line, factor, kind))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["dcgm-exporter.prom", "mig.prom"])
def test_equal_to_a_newer_dcgm_exporter(serve, assay, tmp_path, name):
    """The same in the words of 4.9: written from the old words, and read back to the same values."""
    old = (EXPOSITION / name).read_text()
    text = as_written_since_4_9("\n".join(line for line in old.splitlines() if re.match(r"(# \w+ )?DCGM_", line)))
    (tmp_path / "c.csv").write_text(collectors_of(text))
    s = serve(EXPOSITION / name, "-f", tmp_path / "c.csv", "--owner-labels", "--names", "new").ready()
    assert theirs(s.metrics()) == theirs(text)
    # Both dialects of one scrape mean the same, but for joules that are whole now.
    (tmp_path / "new.prom").write_text("\n".join(theirs(text)) + "\n")
    direct = assay("export", "all", "--source", EXPOSITION / name).stdout.splitlines()
    again = assay("export", "all", "--source", tmp_path / "new.prom").stdout.splitlines()
    skip = [c for c in direct[0].split(",") if c.startswith(("timestamp", "energy"))]
    rows = [[{k: v for k, v in r.items() if k not in skip} for r in csv.DictReader(t)] for t in (direct, again)]
    assert rows[0] == rows[1] and len(rows[0]) > 1


def test_default_families_of_both_dialects(serve):
    text = serve(EXPOSITION / "dcgm-exporter.prom", "--names", "both").ready().metrics()
    heads = set(re.findall(r"^# TYPE DCGM_FI_(\w+)", text, re.M))
    for old, (new, *_) in RENAMED.items():
        assert (old in heads) == (new in heads), old
    assert "9223372036854775794" not in text
    assert text.count("# TYPE DCGM_FI_PROF_PCIE_TX_BYTES ") == 1


@pytest.mark.parametrize("names,want", [("none", 0), ("classic", 1), ("new", 1)])
def test_names(serve, names, want):
    text = serve(EXPOSITION / "dcgm-exporter.prom", "--names", names).ready().metrics()
    assert ("DCGM_" in text) == bool(want)
    assert ("DCGM_FI_DEV_GPU_TEMP{" in text) == (names == "classic")
    assert "assay_build_info" in text


def test_promtool_has_no_complaint_about_our_families(serve):
    if not shutil.which("promtool"):
        pytest.skip("no promtool")
    s = serve(TOUR, "--speed", "100", "--names", "none").ready()
    done = subprocess.run(["promtool", "check", "metrics"], input=s.metrics(), text=True, capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_families_have_one_head_and_a_stable_order(serve):
    s = serve(EXPOSITION / "dcgm-exporter.prom", "--names", "both").ready()
    one, two = s.metrics(), s.metrics()
    heads = re.findall(r"^# TYPE (\S+)", one, re.M)
    assert len(heads) == len(set(heads))
    assert heads == re.findall(r"^# TYPE (\S+)", two, re.M)
    for line in one.splitlines():
        assert re.match(r"(# (HELP|TYPE) \w+ .+|\w+(\{.+\})? [-+.\de]+)$", line), line


def test_openmetrics(serve):
    s = serve(TOUR, "--speed", "100").ready()
    status, headers, text = s.ask(headers={"Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
    assert status == 200 and headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert "# TYPE assay_gpu_observed_seconds counter" in text
    created = [v for k, v in samples(text).items() if k.startswith("assay_gpu_observed_seconds_created")]
    assert created and abs(created[0] - time.time()) < 600
    assert not [k for k in samples(s.metrics()) if "_created" in k]


@pytest.mark.parametrize("accept,want", [
    # Prometheus 2.42, 3, and 3 with scrape_protocols that begin with the old text
    ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
    ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
     "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2", True),
    ("text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4,*/*;q=0.2", False),
    ("text/html,*/*;q=0.8", False), ("application/openmetrics-text;q=0", False), ("", False)])
def test_the_text_that_is_wished_for_most(serve, accept, want):
    text = serve(EXPOSITION / "dcgm-exporter.prom").ready().metrics(Accept=accept)
    assert text.endswith("# EOF\n") == want


def test_a_prefix(serve):
    """With it or without, as a proxy may pass paths on; the folder without its slash leads to the page."""
    s = serve(EXPOSITION / "dcgm-exporter.prom", "--prefix", "/gpus/").ready()
    for path, want in [("/gpus/", 200), ("/", 200), ("/gpus/metrics", 200), ("/metrics", 200), ("/gpusx", 404), ("/gpus//", 404), ("/gpus/gpus/", 404)]:
        assert s.ask(path)[0] == want, path
    status, headers, _ = s.ask("/gpus")
    assert status == 308 and headers["Location"] == "/gpus/"


def test_gzip_and_head(serve):
    s = serve(EXPOSITION / "dcgm-exporter.prom").ready()
    status, headers, text = s.ask(headers={"Accept-Encoding": "gzip"})
    assert status == 200 and headers["Content-Encoding"] == "gzip" and "DCGM_FI_DEV_GPU_TEMP" in text
    status, headers, text = s.ask(method="HEAD")
    assert status == 200 and text == "" and int(headers["Content-Length"]) > 1000


def test_read_back_by_our_own_source(serve, assay):
    """What is written, our prometheus source reads to the same values."""
    s = serve(EXPOSITION / "dcgm-exporter.prom", "--owner-labels").ready()
    columns = "gpu_id,power_w,gpu_temp_c,sm_active_pct,tensor_active_pct,dram_active_pct,energy_j,job"
    direct = assay("export", columns, "--source", EXPOSITION / "dcgm-exporter.prom")
    through = assay("export", columns, "--source", f"http://127.0.0.1:{s.port}/metrics", "--count", "1")
    assert through.stdout == direct.stdout and direct.stdout.count("\n") == 3


def test_hostile_names_stay_inside_their_quotes(serve, tmp_path, assay):
    evil = 'x\\",evil=\\"1\\\\'
    (tmp_path / "evil.prom").write_text(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-1",modelName="{evil}",hpc_job="a\\nb\\"}}"}} 50\n')
    s = serve(tmp_path / "evil.prom", "--owner-labels").ready()
    text = s.metrics()
    assert ',evil="1' not in text.replace('\\"', "")
    assert len(re.findall(r"^DCGM_FI_DEV_GPU_TEMP\{", text, re.M)) == 1
    for line in text.splitlines():
        assert re.match(r'(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\]|\\.)*",?)*\})? \S+)$', line), line


# --- state -------------------------------------------------------------------------------------


def own(text):
    return {k: v for k, v in samples(text).items() if re.match(r"assay_gpu_\w+_total", k)}


def test_counters_go_on_after_a_restart(serve, tmp_path):
    state = tmp_path / "state"
    one = serve(TOUR, "--speed", "200", "--state", state).ready()
    one.wait(lambda: total(one.metrics(), "assay_gpu_observed_seconds_total") > 20)
    before = own(one.metrics())
    assert one.stop() == 0
    two = serve(TOUR, "--speed", "1", "--state", state).ready()
    after = own(two.metrics())
    assert all(after[k] >= v for k, v in before.items()), (before, after)
    assert total(two.metrics(), "assay_gpu_observed_seconds_total") > 20


def test_counters_never_go_back_after_kill_9(serve, tmp_path):
    """Killed at any moment, the next one starts at or above everything that was told."""
    highest, state = {}, tmp_path / "state"
    rounds = 100 if os.environ.get("QUICK") != "yes" and os.environ.get("ASSAY_LONG") else 12
    for i in range(rounds):
        s = serve(TOUR, "--speed", "500", "--state", state).ready()
        for _ in range(1 + i % 5):
            now = own(s.metrics())
            assert not [k for k, v in highest.items() if now.get(k, 0) < v], i
            highest.update(now)
        s.stop(signal.SIGKILL)
    assert max(highest.values()) > 0


def test_a_file_of_counters_that_was_spoilt_once_is_used_again(serve, tmp_path):
    """Whatever is in the two files, and however long they are, the next run's counters are kept."""
    state = tmp_path / "state"
    state.mkdir()
    for name in ("counters.0", "counters.1"):
        (state / name).write_bytes(b"\xff" * 9_000_000)
    one = serve(TOUR, "--speed", "200", "--state", state).ready()
    one.wait(lambda: total(one.metrics(), "assay_gpu_observed_seconds_total") > 20)
    assert one.stop() == 0
    two = serve(TOUR, "--speed", "1", "--state", state).ready()
    assert total(two.metrics(), "assay_gpu_observed_seconds_total") > 20


def test_a_recording_is_not_kept_among_what_happens_here(serve, tmp_path):
    """Its seconds would be counted a second time, for the GPU that it was made of."""
    s = serve(TOUR, "--speed", "50", env={"XDG_STATE_HOME": str(tmp_path / "kept")}).ready()
    s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total") > 5)
    assert s.stop() == 0 and not (tmp_path / "kept").exists()


def test_two_servers_do_not_share_a_state(serve, tmp_path):
    one = serve(TOUR, "--speed", "1", "--state", tmp_path / "s").ready()
    two = serve(TOUR, "--speed", "1", "--state", tmp_path / "s").ready()
    assert "another 'assay serve' uses" in two.text()
    assert one.ask("/health")[0] == two.ask("/health")[0] == 200


def test_a_full_disk_starts_at_0_instead_of_going_back(serve, tmp_path):
    """A state folder that cannot be written is told, and everything else works."""
    (tmp_path / "file").write_text("")
    s = serve(TOUR, "--speed", "1", "--state", tmp_path / "file" / "x").ready()
    assert "counters start at 0" in s.text()
    assert s.ask("/metrics")[0] == 200


# --- life --------------------------------------------------------------------------------------


def test_reload_keeps_counters_and_takes_new_files(serve, tmp_path):
    (tmp_path / "c.csv").write_text("DCGM_FI_DEV_GPU_TEMP, gauge, warm\n")
    s = serve(TOUR, "--speed", "50", "-f", tmp_path / "c.csv").ready()
    before = own(s.metrics())
    assert "DCGM_FI_DEV_POWER_USAGE" not in s.metrics()
    (tmp_path / "c.csv").write_text("DCGM_FI_DEV_POWER_USAGE, gauge, power\n")
    s.process.send_signal(signal.SIGHUP)
    s.wait(lambda: "DCGM_FI_DEV_POWER_USAGE" in s.metrics())
    after = own(s.metrics())
    assert all(after[k] >= v for k, v in before.items())
    (tmp_path / "c.csv").write_text("nonsense\n")
    s.process.send_signal(signal.SIGHUP)
    s.wait(lambda: "not reloaded" in s.text())
    assert "DCGM_FI_DEV_POWER_USAGE" in s.metrics()


def test_reload_cuts_nobody_off(serve):
    """Who asks while a reload goes on gets an answer: from the server before it or the one after."""
    s = serve(TOUR, "--speed", "50").ready()
    for k in range(60):
        if k % 10 == 0:
            s.process.send_signal(signal.SIGHUP)
        assert s.ask("/-/ready")[0] == 200
    assert s.process.poll() is None


def logged(text, how):
    """The lines of a log as objects."""
    if how == "json":
        return [json.loads(line) for line in text.splitlines()]
    found = []
    for line in text.splitlines():
        pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^" ]+)(?: |$)', line)
        assert " ".join(f"{k}={v}" for k, v in pairs) == line
        found.append({k: json.loads(v) if v.startswith('"') else v for k, v in pairs})
    return found


@pytest.mark.parametrize("how", ["logfmt", "json"])
def test_structured_logs(serve, tmp_path, how):
    """Each line stands for itself, whatever a job is called; GPUs and owners are told of too."""
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "0").write_text('a"b\\c=d\x1b[31m\n')
    (tmp_path / "hot.prom").write_text('DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 50\nDCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="0",UUID="GPU-1"} 1\n')
    s = serve(tmp_path / "hot.prom", "--log-format", how, "--hpc-job-mapping-dir", tmp_path / "map").ready()
    s.wait(lambda: "assay_gpu_owner_info{" in s.metrics())
    s.wait(lambda: "holds GPU 0" in s.text())
    (tmp_path / "map" / "0").unlink()
    s.wait(lambda: "let go of" in s.text() and "health" in s.text())
    s.process.send_signal(signal.SIGHUP)
    s.wait(lambda: "read again" in s.text())
    lines = logged(s.text(), how)
    by = {line["event"]: line for line in lines}
    assert by["serving"]["level"] == "info" and by["serving"]["msg"].startswith("serving http://127.0.0.1:")
    assert by["health"]["gpu"] == "0" and 'a"b\\c=d' in by["owner"]["msg"] and "\x1b" not in s.text()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", line["time"]) for line in lines)


def test_quiet_by_default(serve, tmp_path):
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "0").write_text("1\n")
    s = serve(TOUR, "--speed", "20", "--hpc-job-mapping-dir", tmp_path / "map").ready()
    s.wait(lambda: "assay_gpu_owner_info{" in s.metrics())
    (tmp_path / "map" / "0").unlink()
    s.wait(lambda: any(e["kind"] == "owner" for e in s.json("/api/v1/findings")["log"]))
    assert s.text().count("\n") == 1 and s.text().startswith("assay: serving http://")


def test_check_config(assay, tmp_path):
    good = assay("serve", "--check-config")
    assert good.returncode == 0 and "the configuration is good" in good.stderr
    (tmp_path / "web.yml").write_text("basic_auth_users:\n  alice: secret\n")
    bad = assay("serve", "--check-config", "--web-config-file", tmp_path / "web.yml")
    assert bad.returncode == 2 and "not a hash" in bad.stderr
    assert assay("serve", "--check-config", "-f", tmp_path / "none").returncode == 2


@pytest.mark.parametrize("option", ["--hpc-job-mapping-dir", "--sessions", "--pod-resources-kubelet-socket"])
def test_a_place_that_is_not_there_is_told(assay, tmp_path, option):
    """It may come later; but a misspelt one never would."""
    done = assay("serve", "--check-config", "-k", option, tmp_path / "none")
    assert done.returncode == 0 and f"{option}: cannot read '{tmp_path / 'none'}' yet: No such file" in done.stderr


@pytest.mark.parametrize("text", ["[::1", "[::12", "[", "[]", "[]:9400", "::1", "1.2.3.4:99999", "unix:x", "a b:9400"])
def test_places_that_are_none(assay, text):
    done = assay("serve", "--check-config", "--insecure", "--listen", text)
    assert done.returncode == 2 and f"cannot listen on '{text}'" in done.stderr


def test_variables_of_dcgm_exporter(serve, tmp_path):
    (tmp_path / "c.csv").write_text("DCGM_FI_DEV_GPU_TEMP, gauge, warm\nDCGM_FI_DEV_NO_SUCH, gauge, x\nDCGM_FI_DRIVER_VERSION, label, d\n")
    s = serve(EXPOSITION / "dcgm-exporter.prom", listen=None,
              env={"DCGM_EXPORTER_LISTEN": "127.0.0.1:0", "DCGM_EXPORTER_COLLECTORS": str(tmp_path / "c.csv"),
                   "DCGM_EXPORTER_INTERVAL": "5000", "DCGM_EXPORTER_NO_HOSTNAME": "true"}).ready()
    text = s.metrics()
    assert "# HELP DCGM_FI_DEV_GPU_TEMP warm" in text and "POWER_USAGE" not in text and "Hostname=" not in text
    assert "there is no value for 'DCGM_FI_DEV_NO_SUCH'" in s.text()


def test_fields_that_a_collectors_file_asks_for(program, tmp_path):
    """Fields beyond the usual ones, where the source has them; the serial number as a label; what there is none of is said."""
    values = {"PSTATE": 2, "FAN_SPEED": 41, "SYNC_BOOST_VIOLATION": 1_000_000_000, "BOARD_LIMIT_VIOLATION": 2_000_000_000, "LOW_UTIL_VIOLATION": 3_000_000_000,
              "RELIABILITY_VIOLATION": 4_000_000_000, "TOTAL_APP_CLOCKS_VIOLATION": 6_000_000_000, "TOTAL_BASE_CLOCKS_VIOLATION": 8_000_000_000, "RETIRED_PENDING": 1, "POWER_VIOLATION": 5_000_000_000, "THERMAL_VIOLATION": 7_000_000_000, "ECC_SBE_AGG_TOTAL": 11, "ECC_DBE_AGG_TOTAL": 1, "RETIRED_SBE": 3, "RETIRED_DBE": 4,
              "NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": 5, "NVLINK_CRC_DATA_ERROR_COUNT_TOTAL": 6, "NVLINK_REPLAY_ERROR_COUNT_TOTAL": 8, "NVLINK_RECOVERY_ERROR_COUNT_TOTAL": 9}
    labels = 'gpu="0",UUID="GPU-00000000-1111-2222-3333-444444444444",device="nvidia0",modelName="NVIDIA H200",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.1",DCGM_FI_DEV_SERIAL="165042",DCGM_FI_DEV_VBIOS_VERSION="96.00.74"'
    (tmp_path / "in.prom").write_text("".join(f"DCGM_FI_DEV_{name}{{{labels}}} {value}\n" for name, value in {**values, "GPU_UTIL": 50, "FB_USED": 100}.items()))
    (tmp_path / "c.csv").write_text("".join(f"DCGM_FI_DEV_{name}, gauge, x\n" for name in values) +
                                    "DCGM_FI_DEV_SERIAL, label, the serial number\nDCGM_FI_DRIVER_VERSION, label, x\nDCGM_FI_DEV_VBIOS_VERSION, label, x\nDCGM_FI_DEV_BRAND, label, x\nDCGM_FI_DEV_ENCODER_STATS, gauge, x\n")
    with Server(program, tmp_path, tmp_path / "in.prom", "-f", tmp_path / "c.csv") as s:
        s.ready()
        text = s.metrics()
        told = {line.split("{")[0][12:]: (float(line.rsplit(" ", 1)[1]), 'DCGM_FI_DEV_SERIAL="165042",DCGM_FI_DEV_VBIOS_VERSION="96.00.74"' in line) for line in text.splitlines() if line.startswith("DCGM_FI_DEV_")}
        assert told == {name: (value, True) for name, value in values.items()}
        assert "there is no label 'DCGM_FI_DEV_BRAND', ignoring" in s.text() and "there is no value for 'DCGM_FI_DEV_ENCODER_STATS', ignoring" in s.text()
    with Server(program, tmp_path, tmp_path / "in.prom") as s:
        s.ready()
        assert "DCGM_FI_DEV_SERIAL" not in s.metrics()


def test_names_of_other_exporters(program, assay, tmp_path):
    """AMD's exporter, all-smi and node_exporter, where asked for: values in their units, with their labels, and no line for what is not known."""
    tree = Tree(tmp_path / "root").add("names").add("rx7900")
    shutil.copytree(FIXTURES / "proc" / "node", tree.root, dirs_exist_ok=True, symlinks=True)
    with Server(program, tmp_path, "--backend", "drm", "--root", tree.root, "--names", "none", "--also", "rocm,all-smi,node", "--state", "none") as s:
        text = s.wait(lambda: (t := s.metrics()) and "all_smi_gpu_utilization{" in t and "node_load1 " in t and t)
        told = json.loads(s.ask("/api/v1/now")[2])
    (gpu,) = told["gpus"]
    want = {"gpu_gfx_activity": 87, "gpu_umc_activity": 35, "gpu_power_usage": 287, "gpu_edge_temperature": 58, "gpu_junction_temperature": 74, "gpu_memory_temperature": 80,
            "gpu_clock": 2410 + 1249, "gpu_used_vram": 8192, "gpu_total_vram": 25753026560 // 2**20, "pcie_replay_count": 4,
            "all_smi_gpu_utilization": 87, "all_smi_gpu_memory_used_bytes": 8 << 30, "all_smi_gpu_power_consumption_watts": 287, "all_smi_gpu_temperature_celsius": 58,
            "all_smi_gpu_frequency_mhz": 2410, "all_smi_gpu_pcie_width_current": 8, "all_smi_gpu_power_limit_current_watts": 355,
            "node_memory_MemTotal_bytes": told["host"]["system"]["figures"]["mem_total"], "node_load1": told["host"]["system"]["figures"]["load_1"]}
    assert {name: total(text, name) for name in want} == want
    assert total(text, "gpu_clock", clock_type="memory") == 1249 and len(re.findall("^# HELP gpu_clock ", text, re.M)) == 1
    labels = f'gpu_id="{gpu["index"]}",gpu_uuid="GPU-5f3c1a2b9e8d7c60",card_series="AMD Radeon RX 7900 XTX",card_vendor="AMD",driver_version="amdgpu",hostname='
    assert "gpu_power_usage{" + labels in text and 'all_smi_gpu_utilization{gpu="AMD Radeon RX 7900 XTX",instance=' in text
    # The kernel tells of no ECC here, of no performance state, and of no pressure.
    assert not re.search(r"gpu_ecc|performance_state|node_pressure", text)
    promtool = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True) if shutil.which("promtool") else None
    assert promtool is None or "error while linting" not in promtool.stderr and "was collected before" not in promtool.stderr
    for names in ("rocm,amd", "everything"):
        done = assay("serve", "--check-config", "--also", names)
        assert done.returncode == 2 and "--also: unknown names" in done.stderr and "rocm, all-smi and node" in done.stderr
    with Server(program, tmp_path, "--backend", "drm", "--root", tree.root, "--state", "none") as s:
        text = s.wait(lambda: (t := s.metrics()) and "assay_gpu_info{" in t and t)
        assert not re.search(r"^(gpu_|all_smi_|node_)", text, re.M), "unasked there are none"


def test_a_collectors_file_of_another_system(assay, tmp_path):
    """A mark of the order of bytes, line ends of two letters, quotes, a field twice."""
    (tmp_path / "c.csv").write_bytes(b'\xef\xbb\xbf# Format\r\n\r\nDCGM_FI_DEV_GPU_TEMP, gauge, "warm, in C"\r\nDCGM_FI_DEV_GPU_TEMP, gauge, again\r\n')
    assert assay("serve", "--check-config", "-f", tmp_path / "c.csv").stderr == "assay: the configuration is good\n"
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbfDCGM_FI_DEV_GPU_TEMP, gauge, warm\n")
    assert assay("serve", "--check-config", "-f", tmp_path / "c.csv").stderr == "assay: the configuration is good\n"


def test_a_variable_that_is_wrong_is_named(assay):
    done = assay("serve", "--check-config", env={"DCGM_EXPORTER_INTERVAL": "often"})
    assert done.returncode == 2 and "'often'" in done.stderr and "DCGM_EXPORTER_INTERVAL" in done.stderr


def test_systemd_is_told(program, tmp_path):
    import socket
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as n:
        n.bind(str(path))
        n.settimeout(20)
        with Server(program, tmp_path, TOUR, "--speed", "1", env={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "400000"}) as s:
            assert n.recv(100) == b"READY=1"
            assert n.recv(100) == b"WATCHDOG=1"
            s.stop()
            rest = []
            while b"STOPPING=1" not in rest:
                rest.append(n.recv(100))


def test_without_a_source_it_lives_and_says_so(serve, tmp_path):
    s = serve("--backend", "nvml", "--nvml-lib", tmp_path / "none.so")
    assert s.ask("/health")[0] == 200
    assert s.ask("/-/ready")[0] == 503
    s.wait(lambda: "trying again" in s.text())
    assert 'assay_up{source="nvml"} 0' in s.metrics()


def test_a_capture_that_cannot_be_read_ends_it(assay, tmp_path):
    (tmp_path / "x.csv").write_text("nothing known\n1,2,3\n")
    done = assay("serve", tmp_path / "x.csv", "--listen", "127.0.0.1:0")
    assert done.returncode != 0 and "unknown format" in done.stderr


def test_help_names_the_options(assay):
    text = assay("serve", "--help").stdout
    for word in ("--listen", "--auth-token-file", "--names", "--state", "-f", "-a"):
        assert word in text


@pytest.mark.slow
@pytest.mark.skipif(bool(os.environ.get("SANITIZED")), reason="a sanitizer keeps what was freed")
def test_twelve_hours_do_not_grow(serve, tmp_path):
    """Twelve hours of eight GPUs in accelerated time: memory and descriptors stay."""
    with open(tmp_path / "long.csv", "w", encoding="utf-8") as out:
        out.write("timestamp,gpu_id,sm_active_pct,gr_engine_active_pct,tensor_active_pct,dram_active_pct,power_w,mem_used_mib,gpu_temp_c\n")
        for i in range(12 * 360):
            for g in range(8):
                out.write(f"{1_700_000_000 + 10 * i},{g},{i % 100},{i % 100},{i % 60},{i % 40},{300 + i % 300},{i % 9000},{40 + i % 40}\n")
    s = serve(tmp_path / "long.csv", "--speed", "3600", "--state", tmp_path / "state").ready()

    def size():
        status = open(f"/proc/{s.process.pid}/status", encoding="utf-8").read()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), len(os.listdir(f"/proc/{s.process.pid}/fd"))

    def observed():
        return total(s.metrics(), "assay_gpu_observed_seconds_total", gpu="0")

    s.wait(lambda: observed() > 2 * 3600, 60)
    before = size()
    s.wait(lambda: observed() > 11.9 * 3600, 60)
    after = size()
    # The minutes of the day come in page by page: 1440 cells of 14 bytes, for 8 GPUs and 7 metrics, are 1.1 MB.
    assert after[0] < before[0] + 2500 and after[1] <= before[1] + 2, (before, after)


def test_four_thousand_gpus(program, tmp_path, assay):
    """Of 512 nodes: all are served, recorded and played; those beyond are told of, once."""

    def write(n):
        lines = []
        for name in ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE"):
            lines += [f'{name}{{gpu="{i % 8}",UUID="GPU-{i:08x}",modelName="NVIDIA H100 80GB HBM3",Hostname="node{i // 8:04d}"}} {i % 2 if "PROF" in name else 40}' for i in range(n)]
        (tmp_path / "big.prom").write_text("\n".join(lines) + "\n")
        return tmp_path / "big.prom"

    with Server(program, tmp_path, write(4096)) as s:
        s.ready()
        begun = time.monotonic()
        text = s.metrics()
        assert len(re.findall(r"^assay_gpu_up\{", text, re.M)) == 4096 and time.monotonic() - begun < 3
        assert len(s.json("/api/v1/now")["gpus"]) == 4096 and "left out" not in s.text()
    with Server(program, tmp_path, write(4100)) as s:
        s.ready()
        s.wait(lambda: "more than 4096 GPUs: 4 are left out" in s.text())
        time.sleep(2.5)
        assert s.text().count("left out") == 1
    recorded = tmp_path / "big.assay"
    assert assay("record", "-q", "--source", write(4096), "-o", recorded, "--duration", "1").returncode == 0
    assert len(json.loads(assay("once", "--source", recorded, "--json").stdout)["gpus"]) == 4096
    assert "4096 GPUs" in assay("report", recorded).stdout
