"""A thread that computes metrics keeps the interpreter's lock from the loop, which would only start kernels."""
import threading
import time

from common import steps


def median_of_all(values):
    total = 0
    for a in values:
        total += sum([a * b % 7 for b in values])  # PLACE
    return total


def watch():
    values = list(range(600))
    while True:
        median_of_all(values)


def launch(step):
    return hash((step, "kernel"))


def train():
    threading.Thread(target=watch, daemon=True).start()
    for step in steps():
        for i in range(50):
            launch(i)
        time.sleep(0.004)


train()
