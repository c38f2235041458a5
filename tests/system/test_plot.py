"""Plots: each format is what it says, phases and units are there, gaps stay gaps, errors help."""
import os
import json
import re
import sqlite3
import struct
import subprocess
import time
import xml.etree.ElementTree as xml
import zlib

import pytest

from conftest import FIXTURES, ROOT

TOUR = ROOT / "tests" / "fixtures" / "session" / "tour.assay"
CSV = ROOT / "data" / "h200-tour.csv"
DMON = FIXTURES / "dcgm" / "dmon-8gpu.txt"
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return [t.text for t in xml.fromstring(svg).iter(SVG + "text")]


def group(svg, name):
    """The parts of one panel."""
    return next(g for g in xml.fromstring(svg).iter(SVG + "g") if g.get("class") == name)


def panels(svg):
    return [g.get("class") for g in xml.fromstring(svg).iter(SVG + "g") if g.get("class") not in ("header", "phases", "events", "classes", "limiters", "time")]


def curve(svg, name, colour="#0072b2"):
    """The points of a panel's curve, one list a piece."""
    lines = [line for line in group(svg, name).iter(SVG + "polyline") if line.get("stroke") == colour]
    return [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in lines]


@pytest.fixture(scope="module")
def tour(program):
    return subprocess.run([program, "plot", str(TOUR)], capture_output=True, text=True, check=True).stdout


def decode_png(data, rows):
    """Width, height and the first rows of a truecolour PNG, as bytes."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + part)
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", part)
        body += part if kind == b"IDAT" else b""
        at += 12 + size
    assert (depth, colour, interlace) == (8, 2, 0)
    raw, line = zlib.decompress(body), 1 + 3 * width
    assert len(raw) == height * line
    found = [bytes(3 * width)]
    for row in range(rows):
        found.append(unfilter(raw[row * line], raw[row * line + 1:(row + 1) * line], found[-1]))
    return width, height, found[1:]


def unfilter(kind, row, above):
    out = bytearray(row)
    for i in range(len(row)):
        a, b, c = (out[i - 3] if i >= 3 else 0), above[i], (above[i - 3] if i >= 3 else 0)
        near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
        out[i] = (row[i] + (0, a, b, (a + b) // 2, near)[kind]) & 255
    return bytes(out)


# ---- formats ----

def test_svg_says_what_it_shows(tour):
    found = texts(tour)
    for words in ("python3 tour.py", "SM active, %", "Device memory used, GiB", "Power, W", "PCIe in, GB/s", "time since the start, s", "limit 700",
                  "limit 140", "tiny_kernels", "train_starved_", "Class", "Limited by", "I/O", "copies"):
        assert words in found, words
    assert any("NVIDIA H200" in t and "started 2026-11-15" in t and "1 min 34 s" in t for t in found)
    assert panels(tour) == ["gpu_util", "sm_active", "tensor_active", "dram_active", "fb_used", "power", "sm_clock", "pcie_rx", "pcie_tx"]


def test_the_finding_is_below_the_title(assay, tour):
    said = json.loads(assay("report", TOUR, "--format", "json").stdout)["findings"][0]["text"]
    lines = texts(tour)[2:4]
    assert said.startswith(lines[0]) and said[:len(" ".join(lines)) - 2].startswith(" ".join(lines).rstrip("…")[:120]), (lines, said)
    assert not any(t.startswith("%") for t in lines)


def test_cores_have_a_line_at_one(assay):
    svg = assay("plot", ROOT / "docs" / "example" / "tour.assay", "--metrics", "default").stdout
    assert "CPU cores busy (process)" in texts(svg) and "one core" in texts(svg) and "cpu_share" not in panels(svg)
    assert "limit 1980" in texts(svg), "the clock has its limit"


def test_the_lane_of_limiters_has_words(assay):
    svg = assay("plot", ROOT / "docs" / "example" / "tour.assay", "--width", "960").stdout
    lane = [t.text for t in group(svg, "limiters").iter(SVG + "text")]
    assert {"tensor cores", "memory bandw.", "copies", "start-up"} <= set(lane)
    assert lane.count("tensor cores") == 1, "stretches of one limiter that follow each other are one"


def test_a_slide_has_the_panels_of_the_verdict(assay, tmp_path):
    run = ROOT / "docs" / "example" / "tour.assay"
    assert assay("plot", run, "--size", "slide", "-o", tmp_path / "slide.png").returncode == 0
    assert decode_png((tmp_path / "slide.png").read_bytes(), 1)[:2] == (1920, 1080)
    svg = assay("plot", run, "--size", "slide").stdout
    said = json.loads(assay("report", run, "--format", "json").stdout)["findings"][0]
    assert said["limiter"] == "host.waiting"  # kernels run a part of the time, cores rest
    assert panels(svg)[:2] == ["gpu_util", "cpu"] and len(panels(svg)) == 4
    chosen = assay("plot", run, "--size", "slide", "--metrics", "power,gpu_temp").stdout
    assert panels(chosen) == ["power", "gpu_temp"]
    both = assay("plot", run, "--size", "slide", "--height", "300")
    assert both.returncode == 2 and "--height" in both.stderr


def test_a_capture_without_times_has_no_date(assay):
    assert not any("1970" in t for t in texts(assay("plot", DMON).stdout))


def test_the_curve_is_the_run(tour):
    """Against the session itself: where SM activity is high the curve is high."""
    db = sqlite3.connect(f"file:{TOUR}?mode=ro", uri=True)
    rows = db.execute("select elapsed, sm_active from gpus where sm_active is not null").fetchall()
    start, = db.execute("select cast(value as integer) from manifest where key = 'start_ns'").fetchone()
    end = db.execute("select max(time) from ticks").fetchone()[0] - start / 1e9
    db.close()
    points = sorted(p for piece in curve(tour, "sm_active") for p in piece)
    left, right = 58, 746
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    assert 65 < bottom - top <= 70
    wrong = 0
    for elapsed, v in rows:
        x = left + (right - left) * elapsed / end
        near = [y for px, y in points if abs(px - x) < 4]
        wrong += bool(near) and not any(abs((bottom - y) / 70 - v) < 0.15 for y in near) and 0.1 < v < 0.9
    assert wrong < len(rows) * 0.02


def test_runs_over_each_other(assay, tmp_path):
    """Each run is a line from its own start, whenever it was."""
    runs = [ROOT / "tests" / "truth" / f"{name}.assay" for name in ("train_block", "compiled_blocks")]
    done = assay("plot", *runs, "-o", "-", "--metrics", "sm_active")
    assert done.returncode == 0 and {"train_block.assay", "compiled_blocks.assay"} <= set(texts(done.stdout))
    assert any(t.startswith("means ") for t in texts(done.stdout))
    first, second = (assay("plot", run, "-o", "-", "--metrics", "sm_active").stdout for run in runs)
    assert len(curve(done.stdout, "sm_active")) >= 2
    for alone in (first, second):
        assert "means" not in " ".join(texts(alone))
    bad = assay("plot", runs[0], tmp_path / "none.assay", "-o", tmp_path / "x.svg")
    assert bad.returncode == 3 and "none.assay" in bad.stderr and not (tmp_path / "x.svg").exists()
    over = assay("plot", runs[0], runs[1], "-o", runs[1])
    assert over.returncode == 2, "no input is written over"


def test_png_is_a_picture(assay, tmp_path):
    assert assay("plot", TOUR, "-o", tmp_path / "x.PNG").returncode == 0
    width, height, rows = decode_png((tmp_path / "x.PNG").read_bytes(), 60)
    assert width == 1520 and 1000 < height < 2500
    assert rows[0] == b"\xff" * 3 * width
    # The title is dark on white, and ends well before the right edge.
    dark = [i // 3 for row in rows for i in range(0, len(row), 3) if row[i] < 64]
    assert 115 <= min(dark) < 125 and 200 < max(dark) < 500


def test_pdf_is_one_page_with_text(assay, tmp_path):
    assert assay("plot", TOUR, "-o", tmp_path / "x.pdf").returncode == 0
    info = subprocess.run(["pdfinfo", tmp_path / "x.pdf"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"Pages: +1\n", info) and re.search(r"Page size: +570 x", info)
    text = subprocess.run(["pdftotext", tmp_path / "x.pdf", "-"], capture_output=True, text=True, check=True).stdout
    assert "SM active, %" in text and "tiny_kernels" in text


def test_other_programs_draw_the_svg(assay, tmp_path):
    assay("plot", TOUR, "-o", tmp_path / "x.svg")
    done = subprocess.run(["rsvg-convert", tmp_path / "x.svg", "-o", tmp_path / "x.png"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.png").stat().st_size > 20000


@pytest.mark.parametrize("width", ["395", "400"])
def test_jpeg_is_the_same_picture(assay, tmp_path, width):
    """Also where it does not end with a block of eight."""
    images = pytest.importorskip("PIL.Image")
    chops = pytest.importorskip("PIL.ImageChops")
    for name in ("x.png", "x.jpg"):
        assert assay("plot", TOUR, "-o", tmp_path / name, "--width", width, "--metrics", "power,sm_active").returncode == 0
    png, jpeg = (images.open(tmp_path / name) for name in ("x.png", "x.jpg"))
    assert jpeg.format == "JPEG" and jpeg.size == png.size
    away = chops.difference(png.convert("RGB"), jpeg.convert("RGB"))
    assert max(high for _, high in away.getextrema()) < 40
    seen = away.convert("L").histogram()
    assert sum(value * n for value, n in enumerate(seen)) / sum(seen) < 1


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "jpg"])
def test_the_same_run_gives_the_same_file(assay, tmp_path, ending):
    for name in "ab":
        assert assay("plot", TOUR, "-o", tmp_path / f"{name}.{ending}").returncode == 0
        time.sleep(1.1 if ending == "pdf" and name == "a" else 0)
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_minus_is_svg_to_the_standard_output(assay, tour):
    assert assay("plot", TOUR, "-o", "-").stdout == tour


# ---- what is drawn ----

def test_metrics_choose_the_panels(assay):
    assert panels(assay("plot", TOUR, "--metrics", "power,sm").stdout) == ["power", "sm_active", "sm_occupancy"]
    many = panels(assay("plot", TOUR, "--metrics", "default,gpu_temp").stdout)
    assert many[-1] == "gpu_temp" and len(many) == 10


def test_several_gpus(assay):
    across = assay("plot", DMON, "--metrics", "power").stdout
    assert any("mean of 8 GPUs" in t for t in texts(across))
    each = assay("plot", DMON, "--metrics", "power", "--per-gpu").stdout
    assert [t for t in texts(each) if t.startswith("GPU ")] == [f"GPU {i}" for i in range(8)]
    colours = {line.get("stroke") for line in group(each, "power").iter(SVG + "polyline")}
    assert len([c for c in colours if c in ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")]) == 8
    one = assay("plot", DMON, "--metrics", "power", "--gpus", "3").stdout
    assert not any("mean of" in t for t in texts(one))


def test_notebook_keys(assay):
    found = assay("plot", DMON, "--metrics", "gpu_util_summary,gpu_mem,gpu_band")
    assert found.returncode == 0
    assert panels(found.stdout) == ["gpu_util", "fb_used", "mem_copy_util"]
    assert any("mean of 8 GPUs" in t for t in texts(found.stdout)) and "GPU 7" in texts(found.stdout)


def test_missing_values_are_gaps(assay, tmp_path):
    lines = CSV.read_text().splitlines()
    column = lines[0].split(",").index("sm_active_pct")
    for i in range(300, 600):
        words = lines[i].split(",")
        words[column] = ""
        lines[i] = ",".join(words)
    path = tmp_path / "gap.csv"
    path.write_text("\n".join(lines) + "\n")
    whole = curve(assay("plot", CSV, "--metrics", "sm_active").stdout, "sm_active")
    pieces = curve(assay("plot", path, "--metrics", "sm_active").stdout, "sm_active")
    assert len(whole) == 1 and len(pieces) == 2
    assert pieces[1][0][0] - pieces[0][-1][0] > 100


def test_a_phase_alone(assay):
    svg = assay("plot", TOUR, "--phase", "train_healthy").stdout
    assert "train_healthy" in texts(svg) and "tiny_kernels" not in texts(svg)
    ticks = [float(t) for t in texts(xml.tostring(group(svg, "time"))) if t[0].isdigit()]
    assert 60 <= min(ticks) and max(ticks) <= 71
    assert any("showing 10 s" in t for t in texts(svg))
    done = assay("plot", TOUR, "--phase", "nope")
    assert done.returncode == 2 and "there is no phase" in done.stderr


def test_events_and_nested_phases(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", CSV, "-o", path)
    db = sqlite3.connect(path)
    end, = db.execute("select max(time) from ticks").fetchone()
    for kind, name, at, seconds in (("phase", "outer <1> & more", end - 10, 90), ("phase", "inner", end - 40, 20), ("event", "checkpoint", end - 30, None)):
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds) values (?, 0, 'h', 1, ?, ?, ?)", (int(at * 1e9), kind, name, seconds))
    db.commit()
    db.close()
    svg = assay("plot", path, "--title", "Two < three").stdout
    assert {"Two < three", "outer <1> & more", "inner", "checkpoint"} <= set(texts(svg))
    boxes = group(svg, "phases").findall(SVG + "rect")
    assert len({b.get("y") for b in boxes}) == 2
    assert len(group(svg, "events").findall(SVG + "polyline")) == 1


def test_a_day_is_fast_and_small(program, tmp_path):
    """Half an hour at 10 Hz stands for it here; the bench measures the day."""
    rows = [line.split(",", 2)[2] for line in CSV.read_text().splitlines()[1:]]
    with open(tmp_path / "long.csv", "w") as out:
        out.write(CSV.read_text().splitlines()[0] + "\n")
        out.writelines(f"{1794726548 + t / 10:.1f},0,{rows[t % len(rows)]}\n" for t in range(18000))
    done = subprocess.run([program, "plot", tmp_path / "long.csv"], capture_output=True, text=True, check=True)
    assert len(done.stdout) < 600_000
    assert "time since the start, min" in texts(done.stdout)
    assert any("shade: lowest to highest within" in t for t in texts(done.stdout))


def test_size(assay):
    root = xml.fromstring(assay("plot", TOUR, "--width", "500", "--height", "900").stdout)
    assert (root.get("width"), root.get("height")) == ("500", "900")
    for option, value in (("--width", "20"), ("--height", "99999")):
        assert assay("plot", TOUR, option, value).returncode == 2


def test_any_recording_is_drawn(assay, tmp_path):
    for source in (FIXTURES / "nvidia-smi" / "smi-query.csv", CSV, DMON):
        done = assay("plot", source)
        assert done.returncode == 0 and "gpu_util" in panels(done.stdout), source
        # Without counters no class is known, so there is no strip of them.
        assert ("Class" in texts(done.stdout)) == (source == CSV)
    assert assay("convert", TOUR, tmp_path / "n.zip").returncode == 0
    done = assay("plot", tmp_path / "n.zip", "--metrics", "gpu_util_summary,gpu_mem_summary")
    assert done.returncode == 0, done.stderr
    assert curve(done.stdout, "gpu_util") and "tiny_kernels" in texts(done.stdout)


def test_the_level_around_the_gpus(assay, tmp_path):
    path = tmp_path / "x.assay"
    busy = "import time\nt = time.time()\nwhile time.time() - t < 1.5: pass"
    assert assay("run", "-q", "--interval", "0.2", "-o", path, "--", "/usr/bin/python3", "-c", busy).returncode == 0
    svg = assay("plot", path).stdout
    assert {"CPU share (process), %", "Memory (process), GiB"} & set(texts(svg)) or "Memory (process), MiB" in texts(svg)
    svg = assay("plot", path, "--level", "system", "--metrics", "cpu_summary,cpu,load_1,host:processes").stdout
    assert panels(svg) == ["cpu_summary", "cpu", "load_1", "processes"]
    most = next(t for t in texts(xml.tostring(group(svg, "cpu"))) if t.startswith("min "))
    assert float(most.split()[-1]) > 0.5
    svg = assay("plot", path, "--metrics", "cpu_all,mem,io").stdout
    assert panels(svg) == ["cpu_all", "memory", "io_read", "io_write", "io_read_count", "io_write_count"]
    assert sum(1 for _ in group(svg, "cpu_all").iter("{http://www.w3.org/2000/svg}polyline")) >= 2 or len(os.sched_getaffinity(0)) < 2
    done = assay("plot", path, "--level", "slurm")
    assert done.returncode == 2 and "was not recorded" in done.stderr


def test_numbers_of_the_run_itself(assay, tmp_path):
    path = tmp_path / "x.assay"
    assay("record", "-q", "--source", CSV, "-o", path)
    db = sqlite3.connect(path)
    start, = db.execute("select min(time) from ticks").fetchone()
    for i in range(10):
        db.execute("insert into mark(wall_ns, mono_ns, host, pid, type, name, value) values (?, 0, 'h', 1, 'metric', 'loss <mean>', ?)",
                   (int((start + 5 + 8 * i) * 1e9), 3 - i / 5))
    db.commit()
    db.close()
    svg = assay("plot", path).stdout
    assert panels(svg)[-1] == "loss <mean>" and len(curve(svg, "loss <mean>")) == 1
    alone = assay("plot", path, "--metrics", "loss <mean>").stdout
    assert panels(alone) == ["loss <mean>"] and any(t.startswith("min 1.20") for t in texts(alone))


# ---- errors ----

@pytest.mark.parametrize("words, code, said", [
    ([], 2, "assay plot run.assay -o run.png"),
    (["a", "b"], 3, "no such file: 'a'"),
    ([TOUR, "-o", "x.bmp"], 2, ".svg, .png or .pdf"),
    ([TOUR, "--metrics", "sm_activ"], 2, "did you mean 'sm_active'"),
    ([TOUR, "-o", "/nowhere/x.svg"], 1, "cannot write '/nowhere/x.svg'"),
    (["/nowhere/x.assay"], 3, "/nowhere/x.assay"),
    ([FIXTURES / "nvidia-smi" / "smi-query.csv", "--metrics", "sm", "-o", "-"], 1, "nothing to draw"),
])
def test_errors(assay, words, code, said):
    done = assay("plot", *words)
    assert done.returncode == code and said in done.stderr, done.stderr
    assert done.stdout == ""


def test_without_cairo_svg_still_works(program, assay, tmp_path):
    """In a file system where the library is an empty file."""
    (tmp_path / "libcairo.so.2").write_bytes(b"")
    env = {"LD_LIBRARY_PATH": str(tmp_path)}
    done = assay("plot", TOUR, "-o", tmp_path / "x.png", env=env)
    assert done.returncode == 1 and "libcairo2" in done.stderr and ".svg" in done.stderr
    assert not (tmp_path / "x.png").exists()
    assert assay("plot", TOUR, "-o", tmp_path / "x.svg", env=env).returncode == 0


def test_cairo_is_loaded_only_for_pictures(program):
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "cairo" not in needed
