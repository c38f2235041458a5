"""Every line of defence of `assay serve`, attacked."""
import contextlib
import http.client
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import time
import warnings

import pytest

from conftest import FIXTURES, ROOT
from serving import Server, descriptors

DATA = FIXTURES / "exposition" / "dcgm-exporter.prom"
TOUR = ROOT / "data" / "h200-tour.csv"
TOKEN, ADMIN = "viewer-0123456789abcdef", "admin-0123456789abcdef"
EVERY_PATH = ["/", "/metrics", "/health", "/-/ready", "/api/v1/now", "/api/v1/history?gpu=0", "/api/v1/events", "/page.js", "/nothing"]


@pytest.fixture
def server(program, tmp_path):
    with Server(program, tmp_path, DATA) as s:
        yield s.ready()


@pytest.fixture
def closed(program, tmp_path):
    """One that wants a token."""
    for name, text in (("token", TOKEN), ("admin", ADMIN)):
        (tmp_path / name).write_text(text + "\n")
    with Server(program, tmp_path, DATA, "--auth-token-file", tmp_path / "token", "--admin-token-file", tmp_path / "admin") as s:
        yield s.ready()


# --- who is asked for --------------------------------------------------------------------------


@pytest.mark.parametrize("path", EVERY_PATH)
def test_rebinding(server, path):
    """A page of another site whose name points here."""
    status, headers, text = server.ask(path, host="evil.example:9400")
    assert status == 421 and "Access-Control-Allow-Origin" not in headers and "DCGM" not in text


def test_a_request_without_a_host(server):
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b" 421 " in s.recv(100) or b" 400 " in s.recv(100)


def test_names_that_are_allowed(program, tmp_path):
    with Server(program, tmp_path, DATA, "--allow-host", "gpu.example.org,*.cluster.local") as s:
        for host, want in [("gpu.example.org", 200), ("a.cluster.local:9400", 200), ("evil.org", 421), (socket.gethostname(), 200)]:
            assert s.ask("/health", host=host)[0] == want, host


@pytest.mark.parametrize("site,want", [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
@pytest.mark.parametrize("path", ["/metrics", "/api/v1/now", "/page.js"])
def test_other_sites(server, path, site, want):
    status, headers, _ = server.ask(path, headers={"Sec-Fetch-Site": site, "Origin": "https://evil.example"})
    assert status == want
    assert not [h for h in headers if h.lower().startswith("access-control")]


@pytest.mark.parametrize("path", [p for p in EVERY_PATH if "events" not in p])
def test_headers_on_every_answer(server, path):
    _, headers, _ = server.ask(path)
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/page.js/", "/page.js%00", "/PAGE.JS", "/metrics/", "/./metrics",
                                  "/index.html", "/api/v1/", "/api/v1/now/..", "/page.css?/../x"])
def test_paths_are_matched_whole(server, path):
    status, _, text = server.ask(path)
    assert status in (404, 400) or path == "/page.css?/../x"
    assert "root:" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "FOO"])
def test_other_methods(server, method):
    status, headers, _ = server.ask("/metrics", method=method)
    assert status in (405, 400)
    if status == 405:
        assert headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("lines,want", [
    (["Host: localhost", "Host: evil.example"], 400),
    (["Host: localhost", "Host: localhost"], 400),
    (["Host: localhost", "Content-Length: 0", "Content-Length: 5"], 413),
    (["Host: localhost", "Content-Length: 5", "Transfer-Encoding: chunked"], 413),
    (["Host: localhost", "Transfer-Encoding: xchunked"], 413),
    (["Host: localhost", "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"], 403)])
def test_a_second_header_does_not_hide_behind_the_first(server, lines, want):
    """And what follows a refused request on its connection is not taken for another one."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as c:
        c.sendall("\r\n".join(["GET /metrics HTTP/1.1", *lines, "", "GET /health HTTP/1.1", "Host: localhost", "", ""]).encode())
        answer = b""
        while got := c.recv(65536):
            answer += got
    assert answer.startswith(f"HTTP/1.1 {want} ".encode()) and answer.count(b"HTTP/1.1 ") == 1


def test_bodies(server):
    assert server.ask("/metrics", body=b"x" * 100)[0] == 413
    assert server.ask("/metrics", method="POST", body=b"x")[0] == 405
    assert server.ask("/health")[0] == 200


def test_large_headers(server):
    assert server.ask("/health", headers={"X": "y" * 7000})[0] == 200
    assert server.ask("/health", headers={f"X{i}": "y" * 1000 for i in range(9)})[0] == 431
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        assert server.ask("/health", headers={"X": "y" * 100_000})[0] in (413, 431)
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        assert server.ask("/" + "a" * 100_000)[0] in (404, 413, 414, 431)
    assert server.ask("/health")[0] == 200


# --- who may see what --------------------------------------------------------------------------


def test_tokens(closed):
    for path in ("/metrics", "/api/v1/now", "/api/v1/events", "/api/v1/history?gpu=0", "/api/v1/findings", "/api/v1/processes"):
        status, headers, text = closed.ask(path)
        assert status == 401 and "Bearer" in headers["WWW-Authenticate"] and "DCGM" not in text, path
    for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "viewer"):
        assert closed.ask(headers={"Authorization": f"Bearer {wrong}"})[0] == 401
    assert closed.ask(headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
    assert closed.ask(headers={"Authorization": f"Bearer {ADMIN}"})[0] == 200
    assert closed.ask("/health")[0] == 200
    assert TOKEN not in closed.text() and ADMIN not in closed.text()


def test_a_token_in_a_url_is_nothing(closed):
    assert closed.ask(f"/metrics?token={TOKEN}")[0] == 401
    assert closed.ask(f"/?key={TOKEN}")[0] == 403


def test_a_browser_gets_a_cookie(closed):
    status, headers, _ = closed.ask("/api/v1/login", headers={"Authorization": f"Bearer {TOKEN}"})
    cookie = headers["Set-Cookie"]
    assert status == 204 and "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
    pair = cookie.split(";")[0]
    assert len(pair.split("=")[1]) == 64
    assert closed.ask(headers={"Cookie": pair})[0] == 200
    assert closed.ask(headers={"Cookie": pair[:-1] + "x"})[0] == 401


def test_a_new_token_ends_old_sessions(closed, tmp_path):
    """Of those who came in with the old one; an admin's goes on."""
    pairs = {}
    for token in (TOKEN, ADMIN):
        pairs[token] = closed.ask("/api/v1/login", headers={"Authorization": f"Bearer {token}"})[1]["Set-Cookie"].split(";")[0]
    (tmp_path / "token").write_text("another-0123456789abcdef\n")
    closed.process.send_signal(signal.SIGHUP)
    closed.wait(lambda: closed.ask(headers={"Authorization": "Bearer another-0123456789abcdef"})[0] == 200)
    assert closed.ask(headers={"Authorization": f"Bearer {TOKEN}"})[0] == 401
    assert closed.ask(headers={"Cookie": pairs[TOKEN]})[0] == 401
    assert closed.ask(headers={"Cookie": pairs[ADMIN]})[0] == 200


def test_the_one_time_link(program, tmp_path):
    """It is printed to a terminal only."""
    pty = pytest.importorskip("pty")
    (tmp_path / "token").write_text(TOKEN)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([program, "serve", str(DATA), "--listen", "127.0.0.1:0", "--auth-token-file", str(tmp_path / "token")],
                               stderr=theirs, env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    os.close(theirs)
    try:
        text = b""
        while b"?key=" not in text or not text.endswith(b"\n"):
            text += os.read(ours, 4096)
        port, key = re.search(r"127\.0\.0\.1:(\d+)/\?key=([0-9a-f]{64})", text.decode()).groups()
        s = Server(program, tmp_path)
        s.port = int(port)
        assert s.ask("/?key=" + "0" * 64)[0] == 403
        status, headers, _ = s.ask(f"/?key={key}")
        assert status == 303 and headers["Location"] == "./" and "HttpOnly" in headers["Set-Cookie"]
        assert s.ask(f"/?key={key}")[0] == 403
        assert s.ask(headers={"Cookie": headers["Set-Cookie"].split(";")[0]})[0] == 200
    finally:
        process.terminate()
        process.wait(timeout=20)
        os.close(ours)


def test_users_with_bcrypt(program, tmp_path):
    """exporter-toolkit's file; wrong passwords are slow, right ones are not."""
    crypt = pytest.importorskip("crypt")
    (tmp_path / "web.yml").write_text(f"basic_auth_users:\n  alice: {crypt.crypt('sesame', crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n")
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
        status, headers, _ = s.ask()
        assert status == 401 and headers["WWW-Authenticate"].startswith("Basic")
        import base64

        def ask(user, password):
            return s.ask(headers={"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()})[0]

        assert ask("alice", "sesame") == 200
        assert ask("alice", "open") == 401
        assert ask("mallory", "sesame") == 401
        begun = time.monotonic()
        assert [ask("alice", f"guess{i}") for i in range(3)] == [401] * 3
        assert 0.9 < time.monotonic() - begun, "guesses wait"
        assert ask("alice", "sesame") == 200


@pytest.mark.parametrize("args", [["-a", ":0"], ["--listen", "0.0.0.0:0"], ["--listen", "[::]:0"]])
def test_other_addresses_need_a_lock(assay, tmp_path, args):
    done = assay("serve", DATA, *args)
    assert done.returncode == 2 and "everybody who reaches" in done.stderr and "--insecure" in done.stderr


def test_other_addresses_with_a_lock(program, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    with Server(program, tmp_path, DATA, "--auth-token-file", tmp_path / "token", listen="0.0.0.0:0") as s:
        assert s.ask()[0] == 401
    for address in ("0.0.0.0:0", ":0"):
        with Server(program, tmp_path, DATA, "--insecure", listen=address) as s:
            assert s.ask()[0] == 200 and "everybody who reaches this machine" in s.text()
            assert f"serving http://localhost:{s.port}/;" in s.text()


def test_token_files(assay, tmp_path):
    for text, mode in [("short", 0o600), ("with blanks in it, many", 0o600), (TOKEN, 0o622), ("", 0o600)]:
        (tmp_path / "t").write_text(text)
        (tmp_path / "t").chmod(mode)
        assert assay("serve", DATA, "--check-config", "--auth-token-file", tmp_path / "t").returncode == 2, text


def spoil(path, how):
    """A file that somebody else could have made."""
    text = path.read_bytes()
    if how == "fifo":
        path.unlink()
        os.mkfifo(path)
    elif how == "owner":
        os.chown(path, 1234, 1234)
    elif how == "mode":
        path.chmod(0o664)
    elif how == "device":
        path.unlink()
        path.symlink_to("/dev/zero")
    return text


NO_SECRETS = {"fifo": "not a regular file", "device": "not a regular file", "owner": "it belongs to another user", "mode": "others may write it"}


@pytest.mark.parametrize("how", NO_SECRETS)
def test_secrets_are_files_of_ones_own(assay, tmp_path, how):
    """Wherever a secret is read, and what says who is let in; nobody waits for a pipe."""
    if how == "owner" and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    for name in ("ca", "server"):
        make_certificate(tmp_path, name, "ca" if name != "ca" else None)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "web.yml").write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n  client_ca_file: ca.pem\n")
    serve = ("serve", DATA, "--check-config", "--web-config-file", tmp_path / "web.yml")
    cases = [("token", (*serve, "--auth-token-file", tmp_path / "token"), 2), ("token", (*serve, "--admin-token-file", tmp_path / "token"), 2),
             ("web.yml", serve, 2), ("server.key", serve, 2), ("server.pem", serve, 2), ("ca.pem", serve, 2),
             ("token", ("once", "--source", "http://127.0.0.1:1/metrics", "--token-file", tmp_path / "token"), 3),
             ("token", ("once", "--source", "http://127.0.0.1:1/a,http://127.0.0.1:1/b", "--token-file", tmp_path / "token"), 3),
             ("token", ("fleet", "users", "--engine", "http://127.0.0.1:1", "--token-file", tmp_path / "token"), 3)]
    assert assay(*serve).returncode == 0
    for name, words, status in cases:
        text = spoil(tmp_path / name, how)
        begun = time.monotonic()
        done = assay(*words)
        assert done.returncode == status and NO_SECRETS[how] in done.stderr, (name, words, done.stderr)
        assert time.monotonic() - begun < 5
        (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(text)


def test_a_link_to_a_secret(program, tmp_path):
    """As Kubernetes and credential managers keep them."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token").write_text(TOKEN)
    (tmp_path / "token").symlink_to("data/token")
    with Server(program, tmp_path, DATA, "--auth-token-file", tmp_path / "token") as s:
        assert s.ask(headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_a_reload_opens_no_door(program, tmp_path):
    """A file that is empty for a moment, or for good, leaves the server closed."""
    crypt = pytest.importorskip("crypt")
    for name in ("ca", "server"):
        make_certificate(tmp_path, name, "ca" if name != "ca" else None)
    tls = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
    certificates = tls + "  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n"
    users = f"basic_auth_users:\n  alice: {crypt.crypt('sesame', crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16))}\n"
    for before, after, what in [(users, "", "a token or password"), (users, "basic_auth_users:\n", "a token or password"), (tls + users, tls, "a token or password"),
                                (tls + users, users, "TLS"), (certificates + users, tls + users, "client certificates"), (certificates, "", "client certificates")]:
        (tmp_path / "web.yml").write_text(before)
        with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
            (tmp_path / "web.yml").write_text(after)
            s.process.send_signal(signal.SIGHUP)
            s.wait(lambda: f"not reloaded: the configuration no longer asks for {what}; restart when that is meant" in s.text())
            if s.scheme == "https":
                with pytest.raises((OSError, http.client.HTTPException)):
                    s.ask()
            else:
                assert s.ask()[0] == 401
            (tmp_path / "web.yml").write_text(before + "\n")
            s.process.send_signal(signal.SIGHUP)
            time.sleep(0.2)
            assert s.text().count("not reloaded") == 1


def test_a_unix_socket(program, tmp_path):
    path = tmp_path / "s.sock"
    with Server(program, tmp_path, DATA, listen=f"unix:{path}") as s:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as c:
            c.connect(str(path))
            c.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"200 OK" in c.recv(1000)
        # A second one does not take it away; one that is left over is taken.
        again = subprocess.run([program, "serve", str(DATA), "--listen", f"unix:{path}"], capture_output=True, text=True, timeout=20, check=False,
                               env={"HOME": str(tmp_path)})
        assert again.returncode == 1 and "cannot listen" in again.stderr
        s.stop(9)
    with Server(program, tmp_path, DATA, listen=f"unix:{path}"):
        pass
    assert not path.exists()


def test_nothing_of_processes_is_told(program, tmp_path, server):
    """No command lines, environments or paths, whatever is asked."""
    for path in ("/metrics", "/api/v1/now", "/api/v1/processes", "/api/v1/findings"):
        text = server.ask(path)[2]
        assert str(tmp_path) not in text and "/proc" not in text and "PATH=" not in text, path


def make_certificate(folder, name, ca=None):
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    sign = ["-CA", str(folder / f"{ca}.pem"), "-CAkey", str(folder / f"{ca}.key"), "-CAcreateserial"] if ca else []
    if ca:
        subprocess.run(["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", folder / "r.csr", "-subj", f"/CN={name}",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-req", "-in", folder / "r.csr", "-out", cert, "-days", "3", "-copy_extensions", "copy", *sign], check=True,
                       capture_output=True)
    else:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "3", "-subj", f"/CN={name}"],
                       check=True, capture_output=True)


def https(port, folder, client=None):
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    if client:
        context.load_cert_chain(folder / f"{client}.pem", folder / f"{client}.key")
    c = http.client.HTTPSConnection("localhost", port, context=context, timeout=20)
    try:
        c.request("GET", "/metrics")
        return c.getresponse().status
    finally:
        c.close()


def test_tls_and_client_certificates(program, tmp_path):
    make_certificate(tmp_path, "ca")
    make_certificate(tmp_path, "server", "ca")
    make_certificate(tmp_path, "client", "ca")
    make_certificate(tmp_path, "other")
    plain = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
    (tmp_path / "web.yml").write_text(plain)
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
        assert s.scheme == "https" and https(s.port, tmp_path) == 200
    (tmp_path / "web.yml").write_text(plain + "  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n")
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml", listen="0.0.0.0:0") as s:
        assert https(s.port, tmp_path, "client") == 200
        for wrong in (None, "other"):
            try:
                assert https(s.port, tmp_path, wrong) == 403
            except (ssl.SSLError, ConnectionError):
                pass


def test_a_key_of_another_certificate(program, tmp_path, assay):
    """It is found before anything is started or stopped; a server that runs goes on with what it had."""
    for name in ("ca", "other"):
        make_certificate(tmp_path, name)
    make_certificate(tmp_path, "server", "ca")
    good = (tmp_path / "server.key").read_text()
    (tmp_path / "web.yml").write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n")
    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
        (tmp_path / "server.key").write_bytes((tmp_path / "other.key").read_bytes())
        for more in ([], ["--check-config"]):
            done = assay("serve", DATA, "--listen", "127.0.0.1:0", "--web-config-file", tmp_path / "web.yml", *more)
            assert done.returncode == 2 and "certificate and key" in done.stderr
        for again in range(1, 3):
            s.process.send_signal(signal.SIGHUP)
            s.wait(lambda: s.text().count("not reloaded: cannot start the web server") == again)
            assert https(s.port, tmp_path) == 200
        (tmp_path / "server.key").write_text(good)
        s.process.send_signal(signal.SIGHUP)
        assert https(s.port, tmp_path) == 200


@pytest.mark.parametrize("lines,refused", [("", (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1)), ("  min_version: TLS13\n", (ssl.TLSVersion.TLSv1_2,)),
                                           ("  max_version: TLS12\n", (ssl.TLSVersion.TLSv1_3,))])
def test_versions_of_tls(program, tmp_path, lines, refused):
    """Old ones are refused, and what the file says holds."""
    make_certificate(tmp_path, "ca")
    make_certificate(tmp_path, "server", "ca")
    (tmp_path / "web.yml").write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n" + lines)

    def speaks(version):
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that they are old is what is tested
            context.minimum_version = context.maximum_version = version
        try:
            with socket.create_connection(("127.0.0.1", s.port), timeout=20) as c, context.wrap_socket(c, server_hostname="localhost"):
                return True
        except (ssl.SSLError, ConnectionError):
            return False

    with Server(program, tmp_path, DATA, "--web-config-file", tmp_path / "web.yml") as s:
        assert https(s.port, tmp_path) == 200
        assert [v for v in refused if speaks(v)] == []


# --- too much and too slow ---------------------------------------------------------------------


def test_half_open_connections(program, tmp_path):
    """Ten thousand that ask nothing: whoever asks is answered, and the descriptors come back."""
    with Server(program, tmp_path, DATA) as s:
        s.ready()
        before = descriptors(s.process.pid)
        idle = []
        with contextlib.ExitStack() as stack:
            for i in range(10_000 if os.environ.get("ASSAY_LONG") else 1200):
                c = stack.enter_context(socket.socket())
                c.settimeout(20)
                c.connect(("127.0.0.1", s.port))
                if i % 3 == 0:
                    with contextlib.suppress(OSError):
                        c.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0")
                idle.append(c)
                if len(idle) > 700:  # our own limit of open files
                    idle.pop(0).close()
                if i % 400 == 0:
                    assert s.ask("/health")[0] == 200
            assert s.ask("/health")[0] == 200 and s.ask("/metrics")[0] == 200
            assert descriptors(s.process.pid) < before + 600
        s.wait(lambda: descriptors(s.process.pid) <= before + 3)


@pytest.mark.slow
def test_headers_have_five_seconds(server):
    """A byte now and then keeps nobody in."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as c:
        begun = time.monotonic()
        c.sendall(b"GET /metrics HTTP/1.1\r\n")
        c.settimeout(0.2)
        while time.monotonic() < begun + 15:
            try:
                c.sendall(b"X")
                if c.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert 4 < time.monotonic() - begun < 14


def test_streams_are_limited_and_a_slow_reader_hurts_nobody(program, tmp_path):
    with Server(program, tmp_path, TOUR, "--speed", "20") as s, contextlib.ExitStack() as stack:
        s.ready()
        open_streams = []
        for _ in range(64):
            c = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=20))
            c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in c.recv(64)
            open_streams.append(c)
        assert s.ask("/api/v1/events")[0] == s.ask("/api/v1/events", method="HEAD")[0] == 503
        other = stack.enter_context(socket.create_connection(("127.0.0.1", s.port), timeout=20, source_address=("127.0.0.2", 0)))
        other.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in other.recv(64), "another address takes a place from the one that has all"
        end = b""
        while not (end := end[-6:] + open_streams[0].recv(65536)).endswith(b"\r\n0\r\n\r\n"):
            pass  # the oldest was ended
        open_streams = open_streams[1:] + [other]
        reader = open_streams[0].makefile("rb")
        seen = 0
        while seen < 5:  # the other 63 read nothing
            seen += (line := reader.readline()).startswith(b"data: ")
            assert line, "the stream ended"
        assert s.ask("/metrics")[0] == 200
        reader.close()
        for c in open_streams:
            c.close()
        s.wait(lambda: "assay_streams 0" in s.metrics(), 30)


def test_a_stop_ends_streams(program, tmp_path):
    with Server(program, tmp_path, TOUR, "--speed", "1") as s:
        s.ready()
        with socket.create_connection(("127.0.0.1", s.port), timeout=20) as c:
            c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            c.recv(64)
            begun = time.monotonic()
            assert s.stop() == 0
            assert time.monotonic() - begun < 10


def test_http_nonsense(server):
    for junk in (b"\x00" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
                 b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as c:
            c.sendall(junk)
            c.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                assert b"DCGM_" not in c.recv(4096)
    assert server.ask("/health")[0] == 200
