"""The child holds the GPU; its parent prepares what it computes with, and sends it through a pipe."""
import multiprocessing

from common import steps


def child(pipe):
    while pipe.recv() is not None:
        pipe.send(1)


def prepare(step):
    table = [(i * 2654435761 + step) % 1000003 for i in range(60000)]
    return sorted(table, key=str)[:500]  # PLACE


def feed():
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=child, args=(theirs,), daemon=True)
    process.start()
    for step in steps(holder=process.pid):
        ours.send(prepare(step))
        ours.recv()
    process.kill()


if __name__ == "__main__":
    feed()
