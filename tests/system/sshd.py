"""A real sshd on loopback, with a key and an alias for each way that a host can behave."""
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

WHERE = os.environ["PATH"] + ":/usr/sbin:/sbin"
SSHD = shutil.which("sshd", path=WHERE)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Silent:
    """Accepts connections, and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.kept = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                self.kept.append(self.socket.accept()[0])
        except OSError:
            pass

    def close(self):
        self.socket.close()
        for one in self.kept:
            one.close()


class Sshd:
    """hosts: alias → the command that its key is bound to; None for what was asked for."""

    def __init__(self, folder, hosts, path):
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self.silent = Silent()
        self.key("host")
        self.key("stranger")
        lines = []
        for alias, command in hosts.items():
            self.key(alias)
            public = (self.folder / f"{alias}.pub").read_text()
            lines.append((f'command="{command}" ' if command else "") + public)
        (self.folder / "authorized").write_text("".join(lines))
        os.chmod(self.folder / "authorized", 0o600)
        (self.folder / "sshd_config").write_text(f"""
Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.folder}/host
AuthorizedKeysFile {self.folder}/authorized
StrictModes no
PidFile none
PermitRootLogin yes
PasswordAuthentication yes
SetEnv PATH={path}
UsePAM no
""")
        self.write_client(hosts)
        if os.geteuid() == 0:
            # Debian's wants it and leaves it to the service to make it.
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")], stderr=log, stdout=log)
        self.wait()

    def key(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)

    def write_client(self, hosts):
        text = f"""
Host *
  HostName 127.0.0.1
  Port {self.port}
  User {os.environ.get("USER", "root")}
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {self.folder}/known
  StrictHostKeyChecking yes
  HostKeyAlias loop
"""
        special = "".join(f"Host {alias}\n  IdentityFile {self.folder}/{alias}\n" for alias in hosts)
        special += f"Host password\n  IdentityFile {self.folder}/stranger\n"
        special += f"Host hangs\n  Port {self.silent.port}\n"
        special += f"Host refuses\n  Port {free_port()}\n"
        special += f"Host unknownkey\n  HostKeyAlias elsewhere\n  IdentityFile {self.folder}/{next(iter(hosts))}\n"
        (self.folder / "config").write_text(special + text)
        (self.folder / "known").write_text("loop " + (self.folder / "host.pub").read_text())

    def wait(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    @property
    def ssh(self):
        return f"ssh -F {self.folder}/config"

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)
        self.silent.close()
