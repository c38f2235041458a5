"""One client that means ill takes nothing from others: whoever shows a token is answered at once, from the same address too."""
import base64
import contextlib
import http.client
import pathlib
import signal
import ssl
import subprocess
import sys
import threading
import time

import pytest

from conftest import FIXTURES, tried
from serving import Server
from test_serve_safe import make_certificate

DATA = FIXTURES / "exposition" / "dcgm-exporter.prom"
TOKEN = "viewer-0123456789abcdef"
FLOODS = ["not_reading", "a_byte_a_second", "half_requests", "handshakes", "short"]


@contextlib.contextmanager
def flood(server, kind, path="/page.js"):
    """An attacker that has begun."""
    command = [sys.executable, str(pathlib.Path(__file__).with_name("flood.py")), kind, str(server.port), path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)
        try:
            yield process
            assert process.poll() is None, "the attacker ended"
        finally:
            process.send_signal(signal.SIGTERM)


class Scraper:
    """Asks for /metrics, over one connection or a new one each time, and notes how long it took."""

    def __init__(self, server, token=TOKEN, context=None, keep=False):
        self.server, self.context, self.keep = server, context, keep
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.connection = None
        self.took, self.failed = [], []

    def open(self):
        if self.context:
            return http.client.HTTPSConnection("localhost", self.server.port, timeout=2, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=2)

    def scrape(self):
        begun = time.monotonic()
        self.connection = self.connection or self.open()
        try:
            self.connection.request("GET", "/metrics", headers=self.headers)
            answer = self.connection.getresponse()
            if not (answer.status == 200 and b"DCGM_FI_DEV_GPU_TEMP" in answer.read()):
                self.failed.append(answer.status)
        except OSError as why:
            self.failed.append(why)
        if self.failed or not self.keep:
            self.connection.close()
            self.connection = None
        self.took.append(time.monotonic() - begun)

    def go_on(self, seconds, pause=0.05):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.scrape()
            time.sleep(pause)
        return self

    def share(self, limit=0.1):
        """Of the scrapes that were answered within the limit."""
        return (sum(t <= limit for t in self.took) - len(self.failed)) / len(self.took)


@contextlib.contextmanager
def serving(program, folder, tls=False, token=True):
    args, context = [], None
    if token:
        (folder / "token").write_text(TOKEN + "\n")
        args += ["--auth-token-file", folder / "token"]
    if tls:
        make_certificate(folder, "ca")
        make_certificate(folder, "server", "ca")
        (folder / "web.yml").write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n")
        args += ["--web-config-file", folder / "web.yml"]
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    with Server(program, folder, DATA, *args) as s:
        yield s, context


@pytest.mark.parametrize("keep", [False, True], ids=["new", "kept"])
@pytest.mark.parametrize("kind", FLOODS)
def test_a_scraper_is_answered(program, tmp_path, kind, keep):
    with serving(program, tmp_path) as (s, _), flood(s, kind):
        assert Scraper(s, keep=keep).go_on(2).failed == []
    tried("faults")


@pytest.mark.parametrize("kind", ["handshakes", "half_requests"])
def test_a_scraper_is_answered_over_tls(program, tmp_path, kind):
    with serving(program, tmp_path, tls=True) as (s, context), flood(s, kind):
        assert Scraper(s, context=context).go_on(2).failed == []
        assert Scraper(s, context=context, keep=True).go_on(1).failed == []


@pytest.mark.parametrize("kind", ["not_reading", "a_byte_a_second"])
def test_a_server_without_tokens(program, tmp_path, kind):
    """Nobody can show anything: who does not read makes room for who comes."""
    with serving(program, tmp_path, token=False) as (s, _), flood(s, kind, "/metrics"):
        assert Scraper(s, token=None).go_on(2).failed == []


@pytest.mark.slow
def test_who_does_not_read_is_ended(program, tmp_path):
    """Nobody else needs the place: a kilobyte a second is wanted. Who reads slowly, but reads, is not ended."""
    with serving(program, tmp_path, token=False) as (s, _), contextlib.ExitStack() as stack:
        silent, slow = (stack.enter_context(socket_of(s)) for _ in range(2))
        request = b"GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 700
        for c in (silent, slow):
            c.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                c.send(request)
        begun, got = time.monotonic(), 0
        while time.monotonic() < begun + 25:
            time.sleep(0.1)
            with contextlib.suppress(BlockingIOError):
                got += len(slow.recv(20_000))
        assert got > 1_000_000, "the slow reader was ended"
        silent.setblocking(True)
        silent.settimeout(10)
        with contextlib.suppress(ConnectionError):
            while silent.recv(1 << 20):
                pass  # an end is wanted, not a time-out


def socket_of(server):
    import socket
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


@pytest.mark.slow
@pytest.mark.quiet
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("kind", FLOODS)
def test_scrapes_are_quick(program, tmp_path, kind, tls):
    """99 of 100 within 100 ms."""
    with serving(program, tmp_path, tls=tls) as (s, context), flood(s, kind):
        for keep in (False, True):
            scraper = Scraper(s, context=context, keep=keep).go_on(3)
            assert scraper.share() >= 0.99, (keep, scraper.failed[:3], sorted(scraper.took)[-5:])


@pytest.mark.long
@pytest.mark.parametrize("kind", FLOODS)
def test_scrapes_stay_quick(program, tmp_path, kind):
    """The same for a minute, by two at a time."""
    with serving(program, tmp_path) as (s, _), flood(s, kind):
        scrapers = [Scraper(s, keep=keep) for keep in (False, True)]
        threads = [threading.Thread(target=scraper.go_on, args=(60,)) for scraper in scrapers]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert [scraper.share() >= 0.99 for scraper in scrapers] == [True, True], [(x.failed[:3], sorted(x.took)[-5:]) for x in scrapers]


# --- passwords -----------------------------------------------------------------------------------


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class Guesser(threading.Thread):
    """Tries passwords, from an address of its own."""

    def __init__(self, server, user="alice", address="127.0.0.7"):
        super().__init__(daemon=True)
        self.server, self.user, self.address = server, user, address
        self.stop, self.statuses = False, []

    def run(self):
        n = 0
        while not self.stop:
            n += 1
            c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=3, source_address=(self.address, 0))
            with contextlib.suppress(OSError):
                c.request("GET", "/metrics", headers=basic(self.user, f"guess{n}"))
                self.statuses.append(c.getresponse().status)
            c.close()


@pytest.fixture
def guarded(program, tmp_path):
    crypt = pytest.importorskip("crypt")
    salt = crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 10)
    (tmp_path / "web.yml").write_text("basic_auth_users:\n" + "".join(f"  {user}: {crypt.crypt('sesame', salt)}\n" for user in ("alice", "bob")))
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
        yield s


@contextlib.contextmanager
def guessing(server, n=24):
    guessers = [Guesser(server, address=f"127.0.0.{7 + i % 3}") for i in range(n)]
    for g in guessers:
        g.start()
    try:
        server.wait(lambda: sum(len(g.statuses) for g in guessers) > 3, 90)  # a password takes long beside other work
        yield guessers
    finally:
        for g in guessers:
            g.stop = True
        for g in guessers:
            g.join()


def test_guessing_shuts_nobody_out(guarded):
    """A right password is let in while others guess, at the first time, after each reload, and as quickly as a token once it is known."""
    with guessing(guarded) as guessers:
        assert guarded.ask(headers=basic("alice", "sesame"))[0] == 200
        assert guarded.ask(headers=basic("bob", "sesame"))[0] == 200
        for again in range(3):
            guarded.process.send_signal(signal.SIGHUP)
            time.sleep(0.7)
            for _ in range(5):
                begun = time.monotonic()
                assert guarded.ask(headers=basic("alice", "sesame"))[0] == 200
                assert time.monotonic() - begun < 2, again
        assert guarded.ask("/health")[0] == 200
    assert set(status for g in guessers for status in g.statuses) <= {401, 429}
    tried("faults", sum(len(g.statuses) for g in guessers))


def test_guesses_are_few(guarded):
    """One address tries a user's password twice a second at most, however many connections it has."""
    with guessing(guarded, 6) as guessers:
        begun, before = time.monotonic(), sum(g.statuses.count(401) for g in guessers)
        time.sleep(4)
        n, seconds = sum(g.statuses.count(401) for g in guessers) - before, time.monotonic() - begun
    assert n <= 3 * (2 * seconds + 2)


def test_a_password_keeps_no_scrape_waiting(program, tmp_path):
    """bcrypt runs beside the server, not in it: at cost 13 it takes most of a second."""
    crypt = pytest.importorskip("crypt")
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "web.yml").write_text(f"basic_auth_users:\n  alice: {crypt.crypt('sesame', crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 13))}\n")
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml", "--auth-token-file", tmp_path / "token") as s, guessing(s, 8):
        scraper = Scraper(s).go_on(3)
        assert scraper.failed == [] and sorted(scraper.took)[len(scraper.took) // 2] < 0.1


def test_a_stop_does_not_wait_for_guesses(guarded):
    with guessing(guarded):
        begun = time.monotonic()
        assert guarded.stop() == 0
        assert time.monotonic() - begun < 10


def test_logins_of_one_end_nobody_elses_session(program, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "admin").write_text("admin-0123456789abcdef")

    def login(token):
        return {"Cookie": s.ask("/api/v1/login", headers={"Authorization": f"Bearer {token}"})[1]["Set-Cookie"].split(";")[0]}

    with Server(program, tmp_path, DATA, "--auth-token-file", tmp_path / "token", "--admin-token-file", tmp_path / "admin") as s:
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20, source_address=("127.0.0.9", 0))
        c.request("GET", "/api/v1/login", headers={"Authorization": f"Bearer {TOKEN}"})
        other = {"Cookie": c.getresponse().getheader("Set-Cookie").split(";")[0]}
        c.close()
        admin, first = login("admin-0123456789abcdef"), login(TOKEN)
        for _ in range(300):
            last = login(TOKEN)
        assert [s.ask(headers=who)[0] for who in (admin, other, last, first)] == [200, 200, 200, 401]
