"""Programs whose first accepted limiter is compute.fp16. `python3 run.py NAME SECONDS` runs one."""

from common import polynomial


def poly_fp16(seconds):
    """The same in half precision, without tensor cores."""
    polynomial(seconds, "float16")
