"""The HTML report and the SVG plot in a real browser."""
import json
import re
import shutil
import subprocess

import pytest

from browser import DRIVER, Browser
from conftest import ROOT

pytestmark = pytest.mark.skipif(not DRIVER, reason="no chromedriver here; ./dev test installs it")

TOUR = ROOT / "docs" / "example" / "tour.assay"
TIP = "const t = document.getElementById('tip'); return [t.textContent, getComputedStyle(t).display]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def browser(folder):
    with Browser(folder / "profile") as b:
        b.open("about:blank")  # what the first page of the browser itself asks for is not ours
        yield b


@pytest.fixture(scope="module")
def page(program, folder):
    path = folder / "report.html"
    subprocess.run([program, "report", str(TOUR), "--format", "html", "-o", str(path)], check=True)
    return path


@pytest.fixture
def report(browser, page):
    browser.requests()
    browser.open(page.as_uri())
    return browser


def box_of(browser, metric):
    """Scrolls the chart into view; gives left, top, width, height in the window."""
    return browser.run(f"const s = document.querySelector('[data-m={metric}]'); s.scrollIntoView({{block: 'center'}});"
                       "const b = s.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]")


def day(path, gpus, every=60):
    """A day of some GPUs; GPU 3 is idle, and the last works in the second half only."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("timestamp,gpu_id,model,sm_active_pct,tensor_active_pct,dram_active_pct,gr_engine_active_pct,gpu_util_pct,mem_used_mib,mem_total_mib,power_w,sm_clock_mhz\n")
        for t in range(0, 86400, every):
            for gpu in range(gpus):
                busy = 0 if gpu == 3 or (gpu == gpus - 1 and t < 43200) else 90 + gpu % 5
                f.write(f"{1794726548 + t},{gpu},NVIDIA H200,{busy},{busy // 2},20,{busy},{busy},{1000 + gpu},143771,{100 + 5 * busy},1980\n")
    return path


def test_every_chart_has_a_curve(report):
    found = report.run("return [...document.querySelectorAll('.chart')].map(s => [s.dataset.m, s.querySelector('path').getTotalLength(), s.ariaLabel])")
    names = [name for name, _, _ in found]
    assert {"real_util", "sm_active", "tensor_active", "dram_active", "gpu_util", "fb_used", "power", "sm_clock", "strips", "cpu", "memory", "io"} <= set(names)
    for name, length, label in found:
        assert length > 300, f"the curve of {name} is empty"
        assert name == "strips" or re.search(r": mean [\d.e+]+ .*, highest ", label)


def test_findings_come_first(report):
    order = report.run("return [...document.querySelectorAll('h1, h2, .findings li, .tiles, .chart')].map(e => e.className || e.tagName)")
    assert order[0] == "H1" and order.index("tiles") < order.index("chart")
    said = report.run("return [...document.querySelectorAll('.findings li')].map(e => e.textContent)")
    assert len(said) == 3 and all("Try: " in text and text.startswith("GPU 0") for text in said)


def test_each_stretch_in_words(report, program):
    told = json.loads(subprocess.run([program, "report", TOUR, "--format", "json"], capture_output=True, check=True).stdout)["stretches"]
    rows = report.run("return [...document.querySelectorAll('[aria-label=Stretches] tbody tr')].map(r => [...r.cells].map(c => c.dataset.v ?? c.textContent))")
    assert [[float(r[0]), float(r[1]), r[2]] for r in rows] == [[s["begin_s"], pytest.approx(s["end_s"], abs=1e-3), ", ".join(s["gpus"])] for s in told]
    assert {"tensor cores, power", "start-up"} <= {r[3] for r in rows} and rows[2][4] == "bf16_matmul"


def test_only_its_own_script_may_run(report):
    policy = report.run("return document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    report.run("const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s)")
    assert report.run("return window.evil || 0") == 0
    report.complaints()


def test_nothing_is_asked_of_the_network(report, page):
    assert report.requests() == [page.as_uri()]
    assert report.complaints() == []


def test_the_pointer_finds_the_numbers(report):
    left, top, width, height = box_of(report, "sm_active")
    report.point_at(left + width * 0.3, top + height / 2)
    text, display = report.run(TIP)
    assert display == "block" and re.match(r"\d+\.\d s  \d\d:\d\d:\d\d UTC  \w+\nGPU 0  9\d\.\d+ %", text), text
    crosses = report.run("return [...document.querySelectorAll('.cross')].map(c => c.getAttribute('visibility'))")
    assert set(crosses) == {"visible"}, "all charts show the same moment"
    left, top, width, height = box_of(report, "strips")
    report.point_at(left + width * 0.3, top + height / 2)
    assert re.search(r"GPU 0\nclass  compute\nlimiter  the FP32 units", report.run(TIP)[0])
    report.point_at(2, 2)
    assert report.run(TIP)[1] == "none"


def test_charts_zoom_and_move_together(report):
    box_of(report, "sm_active")
    axis = "return [...document.querySelectorAll('.chart')].map(c => [...c.querySelectorAll('text')].map(t => t.textContent).filter(t => t.endsWith(' s')).join())"
    whole = report.run(axis)
    report.run("document.querySelector('button[aria-label=\"zoom in\"]').click()")
    near = report.run(axis)
    report.run("document.querySelector('button[aria-label=later]').click()")
    later = report.run(axis)
    assert len(set(whole)) == len(set(near)) == len(set(later)) == 1 and len({whole[0], near[0], later[0]}) == 3
    report.run("document.querySelector('button[aria-label=\"whole run\"]').click()")
    assert report.run(axis) == whole


def test_tables_can_be_sorted(report):
    column = "const t = [...document.querySelectorAll('table')].find(t => t.parentNode.ariaLabel === 'Phases'); const h = [...t.tHead.rows[0].cells].findIndex(c => c.textContent === 'power');"
    read = column + "return [...t.tBodies[0].rows].map(r => +r.cells[h].dataset.v)"
    click = column + "t.tHead.rows[0].cells[h].querySelector('button').click(); return t.tHead.rows[0].cells[h].ariaSort"
    before = report.run(read)
    assert report.run(click) == "descending" and report.run(read) == sorted(before, reverse=True) != before
    assert report.run(click) == "ascending" and report.run(read) == sorted(before)


@pytest.mark.parametrize("gpus", [8, 72])
def test_a_day_of_many_gpus(browser, program, folder, gpus):
    """None is dropped, and the page stays small enough to open at once."""
    path = folder / f"day-{gpus}.html"
    subprocess.run([program, "report", str(day(folder / "day.csv", gpus)), "--format", "html", "-o", str(path)], check=True)
    assert path.stat().st_size < 3 << 20
    browser.open(path.as_uri())
    timing = browser.run("const n = performance.getEntriesByType('navigation')[0]; return n.domComplete - n.startTime")
    assert timing < 20000, "two seconds on an idle machine"
    assert browser.run("return document.querySelectorAll('#chips button').length") == gpus
    rows = browser.run("return [...document.querySelectorAll('table')].find(t => t.parentNode.ariaLabel === 'GPUs').tBodies[0].rows.length")
    assert rows == gpus
    left, top, width, height = box_of(browser, "sm_active")
    browser.point_at(left + width * 0.3, top + height / 2)
    text = browser.run(TIP)[0]
    if gpus > 8:
        assert "lowest  GPU 3  0" in text and re.search(r"mean  \d+\.\d %  \(0\S* to 94", text), text
        browser.run("document.querySelectorAll('#chips button')[5].click()")
        browser.point_at(left + width * 0.3, top + height / 2 + 1)
        assert "GPU 5  90.0 %" in browser.run(TIP)[0]
    else:
        assert all(f"GPU {i}  " in text for i in range(8)) and "GPU 4  94.0 %" in text
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []


def axe(folder):
    """axe-core's script; None where npm cannot have it."""
    npm = shutil.which("npm")
    found = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if npm and not found.exists():
        found = folder / "npm" / "node_modules" / "axe-core" / "axe.min.js"
        try:
            subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder / "npm"), "axe-core"], capture_output=True, timeout=90, check=False)
        except subprocess.TimeoutExpired:
            return None
    return found.read_text() if found.exists() else None


def test_nothing_stands_in_a_readers_way(browser, page, folder):
    script = axe(folder)
    if not script:
        pytest.skip("axe-core is not to be had here")
    browser.open(page.as_uri())
    browser.run(script + ";window.axe = axe")
    found = browser.call("POST", "/execute/async", {"script": "const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => [v.id, v.impact, v.nodes[0].html])))", "args": []})
    assert [v for v in found if v[1] in ("serious", "critical")] == []


def test_a_phone_shows_it(program, page, folder):
    with Browser(folder / "phone", 400, 800) as phone:
        phone.open(page.as_uri())
        assert phone.run("return document.documentElement.scrollWidth <= innerWidth")
        assert phone.run("return Math.min(...[...document.querySelectorAll('.chart text')].map(t => parseFloat(getComputedStyle(t).fontSize)))") >= 11


def test_nothing_is_wider_than_the_window(report):
    assert report.run("return document.documentElement.scrollWidth <= innerWidth")


def test_it_prints(report, folder):
    """All of the text, and no tip left over from pointing."""
    left, top, width, height = box_of(report, "sm_active")
    report.point_at(left + width * 0.3, top + height / 2)
    tip = report.run(TIP)[0].split("\n")[0]
    (folder / "print.pdf").write_bytes(report.print())
    text = subprocess.run(["pdftotext", "-layout", str(folder / "print.pdf"), "-"], capture_output=True, text=True, check=True).stdout
    assert tip.split("  ")[0] not in text
    for words in ("Findings", "Try:", "train_starved_by_dataloader", "tensor cores", "p95", "SM active, %"):
        assert words in text
    for line in text.splitlines():
        assert not line.strip().endswith("engine active"), "a line is cut at the edge of the paper"


def test_it_looks_like_something(report):
    box_of(report, "sm_active")
    assert report.screenshot().startswith(b"\x89PNG")


def test_the_plot_is_drawn(browser, program, folder):
    path = folder / "tour.svg"
    subprocess.run([program, "plot", str(TOUR), "-o", str(path)], check=True)
    browser.requests()
    browser.open(path.as_uri())
    lines = browser.run("return [...document.querySelectorAll('g.sm_active polyline')].map(p => p.getTotalLength())")
    assert max(lines) > 500
    # No text leaves the sheet, and no two of the same row touch, in the font of this browser.
    boxes = browser.run("return [...document.querySelectorAll('text')].map(t => { const b = t.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height, t.textContent] })")
    width, height = browser.run("const v = document.documentElement.viewBox.baseVal; return [v.width, v.height]")
    for a in boxes:
        assert a[0] >= 0 and a[1] >= 0 and a[2] <= width and a[3] <= height, a
        for b in boxes:
            # A line's box is higher than its letters: rows may share a little.
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] + 4 or b[3] <= a[1] + 4
            assert a is b or apart, (a, b)
    assert browser.requests() == [path.as_uri()]


def test_charts_alone_zoom_too(browser, program, folder):
    """What a notebook shows below a cell."""
    path = folder / "charts.html"
    subprocess.run([program, "report", str(TOUR), "--format", "html", "--charts", "power,cpu", "-o", str(path)], check=True)
    browser.requests()
    browser.open(path.as_uri())
    found = dict(browser.run("return [...document.querySelectorAll('.chart')].map(s => [s.dataset.m, s.querySelector('path').getTotalLength()])"))
    assert set(found) == {"strips", "power", "cpu"} and min(found.values()) > 300
    axis = "return [...document.querySelectorAll('.chart text')].map(t => t.textContent).join()"
    whole = browser.run(axis)
    browser.run("document.querySelector('button[aria-label=\"zoom in\"]').click()")
    assert browser.run(axis) != whole
    assert browser.requests() == [path.as_uri()] and browser.complaints() == []
