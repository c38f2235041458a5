"""Programs whose first accepted limiter is idle. `python3 run.py NAME SECONDS` runs one."""
import time


def never_used(seconds):
    """A script on a GPU node that never asks for the GPU."""
    time.sleep(seconds + 2)
