"""The HTML report and the SVG plot in a real browser."""
import re
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
    return browser.run(f"const s = document.querySelector('svg[data-m={metric}]'); s.scrollIntoView({{block: 'center'}});"
                       "const b = s.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]")


def test_every_chart_has_a_curve(report):
    found = report.run("return [...document.querySelectorAll('svg[data-m]')].map(s => [s.dataset.m, s.querySelector('path').getTotalLength()])")
    names = [name for name, _ in found]
    assert {"real_util", "sm_active", "tensor_active", "dram_active", "gpu_util", "fb_used", "power"} <= set(names)
    for name, length in found:
        assert length > 500, f"the curve of {name} is empty"


def test_nothing_is_asked_of_the_network(report, page):
    assert report.requests() == [page.as_uri()]
    assert report.complaints() == []


def test_the_pointer_finds_the_numbers(report):
    left, top, width, height = box_of(report, "sm_active")
    report.point_at(left + width * 0.3, top + height / 2)
    text, display = report.run(TIP)
    assert display == "block" and re.fullmatch(r"\d+\.\d s  \w+\nGPU 0  9\d\.\d+ %", text), text
    assert report.run("return getComputedStyle(document.querySelector('svg[data-m=sm_active] .cross')).display") != "none"
    report.point_at(2, 2)
    assert report.run(TIP)[1] == "none"


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
    for words in ("storage is the limit", "train_starved_by_dataloader", "gpu-allocated-but-not-used", "nothing held it back"):
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
