"use strict";
/* What is drawn over time on every page: SVG, axes, curves with gaps and ranges, lanes of colours with words. Of pages and their data it knows nothing.
   A sheet says which time it shows: range(). */
class Sheet {
  constructor(box) { this.box = box; }

  /* SVG elements are cloned from one in the page, so that it names no address at all. */
  static make(name, attributes, parent, text) {
    const e = document.createElementNS(document.getElementById("svg").namespaceURI, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }

  /* Round times of a range, about so many. */
  static ticks(from, to, about) {
    const raw = (to - from) / about;
    let step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].find((s) => s >= raw);
    if (raw < 1) step = Math.pow(10, Math.ceil(Math.log10(raw)));
    const out = [];
    for (let t = Math.ceil(from / step) * step; t <= to + 1e-9; t += step) out.push(t);
    return out;
  }

  /* ---- places ---- */

  /* margins: left, right, top, bottom */
  begin(width, height, margins) {
    this.width = width;
    this.height = height;
    this.edge = { left: margins.left, right: width - margins.right, top: margins.top, bottom: height - margins.bottom };
    this.svg = Sheet.make("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    this.lanes = new Map(); /* outlines by fill */
  }
  x(t) {
    const [from, to] = this.range();
    return this.edge.left + (t - from) / Math.max(to - from, 1e-9) * (this.edge.right - this.edge.left);
  }
  y(v, top) { return this.edge.bottom - (this.edge.bottom - this.edge.top) * Math.min(Math.max(v / top, 0), 1); }
  inside(x) { return Math.min(Math.max(x, this.edge.left), this.edge.right); }

  /* ---- what is drawn ---- */

  /* words: of a time and the step to the next */
  timeAxis(words) {
    const [from, to] = this.range(), times = Sheet.ticks(from, to, this.width / 110);
    for (const t of times) {
      const x = this.x(t);
      Sheet.make("line", { class: "grid", x1: x, x2: x, y1: this.edge.top, y2: this.edge.bottom }, this.svg);
      Sheet.make("text", { x: Math.min(x, this.width - 24), y: this.height - 4, "text-anchor": "middle" }, this.svg, words(t, times.length > 1 ? times[1] - times[0] : to - from));
    }
  }
  valueAxis(top, words) {
    for (const part of [0, 0.5, 1]) {
      const y = this.y(part * top, top);
      Sheet.make("line", { class: "grid", x1: this.edge.left, x2: this.edge.right, y1: y, y2: y }, this.svg);
      Sheet.make("text", { x: this.edge.left - 6, y: y + 4, "text-anchor": "end" }, this.svg, words(part * top));
    }
  }
  limit(v, top) { Sheet.make("line", { class: "limit", x1: this.edge.left, x2: this.edge.right, y1: this.y(v, top), y2: this.y(v, top) }, this.svg); }

  /* mean, min, max: a value a cell, null where there is none; min and max may be missing. cells: first and last of them, at (the time of one), reach (as far apart two neighbours may be),
     skip (so many are one point: the highest of them). */
  curve({ mean, min, max, dash }, cells, top, stroke) {
    const skip = cells.skip || 1, y = (v) => this.y(v, top).toFixed(1);
    const most = (list, i, of) => {
      let best = list[i];
      for (let k = i + 1; k < i + skip && k <= cells.last; k++) if (list[k] !== null && (best === null || of(list[k], best) === list[k])) best = list[k];
      return best;
    };
    let line = "", area = "", back = "", before = -Infinity;
    const close = () => { if (back) area += `${back}Z`; back = ""; };
    for (let i = cells.first; i <= cells.last; i += skip) {
      const v = most(mean, i, Math.max), up = i - before > cells.reach;
      if (v === null) continue;
      const x = this.inside(this.x(cells.at(i))).toFixed(1);
      if (up) close();
      line += `${up ? "M" : "L"}${x} ${y(v)}${up ? "h.6" : ""}`;
      if (max) {
        area += `${up ? "M" : "L"}${x} ${y(most(max, i, Math.max))}`;
        back = `L${x} ${y(most(min, i, Math.min))}${back}`;
      }
      before = i;
    }
    close();
    if (area) Sheet.make("path", { class: "range", fill: stroke, d: area }, this.svg);
    if (line) Sheet.make("path", { class: dash ? "mean dash" : "mean", stroke, d: line }, this.svg);
  }

  /* A part of a lane in a colour or a hatch; where it came to lie. */
  part(fill, a, b, y, height) {
    const from = Math.max(this.x(a), this.edge.left), to = Math.min(this.x(b), this.edge.right);
    if (to > from) this.lanes.set(fill, `${this.lanes.get(fill) || ""}M${from.toFixed(1)} ${y}H${to.toFixed(1)}V${y + height}H${from.toFixed(1)}Z`);
    return [from, to];
  }
  /* Hatches lie on colours. */
  fillLanes() {
    for (const hatch of [false, true]) for (const [fill, d] of this.lanes) if (fill.startsWith("url") === hatch) Sheet.make("path", { fill, d }, this.svg);
  }
  /* Whether there is room for a text. */
  static fits([from, to], text) { return to - from >= text.length * Sheet.LETTER + 6; }
}
Sheet.LETTER = 6.4; /* the width of one, about */

/* A sheet with a pointer, which is zoomed by dragging and by keys. It says what follows: show(from, to), whole(), pointed(time, event), left(). */
class Plot extends Sheet {
  constructor(box) {
    super(box);
    box.tabIndex = 0;
    box.setAttribute("role", "img");
    box.addEventListener("pointermove", (e) => this.move(e));
    box.addEventListener("pointerleave", () => this.left());
    box.addEventListener("pointerdown", (e) => this.press(e));
    box.addEventListener("pointerup", (e) => this.drop(e));
    box.addEventListener("dblclick", () => this.whole());
    box.addEventListener("keydown", (e) => this.key(e));
  }

  /* The range that a key asks for: null for the whole, undefined when it is none of these. */
  static moved(key, [from, to]) {
    const width = to - from, middle = (from + to) / 2;
    const moves = { "+": [middle - width / 4, middle + width / 4], "=": [middle - width / 4, middle + width / 4], "-": [middle - width, middle + width],
      ArrowLeft: [from - width / 4, to - width / 4], ArrowRight: [from + width / 4, to + width / 4], 0: null };
    return moves[key];
  }

  time(e) {
    const [from, to] = this.range(), b = this.box.getBoundingClientRect();
    return from + ((e.clientX - b.left) / b.width * this.width - this.edge.left) / (this.edge.right - this.edge.left) * (to - from);
  }

  end(label) {
    const { top, bottom } = this.edge;
    this.cross = Sheet.make("line", { class: "cross", y1: top, y2: bottom, visibility: "hidden" }, this.svg);
    this.pick = Sheet.make("rect", { class: "pick", y: top, height: bottom - top, visibility: "hidden" }, this.svg);
    if (this.from !== undefined) this.showPick();
    this.box.replaceChildren(this.svg);
    if (label) this.box.setAttribute("aria-label", label);
  }

  /* ---- the pointer ---- */

  /* The line at a time; null for none. */
  showCross(t) {
    const [from, to] = this.range();
    if (t !== null) {
      this.cross.setAttribute("x1", this.x(t));
      this.cross.setAttribute("x2", this.x(t));
    }
    this.cross.setAttribute("visibility", t !== null && from <= t && t <= to ? "visible" : "hidden");
  }
  showPick() {
    const a = this.inside(this.x(Math.min(this.from, this.until))), b = this.inside(this.x(Math.max(this.from, this.until)));
    this.pick.setAttribute("x", a);
    this.pick.setAttribute("width", Math.max(b - a, 0));
    this.pick.setAttribute("visibility", "visible");
  }
  move(e) {
    const t = this.time(e), [from, to] = this.range();
    if (this.from !== undefined) {
      this.until = t;
      this.showPick();
    }
    if (t < from || t > to) this.left();
    else this.pointed(t, e);
  }
  press(e) {
    if (e.button !== 0 || e.pointerType === "touch") return;
    this.from = this.until = this.time(e);
    this.shift = e.shiftKey;
    this.box.setPointerCapture(e.pointerId);
  }
  drop(e) {
    if (this.from === undefined) return;
    const a = this.from, b = this.time(e), [from, to] = this.range();
    this.from = undefined;
    this.pick.setAttribute("visibility", "hidden");
    if (Math.abs(this.x(a) - this.x(b)) < 6) return;
    if (this.shift) this.show(from + a - b, to + a - b);
    else this.show(Math.max(Math.min(a, b), from), Math.min(Math.max(a, b), to));
  }
  key(e) {
    const range = Plot.moved(e.key, this.range());
    if (range === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    if (range) this.show(...range);
    else this.whole();
  }
}
