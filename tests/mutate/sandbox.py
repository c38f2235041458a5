"""Runs tests of a changed program where a slip can do no harm: it may kill every process it sees, fill memory, or remove what it finds.

In namespaces of its own a command sees only its own processes, everything but one folder and a fresh /tmp is read-only, and nothing it starts outlives it.
"""
import os
import pathlib
import resource
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY_MAX = 8 << 30
FILE_MAX = 2 << 30
SETUP = """
mount --make-rprivate / && mount --bind "$1" "$1" && mount -o remount,bind,ro / && cd "$2" && mount -t tmpfs -o size=4g tmpfs /tmp && mkdir /tmp/home || exit 120
case $2 in /tmp/*) mkdir -p "$2" && mount -c --rbind . "$2" || exit 120 ;; esac # a checkout below /tmp stays in sight
cd "$3" || exit 120
shift 3
"$@"
exit $?
"""
NO_SANDBOX = 120


def limits():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, FILE_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.nice(5)


def run(command, writable, env=None, cwd=None, timeout=None):
    """(exit status, what it printed); the status is None when it took too long, and nothing of it lives on."""
    user = [] if os.geteuid() == 0 else ["-r"]
    whole = ["unshare", *user, "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", SETUP, "sh", str(writable), str(ROOT), str(cwd or ROOT), *map(str, command)]
    env = {**(env or os.environ), "HOME": "/tmp/home", "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(whole, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace",
                          preexec_fn=limits, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, process.communicate()[0]
    if process.returncode == NO_SANDBOX:
        raise SystemExit(f"mutate: no namespaces here, and a changed program could do anything without them: {output[:300]}")
    return process.returncode, output
