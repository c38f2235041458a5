"""The table of model servers on the page of `assay serve`, in a real browser, with names that mean harm."""
import re

import pytest

from browser import DRIVER, Browser
from conftest import FIXTURES
from serving import Server
from test_serving import play, serve_text  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DRIVER, reason="no chromedriver here; ./dev test installs it")]

NAMES = ["<img src=x onerror=document.title=1>", "</script><script>document.title=2</script>", '"]}\\u0000', "\u202egnitset", "a" * 150, "\u6a21\u578b/7B"]
TABLE = "return [...document.querySelector('table').rows].slice(1).map(r => [...r.cells].map(c => c.innerText))"


def named(name):
    text = (FIXTURES / "engines" / "vllm.prom").read_text()
    label = name.replace("\\", "\\\\").replace('"', '\\"')
    return re.sub(r'model_name="[^"]*"', lambda _: f'model_name="{label}"', text)


def test_ten_servers_on_the_page(program, play, serve_text, tmp_path):  # noqa: F811
    """One that plays, six with odd names, two that say little, one that is not there; as wide as a screen and as a phone."""
    p = play()
    urls = [p.engine] + [serve_text(named(n)) for n in NAMES] + [serve_text((FIXTURES / "engines" / f"{n}.prom").read_text()) for n in ("tgi", "llamacpp")]
    urls.append("http://127.0.0.1:1/metrics")
    with Server(program, tmp_path, "--source", p.gpu, "--engine", ",".join(urls), "--state", "none") as s, Browser(tmp_path / "profile", 1280, 900) as b:
        s.ready().wait(lambda: sum(bool(e["answers"]) for e in s.json("/api/v1/now").get("engines", [])) == 9)
        for width in (1280, 420):
            b.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride",
                                                 "params": {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}})
            b.open(f"http://127.0.0.1:{s.port}/#jobs")
            rows = s.wait(lambda: (r := b.run("const t = document.querySelector('table'); if (!t) return []; " + TABLE)) and len(r) == 10 and r)
            assert b.run("return document.documentElement.scrollWidth <= innerWidth")
        assert b.run("return [document.querySelectorAll('img').length, document.title === '1' || document.title === '2']") == [0, False]
        assert not b.complaints()
    for row, url in zip(rows, urls):
        assert url[7:].removesuffix("/metrics") in row[0]
    for row, name in zip(rows[1:], NAMES[:2]):
        assert name in " ".join(row[0].split())
    assert rows[7][4] == "--" and rows[8][4] == "--"  # no cache is said
    assert rows[9][2:9] == ["--"] * 7 and rows[9][9].startswith("does not answer: ") and rows[9][0].startswith("model server")
