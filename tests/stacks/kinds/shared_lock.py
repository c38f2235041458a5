"""The main thread and a writer want the same lock; the writer keeps it while it waits for its disk."""
import threading
import time

from common import steps

lock = threading.Lock()
items = []


def write():
    while True:
        with lock:
            time.sleep(0.3)  # the disk
            items.clear()
        time.sleep(0.002)


def put(item):
    with lock:  # PLACE
        items.append(item)


def train():
    threading.Thread(target=write, daemon=True).start()
    for step in steps():
        sum(range(20000))
        put(step)


train()
