"""Reports: what they say about the tour, and the arithmetic of the resource summary."""
import base64
import csv
import hashlib
import html.parser
import json
import re
import sqlite3
import statistics
import subprocess

import pytest

from conftest import FIXTURES, ROOT

TOUR = ROOT / "data" / "h200-tour.csv"
SMI = FIXTURES / "nvidia-smi"


def tour_phases():
    """Name, begin and end of each phase, as the workload itself printed them."""
    lines = [json.loads(line) for line in (FIXTURES / "tour" / "h200-tour.phases.jsonl").read_text().splitlines()]
    return [(a["phase"], a["ts"], b["ts"]) for a, b in zip(lines, lines[1:]) if a["phase"] not in ("done", "end")]


@pytest.fixture(scope="module")
def marked(program, tmp_path_factory):
    """The tour as a session, with its phases."""
    path = tmp_path_factory.mktemp("marked") / "tour.assay"
    subprocess.run([program, "record", "-q", "--source", str(TOUR), "-o", str(path)], check=True)
    db = sqlite3.connect(path)
    for name, begin, end in tour_phases():
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values (?, 0, 'h', 1, 'phase', ?, ?)",
                   (int(end * 1e9), name, end - begin))
    db.commit()
    db.close()
    return path


@pytest.fixture(scope="module")
def report(program, marked):
    out = subprocess.run([program, "report", str(marked), "--format", "json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def phase(report, name):
    return next(p for p in report["phases"] if p["name"] == name)


def limiters(report, name):
    return [s["limiter"] for s in sorted(report["stretches"], key=lambda s: s["begin_s"] - s["end_s"]) if s["phase"] == name]


def test_findings_refer_to_stretches_and_phases(report):
    for f in report["findings"]:
        stretch = report["stretches"][f["stretch"]]
        assert (stretch["limiter"], stretch["held_by"], stretch["phase"]) == (f["limiter"], f["held_by"], f["phase"])
        assert f["phase"] is None or f["phase"] in f["text"]


@pytest.mark.parametrize("name, what", [
    ("bf16_matmul", "compute.tensor"), ("tf32_matmul", "compute.tensor"), ("fp32_matmul", "compute.fp32"), ("h2d_copy", "copy.link"),
    ("hbm_copy", "memory.bandwidth"), ("train_healthy", "kernel"), ("decode_batch1", "launch"), ("idle_allocated", "unknown"),
    ("train_starved_by_dataloader", "unknown"),
])
def test_what_limited_each_phase(report, name, what):
    """The capture has no host: what a GPU in bursts waits for is not known."""
    assert limiters(report, name)[0] == what


def test_what_held_the_clocks(report):
    held = next(s for s in report["stretches"] if s["phase"] == "bf16_matmul")
    assert held["held_by"] == "power" and held["evidence"]["tensor"] == pytest.approx(0.93, abs=0.02)


def test_means_and_maxima_are_those_of_the_capture(report, assay):
    """Against Python's own arithmetic over the exported rows of the phase."""
    rows = list(csv.DictReader(assay("export", "full", "--source", TOUR).stdout.splitlines()))
    for name, begin, end in tour_phases():
        gpu = phase(report, name)["gpus"][0]
        times = [float(r["timestamp"]) for r in rows]
        inside = [r for i, r in enumerate(rows) if begin < times[i] - (times[i] - times[max(i - 1, 0)]) / 2 <= end]
        assert gpu["samples"] == len(inside), name
        for column, metric, factor in (("sm_active_pct", "sm_active", 100), ("power_w", "power", 1), ("mem_used_mib", "fb_used", 2**-20)):
            values = [float(r[column]) for r in inside]
            assert gpu["metrics"][metric]["mean"] * factor == pytest.approx(statistics.fmean(values), abs=0.01)
            assert gpu["metrics"][metric]["max"] * factor == pytest.approx(max(values), abs=0.01)
            values.sort()
            p95 = values[int(0.95 * (len(values) - 1))]
            assert gpu["metrics"][metric]["p95"] * factor == pytest.approx(p95, rel=0.04, abs=0.06)


def test_energy_is_the_counters(report, assay):
    rows = list(csv.DictReader(assay("export", "full", "--source", TOUR).stdout.splitlines()))
    used = float(rows[-1]["energy_j"]) - float(rows[0]["energy_j"])
    assert report["run"]["gpus"][0]["energy_j"] == pytest.approx(used, abs=0.2)
    assert sum(p["gpus"][0]["energy_j"] for p in report["phases"]) < used


def test_time_in_classes_sums_up(report):
    for scope in [report["run"], *report["phases"]]:
        for gpu in scope["gpus"]:
            assert sum(gpu["classes_s"].values()) == pytest.approx(gpu["seconds"])
            assert gpu["seconds"] == pytest.approx(scope["seconds"], abs=0.25)


def test_tags(report):
    assert phase(report, "idle_allocated")["tags"][0]["tag"] == "gpu-allocated-but-not-used"
    assert phase(report, "h2d_copy")["tags"][0]["tag"] == "gpu-util-bound"


def test_thresholds_are_options(assay, marked):
    done = assay("report", marked, "--format", "json", "--tag-gpu", "0.5", "--tag-gpu-memory", "0.1")
    tags = [t["tag"] for t in phase(json.loads(done.stdout), "train_healthy")["tags"]]
    assert tags == ["gpu-util-bound", "gpu-memory-bound"]


def test_one_phase_alone(assay, marked):
    one = json.loads(assay("report", marked, "--phase", "h2d_copy", "--format", "json").stdout)
    assert [p["name"] for p in one["phases"]] == ["h2d_copy"] and one["run"]["ticks"] == one["phases"][0]["ticks"]
    last = json.loads(assay("report", marked, "--phase", "-2:", "--format", "json").stdout)
    assert [p["name"] for p in last["phases"]] == ["decode_batch1", "idle_allocated"]
    done = assay("report", marked, "--phase", "nope")
    assert done.returncode == 2 and "from 0 'idle' to 13 'idle_allocated'" in done.stderr


def test_the_first_screen(assay, marked):
    """Findings, six key numbers, one row a GPU and phase; the rest is asked for."""
    text = assay("report", marked).stdout
    heads = [text.index(words) for words in ("findings\n  1 GPU 0", "key numbers\n", "\nphases ", "\n  command " if "  command " in text else "\n  when ")]
    assert heads == sorted(heads)
    for words in ("Real Utilization ", "GPU busy ", "SM active ", "36.6 kJ", "memory 26.9 GiB of 140 GiB", "CPU --", "--all"):
        assert words in text
    for words in ("p95", "stretches ", "time in"):
        assert words not in text


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_text_fits_the_terminal(assay, marked, columns):
    text = assay("report", marked, "--all", "--each", env={"COLUMNS": str(columns)}).stdout
    # Paths and commands are never broken; the tables of --all need 80.
    wide = [line for line in text.splitlines() if len(line) > max(columns, 80) and str(marked) not in line]
    assert wide == []
    assert not re.search(r"\n +%", text), "a number and its unit stay together"


def many_gpus(path, n, seconds=0, odd=None):
    """The tour, with n GPUs; one may be odd: it does nothing."""
    head, *lines = TOUR.read_text().splitlines()
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + "\n")
        for line in lines[:seconds * 10 or None]:
            when, _, rest = line.split(",", 2)
            for gpu in range(n):
                cells = rest.split(",")
                if gpu == odd:
                    cells[1:6] = ["0"] * 5
                f.write(f"{when},{gpu},{','.join(cells)}\n")
    return path


def test_many_gpus_are_a_spread_and_outliers(assay, tmp_path):
    path = many_gpus(tmp_path / "many.csv", 72, 40, odd=17)
    text = assay("report", path).stdout
    assert len(text.splitlines()) < 45 and "GPUs that differ\n  GPU 17: sm_active 0.0 % (median " in text
    rows = [line.split() for line in text.splitlines()]
    assert [r[0] for r in rows if r and r[0] in ("mid", "high")] == ["mid", "high"] and any(r[:2] == ["the", "run"] and r[3] == "low" for r in rows)
    full = assay("report", path, "--all").stdout
    assert all(f"\nGPU {i} NVIDIA" in full for i in range(72))


def test_phases_of_one_name_are_one_row(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", TOUR, "-o", path)
    db = sqlite3.connect(path)
    for i in range(3):
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, data) values (?, 0, 'h', 1, 'phase', 'epoch', 5, ?)",
                   (int((1794726560 + 10 * i) * 1e9), json.dumps({"epoch": i, "lr": 0.1})))
    db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, data) values (?, 0, 'h', 1, 'event', 'saved', ?)",
               (int(1794726570e9), json.dumps({"file": "a.pt"})))
    db.commit()
    db.close()
    text = assay("report", path).stdout
    assert len(re.findall(r"^  epoch ×3 +15\.0 ", text, re.M)) == 1 and re.search(r"events\n +\d+\.\d s  saved file=a.pt\n", text)
    each = assay("report", path, "--each").stdout
    assert re.findall(r" 5\.0  epoch (epoch=\d, lr=0\.1)", each) == [f"epoch={i}, lr=0.1" for i in range(3)]


def test_text_names_what_matters(assay, marked):
    text = assay("report", marked, "--all").stdout
    for words in ("findings\n  1 GPU 0", "    try: ", "stretches ", "tensor cores, power", "energy    36.6 kJ", "26.9 GiB at most, of 140 GiB",
                  "time in", "p95"):
        assert words in text
    assert "gpu-allocated-but-not-used" not in text, "tags are for programs"


def test_a_capture_is_reported_like_a_session(assay, report):
    plain = json.loads(assay("report", TOUR, "--format", "json").stdout)
    a, b = plain["run"]["gpus"][0], report["run"]["gpus"][0]
    for metric in ("sm_active", "power", "dram_active"):
        assert a["metrics"][metric]["mean"] == pytest.approx(b["metrics"][metric]["mean"], rel=1e-3)


def test_one_tick_is_no_stretch(assay, tmp_path):
    """A short command has one: no time passes in it."""
    head, line, *_ = (ROOT / "data" / "h200-tour.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text(f"{head}\n{line}\n")
    text = assay("report", tmp_path / "one.csv").stdout
    assert "one tick is too short" in text and "time in" not in text


def test_shares_of_a_sentence_have_a_blank(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("run", "-q", "--poll", "0.1", "-o", path, "--", "sleep", "0.6")
    text = " ".join(assay("report", path).stdout.split())
    assert re.search(r"no GPU was recorded; \d+\.\d of [\d.]+ cores? busy \(\d+ %\), memory peak", text)


def test_a_run_without_gpus(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("run", "-q", "-o", path, "--", "sh", "-c", "exit 2")
    done = assay("report", path)
    assert done.returncode == 0 and "with 2" in done.stdout and "no GPU was recorded" in done.stdout
    told = json.loads(assay("report", path, "--format", "resource-summary").stdout)
    assert len(told) == 7 and {v for k, v in told.items() if not k.startswith("cpu_")} == {None}, "null, not 0 and not left out"


def test_output_file(assay, marked, tmp_path):
    assert assay("report", marked, "--format", "json", "-o", tmp_path / "r.json").stdout == ""
    assert json.loads((tmp_path / "r.json").read_text())["program"] == "assay"
    assert assay("report", marked, "-o", tmp_path / "no" / "r").returncode == 1


@pytest.mark.parametrize("words", [[]])
def test_usage(assay, words):
    assert assay("report", *words).returncode == 2


# ---- HTML ----

@pytest.fixture(scope="module")
def page(program, marked):
    path = marked.parent / "report.html"
    subprocess.run([program, "report", str(marked), "--format", "html", "-o", str(path)], check=True)
    return path


def test_html_is_one_file(page):
    text = page.read_text()
    assert "://" not in text and "src=" not in text and "@import" not in text
    data = json.loads(re.search(r"id=data>(.*?)</script>", text, re.S)[1])
    assert [p[0] for p in data["phases"]] == [p[0] for p in tour_phases()] and len(data["charts"]) >= 8
    assert all(len(c["curves"]) == 1 and len(c["curves"][0]["mean"]) <= 2 * 2048 for c in data["charts"])
    assert re.search(r'<li class=side-\w+>GPU 0', text) and "<b>Try:</b>" in text and len(text) < 500_000


def test_the_page_allows_its_own_script_and_style_only(page):
    text = page.read_text()
    for name, n in (("script", 3), ("style", 2)):
        bodies = re.findall(rf"<{name}(?: media=[^>]*)?>(.*?)</{name}>", text, re.S)
        allowed = re.search(rf"{name}-src ([^;]*);", text).group(1).split()
        digests = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies]
        assert len(bodies) == n and sorted(allowed) == sorted(f"'sha256-{d}'" for d in digests)
    # Styles and handlers in attributes would need more than that.
    assert not re.search(r"<[a-z][^>]* (style|on[a-z]+)=", text.split("<script")[0])


def test_html_keeps_names_as_text(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", SMI / "smi-query.csv", "-o", path)
    assay("mark", "phase", "</script><script>alert(1)</script>", "--seconds", "100", "--session", path)
    text = assay("report", path, "--format", "html").stdout
    assert "<script>alert" not in text and "&lt;/script&gt;" in text


# ---- the resource summary ----

def summary(assay, path):
    done = assay("report", path, "--format", "resource-summary")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_resource_summary_of_a_query_log(assay):
    rows = [[float(x) if i else x for i, x in enumerate(line.split(", "))] for line in (SMI / "smi-query.csv").read_text().splitlines()]
    column = list(zip(*rows))
    assert summary(assay, SMI / "smi-query.csv") == {
        "peak_vram_mb": max(column[3]),
        "gpu_util_mean_pct": round(statistics.fmean(column[1]), 1), "gpu_util_max_pct": max(column[1]),
        "mem_util_mean_pct": round(statistics.fmean(column[2]), 1), "mem_util_max_pct": max(column[2]),
        "power_watts_mean": round(statistics.fmean(column[5]), 1), "power_watts_max": round(max(column[5]), 1),
        "cpu_usr_mean_pct": None, "cpu_idle_mean_pct": None,
    }


def test_memory_controller_is_found_by_header(assay):
    """In a real dmon -s mu it is the sixth column, not the third."""
    found = summary(assay, SMI / "smi-dmon-mu.txt")
    assert (found["mem_util_mean_pct"], found["gpu_util_mean_pct"], found["peak_vram_mb"]) == (25.0, 99.0, 1011.0)
    assert found["power_watts_mean"] is None


@pytest.fixture
def folder(tmp_path):
    """What a hardware monitor leaves, with numbers whose means need rounding."""
    place = tmp_path / "hw"
    place.mkdir()
    (place / "hw_metrics.csv").write_text("".join(
        f"2026/11/15 07:26:{10 + i}.010, {90 + i}, 11, {1000 + i}, 143771, {600.25 + i}, 61, 1515, 3201\n" for i in range(3)))
    (place / "hw_dmon.csv").write_text((SMI / "smi-dmon-mu.txt").read_text().replace("    25 ", "    26 ", 2))
    (place / "cpu_metrics.csv").write_text("timestamp,usr_pct,idle_pct\n1,12.5,80.0\n2,13.0,79.5\n3,,\n4,13.2,79.9\n")
    return place


def test_resource_summary_of_a_folder(assay, folder):
    assert summary(assay, folder) == {
        "peak_vram_mb": 1002.0, "gpu_util_mean_pct": 91.0, "gpu_util_max_pct": 92.0, "mem_util_mean_pct": 25.4, "mem_util_max_pct": 26.0,
        "power_watts_mean": 601.2, "power_watts_max": 602.2, "cpu_usr_mean_pct": 12.9, "cpu_idle_mean_pct": 79.8,
    }


def test_the_folder_is_a_source_for_all(assay, folder):
    assert assay("once", "--source", folder).returncode == 0
    assert len(assay("export", "--source", folder).stdout.splitlines()) == 4


def test_user_metric_in_the_resource_summary(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", SMI / "smi-query.csv", "-o", path)
    for value in ("100.04", "2048.26", "0"):
        assert assay("mark", "metric", f"jax_peak_bytes_mb={value}", "--session", path).returncode == 0
    assert summary(assay, path)["jax_peak_bytes_mb"] == 2048.3


def test_the_same_from_a_session(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", SMI / "smi-query.csv", "-o", path)
    assert summary(assay, path) == summary(assay, SMI / "smi-query.csv")


def test_a_folder_that_is_none(assay, tmp_path):
    done = assay("report", tmp_path)
    assert done.returncode == 1 and "hw_metrics.csv" in done.stderr


@pytest.mark.parametrize("sm, used, words", [
    ((0, 0), (2048, 2048), ["idle.allocated"]),
    ((0.02, 0.05), (2048, 2048), ["idle.allocated"]),
    ((0, 0), (2048, 0), ["idle.allocated", "idle"]),
    ((0, 0), (0, 0), ["idle"]),
])
def test_an_idle_gpu_is_told_truly(assay, tmp_path, sm, used, words):
    """Sixty of a hundred seconds are of the first kind."""
    idle = next(csv.DictReader(TOUR.open()))
    path = tmp_path / "idle.csv"
    with path.open("w") as file:
        out = csv.DictWriter(file, idle)
        out.writeheader()
        for i in range(101):
            out.writerow({**idle, "timestamp": 1794726548 + i, "sm_active_pct": sm[i > 60],
                          "gr_engine_active_pct": sm[i > 60], "mem_used_mib": used[i > 60]})
    told = json.loads(assay("report", path, "--format", "json").stdout)
    assert {s["limiter"] for s in told["stretches"]} == set(words) and told["findings"][0]["limiter"] == words[0]


def with_phases(assay, path, phases):
    """The tour with phases: name, begin and end in seconds."""
    assay("record", "-q", "--source", TOUR, "-o", path)
    db = sqlite3.connect(path)
    start = db.execute("select value from manifest where key = 'start_ns'").fetchone()[0]
    for name, begin, end in phases:
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values (?, 0, 'h', 1, 'phase', ?, ?)",
                   (start + int(end * 1e9), name, end - begin))
    db.commit()
    db.close()


def test_what_was_not_sampled_is_not_called_normal(assay, tmp_path):
    path = tmp_path / "early.assay"
    with_phases(assay, path, [("before", -100, -50), ("whole", 0, 100)])
    phases = json.loads(assay("report", path, "--format", "json").stdout)["phases"]
    assert [p["tags"] == [] for p in phases] == [True, False]


def test_a_phase_that_does_several_things_has_several_stretches(assay, tmp_path):
    path = tmp_path / "mixed.assay"
    with_phases(assay, path, [("mixed", 30, 60), ("busy", 10, 14)])
    told = json.loads(assay("report", path, "--format", "json").stdout)
    assert len({s["limiter"] for s in told["stretches"] if s["phase"] == "mixed"}) >= 3
    assert [s["limiter"] for s in told["stretches"] if s["phase"] == "busy"] == ["compute.tensor"]


def test_html_has_no_empty_tables(assay, tmp_path):
    path = tmp_path / "hw_metrics.csv"
    path.write_text("".join(f"2026/11/15 12:01:4{i}.000" + ", [N/A]" * 8 + "\n" for i in range(4)))
    html = assay("report", tmp_path, "--format", "html").stdout
    assert "<h2>GPUs, means of the run</h2>" in html and "<h2>Over time</h2>" not in html
    session = tmp_path / "nogpu.assay"
    assay("run", "-q", "--nvml-lib", "/nowhere", "--root", "/nowhere", "-o", session, "--", "true")
    html = assay("report", session, "--format", "html").stdout
    assert "<h2>Everything</h2>" in html and "<h2>GPUs" not in html and "<h2>Phases" not in html


@pytest.mark.parametrize("hot_s, told, why", [
    (30, True, "half of the run"),
    (6, False, "a tenth of the run"),
    (0, False, "never"),
])
def test_an_unhealthy_gpu_is_a_finding(program, tmp_path, hot_s, told, why):
    path = tmp_path / "hot.csv"
    rows = [f"{1794726548 + s},{g},NVIDIA H100 80GB HBM3,90,{97 if g == 1 and s < hot_s else 60}"
            for s in range(60) for g in (0, 1)]
    path.write_text("\n".join(["timestamp,gpu_id,model,gpu_util_pct,gpu_temp_c"] + rows) + "\n")
    done = subprocess.run([program, "report", str(path)], capture_output=True, text=True, check=True)
    findings = done.stdout.split("key numbers")[0]
    assert ("GPU 1 was not healthy" in findings) == told, why
    assert "GPU 0 was not healthy" not in findings
    data = json.loads(subprocess.run([program, "report", str(path), "--format", "json"], capture_output=True, text=True, check=True).stdout)
    assert [u["gpu"] for u in data["unhealthy"]] == (["1"] if told else [])
    if told:
        assert "warning temperature" in findings and findings.index("GPU 1 was") > findings.index("  1 ")
        assert "cooling" in data["unhealthy"][0]["try"]


def test_a_capture_without_the_link_is_judged(assay):
    """dcgmi dmon tells bytes over PCIe, not how fast the link is: copies, idle time and kernels are told apart all the same."""
    capture = ROOT / "tests" / "fixtures" / "tour" / "h200-tour.dmon.txt"
    stretches = json.loads(assay("report", "--format", "json", "--poll", "0.1", capture).stdout)["stretches"]

    def at(second):
        return next(s["limiter"] for s in stretches if s["begin_s"] <= second < s["end_s"])

    assert [at(s) for s in (2, 12, 22, 36, 41, 62, 100)] == [
        "idle", "compute.tensor", "compute.fp32", "memory.bandwidth", "copy.link", "kernel", "idle"]


def test_limits_that_are_near_are_lines_of_their_charts(assay, tmp_path):
    """In the unit of the chart; one that is far away would only press the curve down."""
    capture = tmp_path / "near.csv"
    rows = [f"{1794726548 + t},0,NVIDIA H200,50,99,138000,143771,690,700" for t in range(30)]
    head = "timestamp,gpu_id,model,sm_active_pct,gpu_util_pct,mem_used_mib,mem_total_mib,power_w,power_limit_w"

    def limits():
        capture.write_text("\n".join([head, *rows]) + "\n")
        page = assay("report", capture, "--format", "html").stdout
        return dict(re.findall(r'"id":"(fb_used|power)"[^{]*?"limits":\[(.*?)\],"curves"', page))

    assert limits() == {"fb_used": '["limit",140.401]', "power": '["limit",700]'}
    rows = [row.replace("138000", "1000").replace(",690,", ",50,") for row in rows]
    assert limits() == {"fb_used": "", "power": ""}


def test_csv_is_the_json_in_rows(assay):
    """A row a GPU and phase, with the numbers that JSON has."""
    run = ROOT / "docs" / "example" / "tour.assay"
    told = json.loads(assay("report", run, "--format", "json").stdout)
    rows = list(csv.DictReader(assay("report", run, "--format", "csv").stdout.splitlines()))
    scopes = [told["run"], *told["phases"]]
    assert [r["phase"] for r in rows] == ["the run", *(p["name"] for p in told["phases"])]
    for row, scope in zip(rows, scopes):
        gpu = scope["gpus"][0]
        for column, metric in (("sm_active", "sm_active"), ("power_w", "power"), ("fb_used_bytes", "fb_used"), ("sm_clock_hz", "sm_clock"), ("real_util", "real_util")):
            assert float(row[column]) == pytest.approx(gpu["metrics"][metric]["mean"], rel=1e-6), (row["phase"], column)
        assert float(row["energy_j"]) == pytest.approx(gpu["energy_j"], rel=1e-6)


def test_markdown_has_findings_and_phases(assay):
    run = ROOT / "docs" / "example" / "tour.assay"
    told = json.loads(assay("report", run, "--format", "json").stdout)
    lines = assay("report", run, "--format", "markdown").stdout.splitlines()
    assert lines[0] == "## python3 tour.py" and "### Findings" in lines and "### Phases, means" in lines
    plain = [line.replace("\\", "") for line in lines]
    for finding in told["findings"][:3]:
        assert any(finding["text"] in line for line in plain), finding["text"]
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 2 + 1 + len(told["phases"]) and "tensor cores, power" in next(line for line in table if "bf16" in line)


class PageTables(html.parser.HTMLParser):
    """{the heading above: rows of [text, data-v]}."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.heading, self.into = {}, "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        rows = self.tables.setdefault(self.heading, []) if tag in ("tr", "td", "th") else []
        if tag == "h2":
            self.heading, self.into = "", "heading"
        elif tag == "tr":
            rows.append([])
        elif tag in ("td", "th"):
            rows[-1].append(["", dict(attrs).get("data-v")])
            self.into = rows[-1][-1]

    def handle_endtag(self, tag):
        if tag in ("h2", "table", "tr", "td", "th"):
            self.into = None

    def handle_data(self, data):
        if self.into == "heading":
            self.heading += data
        elif self.into:
            self.into[0] += data.strip("\n")


def test_tables_of_the_page_have_the_figures_of_json(assay):
    """Each cell of the GPUs, phases and stretches, and by what each is sorted."""
    tour = ROOT / "docs" / "example" / "tour.assay"
    told = json.loads(assay("report", tour, "--format", "json").stdout)
    tables = PageTables(assay("report", tour, "--format", "html").stdout).tables
    names = {"Real": "real_util", "util": "gpu_util", "SM": "sm_active", "tensor": "tensor_active", "DRAM": "dram_active", "memory": "fb_used", "PCIe in": "pcie_rx", "power": "power",
             "temp": "gpu_temp", "clock": "sm_clock"}

    def same(row, titles, gpu):
        cells = dict(zip(titles, row))
        assert {t: cells[t][1] for t in names} == {t: f"{gpu['metrics'][m]['mean']:.6g}" for t, m in names.items()}
        assert cells["energy"][1] == f"{gpu['energy_j']:.6g}" and cells["GPU"][0] == gpu["gpu"]
        return cells

    titles, *rows = tables["GPUs, means of the run"]
    titles = [text for text, _ in titles]
    assert len(rows) == 1
    same(rows[0], titles, told["run"]["gpus"][0])
    assert [text for text, _ in rows[0]] == ["0", "NVIDIA H200", "31.2", "53.9 %", "43.5 %", "22.9 %", "15.6 %", "11.3 GiB", "3.5 GB/s", "384 W", "49 °C", "1778 MHz", "34.7 kJ", "waiting"]
    titles, *rows = tables["Phases"]
    titles = [text for text, _ in titles]
    assert len(rows) == len(told["phases"]) > 10
    for row, phase in zip(rows, told["phases"]):
        cells = same(row, titles, phase["gpus"][0])
        assert [cells[t] for t in ("phase", "times", "time")] == [[phase["name"], None], [str(phase["times"]), None], [f"{phase['seconds']:.1f} s", f"{phase['seconds']:.6g}"]]
    titles, *rows = tables["Stretches"]
    assert [text for text, _ in titles] == ["from", "to", "GPU", "limiter", "phase", "where"] and len(rows) == len(told["stretches"])
    for row, stretch in zip(rows, told["stretches"]):
        for (text, number), key in zip(row, ("begin_s", "end_s")):
            assert text == f"{stretch[key]:.1f} s" and float(number) == pytest.approx(stretch[key], abs=0.001)
        assert [row[2], row[4]] == [["0", None], [stretch["phase"] or "", None]], stretch
    assert [row[3][0] for row in rows[:3]] == ["start-up", "waiting", "tensor cores, power"]
    host = next(rows for heading, rows in tables.items() if heading.startswith("Host: process 426 (python3), limits: 16 CPUs, 128 GiB"))
    assert [text for text, _ in host[1]] == ["the run", "0.89", "13.90", "6%", "3.6G", "3%", "16.8M", "13.4M", "0.03"] and len(host) == len(told["phases"]) + 2
