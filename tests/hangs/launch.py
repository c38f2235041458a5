"""Starts the ranks of train.py and their hub, and waits: launch.py WORLD KIND RANK [FOLDER]. Prints the ranks' pids."""
import os
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    world, kind, culprit = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    sys.path.insert(0, os.path.join(HERE, "site-packages"))
    ranks = []
    for rank in range(world):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world), "HUB_PORT": str(port),
               "PYTHONPATH": os.path.join(HERE, "site-packages")}
        ranks.append(subprocess.Popen([sys.executable, os.path.join(HERE, "train.py"), kind, culprit, *sys.argv[4:]], env=env))
    hub = subprocess.Popen([sys.executable, "-c", f"import socket, toydist\ntoydist.serve({world + (kind == 'together')}, socket.socket(fileno={listener.fileno()}))"],
                           pass_fds=[listener.fileno()], env={**os.environ, "PYTHONPATH": os.path.join(HERE, "site-packages")})
    print(*[r.pid for r in ranks], flush=True)
    try:
        sys.stdin.read()  # until whoever started it is done
    finally:
        for p in [*ranks, hub]:
            p.kill()
        time.sleep(0)


main()
