"""Asks every tenth of a second whether there is work."""
import time

from common import steps


def is_ready(step):
    return step % 7 == 6


def poll(step):
    while not is_ready(step):
        time.sleep(0.1)  # PLACE
        step += 1
    return step


def train():
    for step in steps():
        poll(step)
        sum(i * i for i in range(30000))


train()
