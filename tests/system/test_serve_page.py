"""The page of `assay serve` in a real browser: live, safe, readable by everybody."""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.parse

import pytest

from browser import DRIVER, Browser
from conftest import ROOT
from serving import Server

TOUR = ROOT / "data" / "h200-tour.csv"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DRIVER or not shutil.which("chromium"), reason="no chromium")]


def until(browser, script, seconds=20):
    end = time.monotonic() + seconds
    while not (got := browser.run(script)):
        assert time.monotonic() < end, (script, browser.run("return document.body.innerText")[:800], browser.complaints())
        time.sleep(0.1)
    return got


@pytest.fixture(scope="module")
def live(program, tmp_path_factory):
    """A job holds the GPU; there are recordings."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "map").mkdir()
    (folder / "map" / "0").write_text("4711\n")
    (folder / "runs").mkdir()
    (folder / "runs" / "one.assay").write_bytes((ROOT / "tests/truth/server_bursts.assay").read_bytes())
    with Server(program, folder, TOUR, "--speed", "1", "--hpc-job-mapping-dir", folder / "map", "--state", folder / "state", "--sessions", folder / "runs") as s:
        yield s.ready()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as b:
        yield b


@pytest.fixture(autouse=True)
def blank(request):
    """Nothing of the test before."""
    if "browser" in request.fixturenames:
        b = request.getfixturevalue("browser")
        b.open("about:blank")
        b.requests()
        b.complaints()


def test_live_values_and_nothing_from_elsewhere(live, browser):
    browser.open(f"http://127.0.0.1:{live.port}/")
    until(browser, "return document.querySelectorAll('a[data-gpu]').length === 1")
    first = browser.run("return app.now.gpus[0].tick")
    until(browser, f"return app.now.gpus[0].tick > {first}", 5)
    assert "H200" in browser.run("return document.body.innerText")
    urls = [u for u in browser.requests() if not u.startswith(("data:", "chrome"))]
    assert urls and all(u.startswith(f"http://127.0.0.1:{live.port}/") for u in urls), urls
    assert not [c for c in browser.complaints() if "Content Security Policy" in c or "Uncaught" in c]


def test_every_view(live, browser):
    browser.open(f"http://127.0.0.1:{live.port}/#gpu/0")
    until(browser, "return app.charts.length > 3 && app.charts[0].chart.series.length > 2")
    assert "tensor" in browser.run("return document.body.innerText")
    # zoom by dragging, and back
    box = browser.run("const r = app.charts[0].chart.box.getBoundingClientRect(); return [r.left, r.top, r.width]")
    browser.run("""const c = app.charts[0].chart, left = c.box.getBoundingClientRect().left; c.from = c.time({clientX: left + 100}); c.drop({clientX: left + 300}); return 1""")
    assert browser.run("return app.zoom && app.zoom[1] > app.zoom[0] && app.charts[1].chart.view === app.zoom"), box
    browser.run("app.charts[0].chart.box.dispatchEvent(new KeyboardEvent('keydown', {key: '0'})); return 1")
    assert browser.run("return app.zoom === null")
    assert until(browser, "return app.history['0 3600'] && app.history['0 3600'].limiters.length") > 0
    for key, word in (("2", "job 4711"), ("3", "nothing of its host"), ("4", "Log"), ("5", "one.assay"), ("1", "GPU 0")):
        browser.run(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})); return 1")
        until(browser, f"return document.getElementById('main').innerText.includes('{word}')")
    # the record of the job, from its list
    until(browser, "location.hash = 'jobs'; return document.querySelector('a[href=\"#job/1\"]')", 30)
    # words, not names of ours; and no number of processes where none is known
    text = browser.run("return document.getElementById('main').innerText")
    assert "idle.allocated" not in text and "compute." not in text and "memory." not in text, text
    assert browser.run("return holdersNow().every((o) => o.processes === null)")
    browser.run("document.querySelector('a[href=\"#job/1\"]').click(); return 1")
    until(browser, "return document.getElementById('main').innerText.includes('GPU time wasted')")
    assert "idle.allocated" not in browser.run("return document.getElementById('main').innerText")
    # graphs of one row of cards stand on one line
    browser.run("location.hash = 'fleet'; return 1")
    tops = until(browser, "return [...document.querySelectorAll('a.card.gpu')].map((c) => [c.getBoundingClientRect().top, c.querySelector('.strip').getBoundingClientRect().top])")
    assert len({bottom for top, bottom in tops if top == tops[0][0]}) == 1, tops
    # the report of a recording
    browser.run("location.hash = 'recordings'; return 1")
    until(browser, "const b = document.querySelector('[aria-label^=\"Report of\"]'); if (b) b.click(); return !!b")
    until(browser, "return document.querySelector('pre').textContent.includes('key numbers')")
    assert not [c for c in browser.complaints() if "Uncaught" in c or "SEVERE" in c and "favicon" not in c]


NEWS = "const now = structuredClone(app.now); now.time += 1; now.gpus[0].metrics.power += 1; take(now); return 1"


def test_news_disturb_nobody(live, browser):
    """A press ends on what it began on, focus stays, and what is selected can be copied, though everything is drawn anew."""
    browser.open(f"http://127.0.0.1:{live.port}/")
    x, y = until(browser, "const r = document.querySelector('a[data-gpu]')?.getBoundingClientRect(); return r && [r.left + 60, r.top + 60]")
    browser.point_at(x, y)
    browser.act("pointerDown")
    browser.run(NEWS)
    browser.act("pointerUp")
    until(browser, "return location.hash === '#gpu/0' && document.querySelector('dd')", 5)
    browser.run("getSelection().selectAllChildren(document.querySelector('h2')); return 1")
    chosen = browser.run("return getSelection().toString()")
    browser.run(NEWS)
    assert chosen.startswith("GPU 0") and browser.run("return getSelection().toString()") == chosen
    for view, element in (("fleet", "a.tile"), ("fleet", "a[data-gpu]"), ("jobs", "td a")):
        browser.run(f"location.hash = '{view}'; return 1")
        until(browser, f"const e = document.querySelector('{element}'); if (e) e.focus(); return e && document.activeElement === e")
        browser.run(NEWS)
        assert browser.run(f"return document.activeElement === document.querySelector('{element}')"), element


def test_time_goes_on_for_a_lost_gpu(live, browser):
    """Its curve moves away, and nothing is put behind it; who holds it is not told as nobody."""
    browser.open(f"http://127.0.0.1:{live.port}/")
    until(browser, "return app.history['0 3600'] && app.history['0 3600'].series.power.mean[3599] !== null")
    last = browser.run("""app.source.close(); const now = structuredClone(app.now); now.gpus[0].up = false; now.time += 100; now.owners = []; app.before = app.history['0 3600'].series.power.mean[3599]; take(now);
        return [app.before, app.history['0 3600'].series.power.mean.slice(3498, 3501), app.history['0 3600'].series.power.mean[3599], app.history['0 3600'].limiters.at(-1)[0]]""")
    # What was fetched may end a second before or after what was told last.
    assert last[0] in last[1] and last[2] is None and last[3] is None
    text = browser.run("return document.querySelector('a[data-gpu]').innerText")
    assert "does not answer" in text and "not in use" not in text


def test_too_many_pages(live, browser):
    """It says so, and comes to life when others are closed."""
    live.wait(lambda: "assay_streams 0\n" in live.metrics())  # those of the test before
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            c = stack.enter_context(socket.create_connection(("127.0.0.1", live.port), timeout=20))
            c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in c.recv(64)
        browser.open(f"http://127.0.0.1:{live.port}/")
        until(browser, "return document.getElementById('state').innerText.includes('too many pages')")
    until(browser, "return app.now !== null", 40)


def test_nothing_to_show(program, tmp_path, browser):
    with Server(program, tmp_path, "--backend", "nvml", "--nvml-lib", tmp_path / "none.so") as s:
        browser.open(f"http://127.0.0.1:{s.port}/")
        until(browser, "return document.getElementById('main').innerText.includes('No GPU yet') && document.getElementById('main').innerText.includes('none.so')")
        for label in ("99", "%zz", "<b>"):
            browser.open(f"http://127.0.0.1:{s.port}/#gpu/{label}")
            until(browser, "return document.getElementById('main').innerText.includes('There is no GPU')")
        assert not [c for c in browser.complaints() if "Uncaught" in c]


def test_a_restart_of_the_server(program, tmp_path, browser):
    with Server(program, tmp_path, TOUR, "--speed", "2") as one:
        one.ready()
        browser.open(f"http://127.0.0.1:{one.port}/")
        until(browser, "return app.now !== null")
        port = one.port
    until(browser, "return document.getElementById('state').className === 'bad'")
    with Server(program, tmp_path, TOUR, "--speed", "2", listen=f"127.0.0.1:{port}") as two:
        two.ready()
        until(browser, "return document.getElementById('state').className === ''", 40)
        # A laptop that slept: its stream looks open and tells nothing.
        browser.run("app.source.onmessage = null; app.dead = app.source; app.at = app.opened = performance.now() - 60000; return 1")
        until(browser, "return app.source !== app.dead && performance.now() - app.at < 3000")


def test_a_week_in_a_tab(live, browser):
    """Nothing grows: arrays keep their length, whatever time passes."""
    browser.open(f"http://127.0.0.1:{live.port}/#gpu/0")
    until(browser, "return app.history['0 3600']")
    sizes = """return JSON.stringify([app.history['0 3600'].series.power.mean.length, document.querySelectorAll('*').length, Object.keys(app.history).length,
        app.history['0 3600'].limiters.reduce((n, r) => n + r[1], 0), app.hosts.length > 1200])"""
    before = json.loads(browser.run(sizes))
    browser.run("""app.source.close(); const now = structuredClone(app.now);
        for (let i = 0; i < 20000; i++) { now.time += 1; now.gpus[0].time = now.time; now.gpus[0].limiter = `x${i % 7}`; append(now.gpus[0], now.time); keepHost(now); } take(now); return 1""")
    after = json.loads(browser.run(sizes))
    assert after[0] == before[0] and after[1] <= before[1] * 1.3 and after[2] == before[2]
    assert after[3] == before[3] and not after[4]


def test_hostile_names_do_nothing(program, tmp_path, browser):
    evil = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    text = evil.replace('"', '\\"')
    (tmp_path / "evil.prom").write_text(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="0",UUID="GPU-1",modelName="{text}",hpc_job="{text}",pod="{text}",namespace="{text}"}} 50\n')
    with Server(program, tmp_path, tmp_path / "evil.prom") as s:
        s.ready()
        for view in ("#fleet", "#gpu/0", "#jobs", "#job/1", "#host", "#findings"):
            browser.open(f"http://127.0.0.1:{s.port}/{view}")
            until(browser, "return app.now !== null")
            time.sleep(0.3)
            assert browser.run("return document.title").endswith("assay")
            assert browser.run("return document.querySelectorAll('#main img, #main script').length") == 0
        browser.open(f"http://127.0.0.1:{s.port}/")
        until(browser, "return document.body.innerText.includes('<img src=x')")


def test_hostile_names_in_every_view(program, tmp_path, browser):
    """Of GPUs, pods, jobs, nodes and recordings: they are text wherever they stand, and nothing that they say is run, loaded or followed."""
    evil = "<img src=x onerror=document.title='owned'>\u202e\"'`${1}</script><script>document.title='owned'</script><a href=javascript:document.title='owned'>"
    text = evil.replace("\\", "").replace('"', '\\"')
    uuids = [f"GPU-{i}{text}" for i in range(2)]
    (tmp_path / "evil.prom").write_text("".join(
        f'{name}{{gpu="{i}",UUID="{uuid}",modelName="{text}",Hostname="{text}",hpc_job="{text}",pod="{text}",namespace="{text}",container="{text}"}} {value}\n'
        for name, value in (("DCGM_FI_DEV_GPU_TEMP", 99), ("DCGM_FI_DEV_POWER_USAGE", 50), ("DCGM_FI_DEV_XID_ERRORS", 79)) for i, uuid in enumerate(uuids)))
    (tmp_path / "sessions").mkdir()
    subprocess.run([program, "record", "-q", "--source", str(tmp_path / "evil.prom"), "-o", str(tmp_path / "sessions" / "a.assay"), "--duration", "1"], check=True,
                   env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]}, timeout=60)
    (tmp_path / "sessions" / "a.assay").rename(tmp_path / "sessions" / (evil.replace("/", "_")[:200] + ".assay"))
    (tmp_path / "map").mkdir()
    (tmp_path / "map" / "0").write_text(evil + "\n")
    with Server(program, tmp_path, tmp_path / "evil.prom", "--state", tmp_path / "state", "--sessions", tmp_path / "sessions", "--hpc-job-mapping-dir", tmp_path / "map") as s:
        s.ready()
        s.wait(lambda: s.json("/api/v1/jobs")["jobs"])
        for view in ("fleet", "gpu/0", "gpu/1", "jobs", "job/1", "job/2", "host", "findings", "recordings", "gpu/" + evil, "job/" + evil, evil):
            browser.open(f"http://127.0.0.1:{s.port}/#{urllib.parse.quote(view, safe='/')}")
            until(browser, "return app.now !== null && document.getElementById('main').children.length > 0")
            time.sleep(0.4)
            if view == "recordings":
                until(browser, "const b = document.querySelector('[aria-label^=\"Report of\"]'); if (b) b.click(); return !!b")
                until(browser, "return document.querySelector('pre').textContent.includes('key numbers')")
            for element in browser.run("return [...document.querySelectorAll('#main [title], #main button, #main select')].length") and range(3) or ():
                browser.run(f"document.querySelectorAll('#main button')[{element}]?.click(); return 1")
            assert browser.run("return document.title").endswith("assay"), view
            assert browser.run("return document.querySelectorAll('#main img, #main script, #main iframe, #main object').length") == 0, view
            assert browser.run("return [...document.querySelectorAll('a')].filter((a) => a.protocol === 'javascript:').length") == 0, view
        assert all(u.startswith((f"http://127.0.0.1:{s.port}/", "data:", "chrome")) for u in browser.requests())
        assert not [c for c in browser.complaints() if "Uncaught" in c or "Content Security Policy" in c]


def test_a_token_is_asked_for(program, tmp_path, browser):
    (tmp_path / "t").write_text("0123456789abcdef0123")
    with Server(program, tmp_path, TOUR, "--speed", "1", "--auth-token-file", tmp_path / "t") as s:
        browser.open(f"http://127.0.0.1:{s.port}/")
        until(browser, "return document.getElementById('token')")
        browser.run("document.getElementById('token').value = '0123456789abcdef0123'; document.querySelector('form').requestSubmit(); return 1")
        until(browser, "return app.now !== null && document.querySelectorAll('a[data-gpu]').length === 1")
        assert browser.run("return document.cookie") == "" and "0123456789abcdef" not in browser.run("return location.href")


def test_a_phone_and_both_themes(live, tmp_path):
    with Browser(tmp_path / "phone", width=500, height=800) as b:
        for view in ("fleet", "jobs", "host", "findings", "recordings", "gpu/0"):
            b.open(f"http://127.0.0.1:{live.port}/#{view}")
            until(b, "return app.now && document.getElementById('main').children.length")
            assert b.run("return document.documentElement.scrollWidth <= window.innerWidth + 1"), view
        until(b, "return app.charts.length && app.charts[0].chart.series.length")
        assert b.run("return document.documentElement.scrollWidth <= window.innerWidth + 1")
        one = b.run("return getComputedStyle(document.body).backgroundColor")
        b.run("document.getElementById('theme').click(); return 1")
        assert b.run("return getComputedStyle(document.body).backgroundColor") != one


def axe_source():
    """axe-core when it can be had: a path in AXE_CORE, an installed one, or npm's."""
    for path in (os.environ.get("AXE_CORE", ""), "/usr/share/nodejs/axe-core/axe.min.js"):
        if path and pathlib.Path(path).exists():
            return pathlib.Path(path).read_text()
    folder = pathlib.Path("/tmp/assay-axe-core")
    if shutil.which("npm") and not (folder / "node_modules/axe-core/axe.min.js").exists():
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, "axe-core@4"], capture_output=True, timeout=60, check=False)
    script = folder / "node_modules/axe-core/axe.min.js"
    return script.read_text() if script.exists() else None


def test_axe_finds_nothing_serious(live, browser):
    source = axe_source()
    if not source:
        pytest.skip("axe-core is not to be had")
    for theme in ("dark", "light"):
        for view in ("#fleet", "#gpu/0", "#jobs", "#job/1", "#host", "#findings", "#recordings"):
            browser.open(f"http://127.0.0.1:{live.port}/{view}")
            until(browser, "return app.now !== null && document.getElementById('main').children.length > 0")
            browser.run(f"theme('{theme}'); return 1")
            time.sleep(0.3)
            browser.run(source + "\nwindow.found = null; axe.run(document, {resultTypes: ['violations']}).then((r) => { window.found = r.violations; }); return 1")
            until(browser, "return window.found !== null")
            found = browser.run("return window.found.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ').slice(0, 300))")
            assert found == [], (theme, view)


def test_a_dump_is_asked_for_with_a_button(program, tmp_path, browser):
    """Without a token the page says what is missing; with one the file is named. Nothing of it is there where no recorder is kept."""
    build = pathlib.Path(program).parent / "tests"
    (tmp_path / "t").write_text("0123456789abcdef0123")
    (tmp_path / "t").chmod(0o600)
    env = {"FAKE_NVML": str(ROOT / "tests/fixtures/nvml/h200-bf16.scn"), "ASSAY_NVML_LIB": str(build / "libnvidia-ml-fake.so")}
    button = "[...document.querySelectorAll('button')].find(b => b.textContent.startsWith('Write a dump') && !b.parentElement.hidden)"
    with Server(program, tmp_path, env=env) as s:
        s.ready()
        browser.open(f"http://127.0.0.1:{s.port}/#findings")
        until(browser, f"const b = {button}; if (b) b.click(); return b ? 1 : 0")
        until(browser, "return document.body.innerText.includes('a dump needs a token')")
    with Server(program, tmp_path, "--auth-token-file", tmp_path / "t", env=env) as s:
        s.wait(lambda: s.ask("/-/ready", headers={"Authorization": "Bearer 0123456789abcdef0123"})[0] == 200)
        browser.open(f"http://127.0.0.1:{s.port}/#findings")
        until(browser, "return document.getElementById('token')")
        browser.run("document.getElementById('token').value = '0123456789abcdef0123'; document.querySelector('form').requestSubmit(); return 1")
        until(browser, f"const b = {button}; if (b) b.click(); return b ? 1 : 0")
        until(browser, r"return /dump-\d+-\d+-\d+\.assay: a dump was asked for over HTTP/.test(document.body.innerText)")
    with Server(program, tmp_path, "--flight", "off", env=env) as s:
        s.ready()
        browser.open(f"http://127.0.0.1:{s.port}/#findings")
        until(browser, "return document.body.innerText.includes('Log')")
        assert not browser.run(f"return {button} ? 1 : 0")
