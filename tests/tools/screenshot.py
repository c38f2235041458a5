#!/usr/bin/env python3
"""Draws a terminal's screen as a PNG, from a tmux capture or from a program run in tmux.

usage: screenshot.py OUT.png <capture        (what `tmux capture-pane -e -p` wrote)
       screenshot.py OUT.png --run WxH [--wait S] [--keys K,K,...] COMMAND...
       screenshot.py --docs ASSAY FOLDER     (the pictures of the documents, from the H200 tour)

Needs python3-pil and the DejaVu Sans Mono font. Lines, blocks and braille are drawn by hand, so that
they meet as they do in a terminal.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono"
SIZE, CELL_W, CELL_H = 15, 9, 19
GROUND, INK = (16, 20, 24), (214, 218, 222)
BASIC = [(0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188),
         (17, 168, 205), (229, 229, 229), (102, 102, 102), (241, 76, 76), (35, 209, 139),
         (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255)]
SESSION = pathlib.Path(__file__).resolve().parents[2] / "docs" / "example" / "tour.assay"
TOUR = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "tour" / "h200-tour.dmon.txt"


def palette(n):
    """A colour of xterm's 256."""
    if n < 16:
        return BASIC[n]
    if n >= 232:
        return (8 + 10 * (n - 232),) * 3
    steps = [0, 95, 135, 175, 215, 255]
    n -= 16
    return steps[n // 36], steps[n // 6 % 6], steps[n % 6]


class Pen:
    """Colours and attributes in force."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fg, self.bg = None, None
        self.bold = self.underline = self.reverse = False

    def apply(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c == 0:
                self.reset()
            elif c in (1, 22):
                self.bold = c == 1
            elif c in (4, 24):
                self.underline = c == 4
            elif c in (7, 27):
                self.reverse = c == 7
            elif c in (38, 48):
                kind = codes.pop(0)
                colour = palette(codes.pop(0)) if kind == 5 else tuple(codes.pop(0) for _ in range(3))
                self.fg, self.bg = (colour, self.bg) if c == 38 else (self.fg, colour)
            elif c in (39, 49):
                self.fg, self.bg = (None, self.bg) if c == 39 else (self.fg, None)
            elif 30 <= c <= 37 or 90 <= c <= 97:
                self.fg = palette(c - 30 if c < 90 else c - 82)
            elif 40 <= c <= 47 or 100 <= c <= 107:
                self.bg = palette(c - 40 if c < 100 else c - 92)

    def colours(self):
        fg, bg = self.fg or INK, self.bg or GROUND
        return (bg, fg) if self.reverse else (fg, bg)


def cells(text):
    """Rows of (character, ink, ground, bold, underline)."""
    pen, rows = Pen(), []
    for line in text.rstrip("\n").split("\n"):
        row, i = [], 0
        while i < len(line):
            match = re.match(r"\x1b\[([0-9;]*)m", line[i:])
            if match:
                pen.apply(match.group(1))
                i += match.end()
                continue
            match = re.match(r"\x1b[()].|[\x0e\x0f]", line[i:])
            if match:
                i += match.end()
                continue
            fg, bg = pen.colours()
            row.append((line[i], fg, bg, pen.bold, pen.underline))
            i += 1
        rows.append(row)
    return rows


def draw_braille(draw, x, y, fg, bits):
    places = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
    for i, (column, row) in enumerate(places):
        if bits >> i & 1:
            cx, cy = x + CELL_W * (2 * column + 1) / 4, y + CELL_H * (2 * row + 1) / 8
            draw.ellipse((cx - 1.4, cy - 1.4, cx + 1.4, cy + 1.4), fill=fg)


def draw_by_hand(draw, ch, x, y, fg):
    """Lines, blocks and braille. False for other characters."""
    code, mid = ord(ch), y + CELL_H // 2
    right, bottom = x + CELL_W, y + CELL_H
    if 0x2800 <= code < 0x2900:
        draw_braille(draw, x, y, fg, code & 0xff)
    elif 0x2581 <= code <= 0x2588:
        draw.rectangle((x, bottom - CELL_H * (code - 0x2580) / 8, right - 1, bottom - 1), fill=fg)
    elif ch == "─":
        draw.line((x, mid, right - 1, mid), fill=fg)
    elif ch == "━":
        draw.rectangle((x, mid - 2, right - 1, mid + 2), fill=fg)
    elif ch == "╸":
        draw.rectangle((x, mid - 2, x + CELL_W // 2, mid + 2), fill=fg)
    elif ch == "│":
        draw.line((x + CELL_W // 2, y, x + CELL_W // 2, bottom - 1), fill=fg)
    elif ch == "┊":
        for k in range(0, CELL_H, 5):
            draw.line((x + CELL_W // 2, y + k, x + CELL_W // 2, y + k + 2), fill=fg)
    elif ch == "└":
        draw.line((x + CELL_W // 2, y, x + CELL_W // 2, mid), fill=fg)
        draw.line((x + CELL_W // 2, mid, right - 1, mid), fill=fg)
    else:
        return False
    return True


def render(text, path):
    plain = ImageFont.truetype(FONTS + ".ttf", SIZE)
    heavy = ImageFont.truetype(FONTS + "-Bold.ttf", SIZE)
    rows = cells(text)
    width = max((len(r) for r in rows), default=1)
    image = Image.new("RGB", (width * CELL_W + 16, len(rows) * CELL_H + 16), GROUND)
    draw = ImageDraw.Draw(image)
    for r, row in enumerate(rows):
        for c, (ch, fg, bg, bold, underline) in enumerate(row):
            x, y = 8 + c * CELL_W, 8 + r * CELL_H
            if bg != GROUND:
                draw.rectangle((x, y, x + CELL_W - 1, y + CELL_H - 1), fill=bg)
            if ch != " " and not draw_by_hand(draw, ch, x, y, fg):
                draw.text((x, y), ch, font=heavy if bold else plain, fill=fg)
            if underline:
                draw.line((x, y + CELL_H - 2, x + CELL_W - 1, y + CELL_H - 2), fill=fg)
    image.save(path, optimize=True)


def capture(command, width, height, wait=1.0, keys=()):
    """What a command shows in a tmux window of that size."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HOME": folder, "COLORTERM": ""}

        def tmux(*args):
            return subprocess.run(["tmux", "-S", folder + "/tmux", *args], env=env, check=True,
                                  capture_output=True, text=True).stdout

        tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
             f"TERM={os.environ.get('SCREEN_TERM', 'tmux-256color')} exec " + command)
        try:
            time.sleep(wait)
            for key in keys:
                tmux("send-keys", key)
                time.sleep(0.15)
            time.sleep(0.3)
            # -N keeps blanks at the end of lines, which may have a ground of their own.
            return tmux("capture-pane", "-e", "-p", "-N")
        finally:
            subprocess.run(["tmux", "-S", folder + "/tmux", "kill-server"], check=False,
                           capture_output=True)


def docs(program, folder):
    """The pictures that README and the guides show."""
    os.makedirs(folder, exist_ok=True)
    play = f"{program} top {SESSION} --speed 0.01 --at"
    with tempfile.TemporaryDirectory() as made:
        eight = os.path.join(made, "eight.txt")
        lines = TOUR.read_text().split("\n")
        rows = [line[len("GPU 0"):] for line in lines if line.startswith("GPU 0 ")]
        with open(eight, "w", encoding="utf-8") as f:
            f.write("\n".join(lines[:2]) + "\n")
            for i in range(len(rows)):
                for gpu in range(8):
                    f.write(f"GPU {gpu}{rows[(i + 97 * gpu) % len(rows)]}\n")
        fleet8 = f"{program} top --source {eight} --poll 0.1 --at 42 --speed 0.01"
        for name, command, width, height, keys in [
                ("dashboard", f"{play} 44", 120, 34, ()),
                ("fleet-8", fleet8, 120, 40, ()),
                ("focus", f"{play} 20 --view focus", 120, 40, ()),
                ("plot", f"{play} 88 --view plot", 120, 40, ("Z",)),
                ("job", f"{program} top {SESSION} --at 62 --view job", 120, 24, ()),
                ("host", f"{program} top {SESSION} --at 62 --view host", 120, 30, ())]:
            render(capture(command, width, height, 4.0, keys), os.path.join(folder, name + ".png"))


def main():
    args = sys.argv[1:]
    if args and args[0] == "--docs":
        docs(args[1], args[2])
    elif len(args) >= 4 and args[1] == "--run":
        width, height = map(int, args[2].split("x"))
        rest, wait, keys = args[3:], 1.0, ()
        while rest[0] in ("--wait", "--keys"):
            wait = float(rest[1]) if rest[0] == "--wait" else wait
            keys = tuple(rest[1].split(",")) if rest[0] == "--keys" else keys
            rest = rest[2:]
        render(capture(" ".join(rest), width, height, wait, keys), args[0])
    elif len(args) == 1 and not args[0].startswith("-"):
        render(sys.stdin.read(), args[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
