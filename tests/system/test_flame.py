"""The picture of a program's stacks on a report's page, in a real browser: known stacks in, positions and numbers out."""
import json
import shutil
import sqlite3
import subprocess

import pytest

from browser import DRIVER, Browser
from conftest import ROOT
from stack_rows import Kinds

pytestmark = pytest.mark.skipif(not DRIVER, reason="no chromedriver here; ./dev test installs it")

TOUR = ROOT / "docs" / "example" / "tour.assay"
SECONDS = 90
RUNNING, WAITING = 1, 2
EVIL = "</script><img src=x onerror=window.evil=1><!--"

TABLES = """
DROP TABLE IF EXISTS stack_text; DROP TABLE IF EXISTS stack_frame; DROP TABLE IF EXISTS stack_node; DROP TABLE IF EXISTS stack_process;
DROP TABLE IF EXISTS stack_thread; DROP TABLE IF EXISTS stack_kind; DROP TABLE IF EXISTS stack_window;
CREATE TABLE stack_text(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE stack_frame(id INTEGER PRIMARY KEY, file INTEGER, function INTEGER, first_line INTEGER, line INTEGER, whose INTEGER);
CREATE TABLE stack_node(id INTEGER PRIMARY KEY, parent INTEGER, frame INTEGER, own INTEGER, inner INTEGER);
CREATE TABLE stack_process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, start_ticks INTEGER, runtime TEXT, access TEXT, why TEXT, command TEXT, samples INTEGER, torn INTEGER);
CREATE TABLE stack_thread(id INTEGER PRIMARY KEY, pid INTEGER, start_ticks INTEGER, tid INTEGER, name INTEGER, main INTEGER);
CREATE TABLE stack_kind(id INTEGER PRIMARY KEY, thread INTEGER, stack INTEGER, call INTEGER, flags INTEGER);
CREATE TABLE stack_window(id INTEGER PRIMARY KEY, data BLOB);
"""


class Stacks:
    """Stacks in a copy of a session, as docs/SESSION.md has them."""

    def __init__(self, path):
        shutil.copy(TOUR, path)
        self.path = path
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)
        self.texts, self.nodes, self.windows, self.kinds = {}, 0, {}, Kinds(self.db)

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = len(self.texts) + 1
            self.db.execute("insert into stack_text values(?, ?)", (self.texts[text], text))
        return self.texts[text]

    def call(self, parent, file, function, line, whose=0):
        self.nodes += 1
        self.db.execute("insert into stack_frame values(?, ?, ?, 1, ?, ?)", (self.nodes, self.text(file), self.text(function), line, whose))
        self.db.execute("insert into stack_node values(?, ?, ?, ?, ?)", (self.nodes, parent, self.nodes, self.nodes, self.nodes))
        return self.nodes

    def process(self, pid, command, *threads, why=None):
        self.db.execute("insert into stack_process values(null, ?, 1, 7, 'CPython 3.11.2', 'readable', ?, ?, 900, 9)", (pid, why, command))
        for thread, name, main in threads:
            self.db.execute("insert into stack_thread values(?, ?, 7, ?, ?, ?)", (thread, pid, pid + thread, self.text(name), main))

    def sample(self, second, thread, stack, state, ms, call="", looks=1):
        row = self.kinds.row(thread, stack, self.text(call) if call else 0, state, looks, ms)
        self.windows[second] = self.windows.get(second, b"") + row

    def close(self):
        self.db.executemany("insert into stack_window values(?, ?)", self.windows.items())
        self.db.commit()
        self.db.close()


def known(path):
    """A trainer that parses 0.6 s of each second and waits for the rest, and a worker that is always busy; in the last half nobody parses."""
    s = Stacks(path)
    main = s.call(0, "/home/u/train.py", "main", 88)
    collate = s.call(main, f"/home/u/{EVIL}.py", "collate", 212)
    decode = s.call(collate, "/usr/lib/python3.11/json/decoder.py", "raw_decode", 353, 2)
    work = s.call(0, "/home/u/worker.py", "work", 5)
    s.process(100, f"python train.py {EVIL}", (0, "python", 1))
    s.process(200, "python worker.py", (1, "python", 1))
    for second in range(SECONDS):
        if second < SECONDS // 2:
            s.sample(second, 0, decode, RUNNING, 600, looks=12)
        s.sample(second, 0, main, WAITING, 400, "futex", looks=8)
        s.sample(second, 1, work, RUNNING, 1000, looks=20)
    s.close()
    return path


def page_of(program, session, path):
    subprocess.run([program, "report", session, "--format", "html", "-o", path], check=True)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("flame")


@pytest.fixture(scope="module")
def browser(folder):
    with Browser(folder / "profile") as b:
        yield b


@pytest.fixture(scope="module")
def session(folder):
    return known(folder / "known.assay")


@pytest.fixture(scope="module")
def page(program, folder, session):
    return page_of(program, session, folder / "known.html")


@pytest.fixture
def report(browser, page):
    browser.open(page.as_uri())
    browser.complaints()
    return browser


# Each line that is drawn: its text, where it is and how wide, of the picture's width.
LINES = """const svg = document.querySelector('.stacks svg'), wide = +svg.getAttribute('width');
return [...svg.querySelectorAll('g')].map(g => { const r = g.querySelector('rect');
  return {label: g.getAttribute('aria-label'), kind: g.getAttribute('class'), level: +g.getAttribute('aria-level'), tab: g.getAttribute('tabindex'),
          x: +r.getAttribute('x') / wide, y: +r.getAttribute('y'), width: +r.getAttribute('width') / wide}; });"""
SAYS = "return document.querySelector('#flame p').textContent"
CLICK = "[...document.querySelectorAll('.stacks g')].find(g => g.getAttribute('aria-label').includes('%s')).dispatchEvent(new MouseEvent('click', {bubbles: true}))"
KEY = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true, cancelable: true}))"


def lines(browser):
    return browser.run(LINES)


def line(browser, part):
    found = [one for one in lines(browser) if part in one["label"]]
    assert len(found) == 1, (part, [one["label"] for one in found])
    return found[0]


def key(browser, *names):
    for name in names:
        browser.run(KEY % name)


def focused(browser):
    return browser.run("return document.activeElement.getAttribute('aria-label') || document.activeElement.tagName")


HALF = SECONDS // 2
TRAINER, WORKER = HALF * 0.6 + SECONDS * 0.4, SECONDS
ALL = TRAINER + WORKER


def close_to(v):
    return pytest.approx(v, abs=0.002)


def test_widths_are_times(report):
    one = line(report, "process 100")
    assert one["x"] == close_to(WORKER / ALL) and one["width"] == close_to(TRAINER / ALL)
    assert line(report, "train.py:88 main")["width"] == close_to(TRAINER / ALL)
    parse, wait = line(report, "json/decoder.py:353 raw_decode"), line(report, "in futex")
    assert parse["width"] == close_to(HALF * 0.6 / ALL) and wait["width"] == close_to(SECONDS * 0.4 / ALL)
    assert wait["x"] == close_to(WORKER / ALL) and parse["x"] == close_to((WORKER + SECONDS * 0.4) / ALL)
    assert parse["kind"] == "line interpreter" and parse["level"] == 6 and wait["kind"] == "line call"
    assert f"{HALF * 0.6:.1f} s, 18 % of all, 100 % of its caller, ran for {HALF * 0.6:.1f} s of that, {HALF * 12} samples" in parse["label"]
    assert report.run(SAYS) == "All: 153.0 s of threads, 3060 samples"


def test_running_time_alone(report):
    report.run("[...document.querySelectorAll('#flame button')].find(b => b.textContent === 'while running').click()")
    assert report.run(SAYS) == "All: 117.0 s of threads while they ran"
    assert line(report, "process 100")["width"] == close_to(27 / 117)
    assert not any("in futex" in one["label"] for one in lines(report))


def test_a_click_zooms_and_escape_shows_all(report):
    before = lines(report)
    report.run(CLICK % "collate")
    assert line(report, "collate")["width"] == close_to(1) and line(report, "raw_decode")["width"] == close_to(1)
    assert "above" in line(report, "process 100")["kind"] and line(report, "train.py:88")["width"] == close_to(1)
    assert not any("worker.py" in one["label"] for one in lines(report))
    report.run("document.querySelector('.stacks g[tabindex=\"0\"]').focus()")
    key(report, "Escape")
    assert [one["x"] for one in lines(report)] == [one["x"] for one in before]


def test_the_keyboard_alone(report):
    report.run("document.querySelector('.stacks g[tabindex=\"0\"]').focus()")
    assert focused(report).startswith("all threads")
    key(report, "ArrowDown")
    assert focused(report).startswith("process 200")
    key(report, "ArrowRight")
    assert focused(report).startswith("process 100")
    key(report, "ArrowDown", "ArrowDown", "Enter")
    assert focused(report).startswith("train.py:88 main") and line(report, "train.py:88")["width"] == close_to(1)
    assert [one["tab"] for one in lines(report)].count("0") == 1
    key(report, "ArrowUp")
    assert focused(report).startswith("main thread")
    key(report, "Escape", "/")
    assert focused(report) == "search lines, files and processes"


def test_search(report):
    seek = "const i = document.querySelector('#flame input'); i.value = '%s'; i.dispatchEvent(new Event('input'));"
    report.run(seek % "JSON")
    assert report.run(SAYS) == "1 line, 27.0 s, 18 % of what is shown"
    assert ["hit" in one["kind"] for one in lines(report)].count(True) == 1 and "hit" in line(report, "raw_decode")["kind"]
    report.run(seek % ".py")  # a line within another is counted once
    assert "153.0 s, 100 % of what is shown" in report.run(SAYS)
    report.run(seek % "no such line")
    assert report.run(SAYS) == "nothing found"
    report.run("document.querySelector('#flame input').focus()")
    key(report, "Escape")
    assert report.run(SAYS).startswith("All: ") and report.run("return document.querySelector('#flame input').value") == ""


def test_each_stretch(report, program, session):
    told = json.loads(subprocess.run([program, "report", session, "--format", "json"], capture_output=True, check=True).stdout)["stretches"]
    titles = report.run("return [...document.querySelectorAll('#flame option')].map(o => o.textContent)")
    first = sqlite3.connect(session).execute("select min(elapsed) from ticks").fetchone()[0]
    inside = [[s for s in range(SECONDS) if stretch["begin_s"] <= s + 0.5 - first < stretch["end_s"]] for stretch in told]
    inside = [those for those in inside if those]
    assert titles[:2] == ["the whole run", "the whole run, threads together"] and len(titles) == len(inside) + 2
    for i, those in enumerate(inside, 2):
        seconds = sum(1.4 + 0.6 * (s < HALF) for s in those)
        report.run(f"const s = document.querySelector('#flame select'); s.selectedIndex = {i}; s.dispatchEvent(new Event('change'))")
        assert report.run(SAYS).startswith(f"All: {seconds:.{2 if seconds < 10 else 1}f} s of threads"), titles[i]


def test_threads_together(report):
    """Lines alone, whoever was in them."""
    report.run("const s = document.querySelector('#flame select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))")
    assert report.run(SAYS) == "All: 153.0 s of threads, 3060 samples"
    assert line(report, "worker.py:5 work")["level"] == 2 and line(report, "train.py:88 main")["width"] == close_to(TRAINER / ALL)
    assert not any("process" in one["label"] for one in lines(report))


def test_processes_and_their_lines(report):
    rows = report.run("const t = [...document.querySelectorAll('table')].find(t => t.closest('[aria-label^=Processes]'));"
                      "return [...t.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
    assert [row[0] for row in rows] == ["200", "100"]
    assert rows[0][3:] == ["90.0 s", "100 % of its CPU time in worker.py:5 work", "CPython 3.11.2, 900 samples, 1 % torn"]
    assert rows[1][1] == f"python train.py {EVIL}" and rows[1][3] == "27.0 s"
    assert "(in json/decoder.py:353 raw_decode)" in rows[1][4]


def test_hostile_names_are_text(report):
    assert report.run("return window.evil || 0") == 0 and report.run("return document.querySelectorAll('img').length") == 0
    assert EVIL in line(report, "process 100")["label"]
    assert not report.complaints()


def test_the_page_is_bounded(program, browser, folder):
    """Ten thousand lines of a millisecond are one that says so."""
    s = Stacks(folder / "many.assay")
    main = s.call(0, "/home/u/train.py", "main", 88)
    s.process(100, "python train.py", (0, "python", 1))
    for i in range(10000):
        s.sample(i % SECONDS, 0, s.call(main, f"/home/u/lines/of/a/module/{'x' * 200}{i % 50}.py", f"function_{i}", i), RUNNING, 1)
    s.close()
    page = page_of(program, s.path, folder / "many.html")
    assert page.stat().st_size < 1_500_000
    browser.open(page.as_uri())
    assert "10000 lines too short to be seen are folded away" in browser.run(SAYS)
    assert line(browser, "folded")["width"] == close_to(1)


def test_deep_recursion(program, browser, folder):
    s = Stacks(folder / "deep.assay")
    node = 0
    for _ in range(256):
        node = s.call(node, "/home/u/deep.py", "f", 1)
    s.process(100, "python deep.py", (0, "python", 1))
    s.sample(1, 0, node, RUNNING, 1000, looks=20)
    s.close()
    browser.open(page_of(program, s.path, folder / "deep.html").as_uri())
    assert max(one["level"] for one in lines(browser)) == 259
    assert browser.run("const b = document.querySelector('.stacks'); return b.clientHeight < b.scrollHeight && b.clientHeight < 700")


def test_a_session_without_stacks_has_no_picture(program, browser, folder):
    page = page_of(program, TOUR, folder / "tour.html")
    browser.open(page.as_uri())
    assert browser.run("return document.querySelectorAll('#flame, #stacks').length") == 0
