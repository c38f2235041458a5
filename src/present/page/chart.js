"use strict";
/* A chart of values over time: lines with gaps, a band where there is one, zoom by dragging or by keys. */
class Chart {
  /* series: [{name, values, low, high}]; low and high may be missing. Times are seconds. */
  constructor(canvas, options) {
    this.canvas = canvas;
    this.options = options;
    this.series = [];
    this.view = null; /* [from, to] while zoomed */
    this.begin = -Infinity; /* nothing is known before */
    this.pointer = null;
    this.drag = null;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.addEventListener("pointerdown", (e) => { this.drag = [e.offsetX, e.offsetX]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => this.move(e));
    canvas.addEventListener("pointerup", () => this.drop());
    canvas.addEventListener("pointerleave", () => { this.pointer = null; this.draw(); this.options.onpoint(null); });
    canvas.addEventListener("dblclick", () => this.options.onzoom(null));
    canvas.addEventListener("keydown", (e) => this.key(e));
  }

  set(end, step, series) {
    this.end = end;
    this.step = step;
    this.series = series;
    this.draw();
  }

  range() {
    const n = Math.max(1, ...this.series.map((s) => s.values.length));
    return this.view || [Math.max(this.end - (n - 1) * this.step, this.begin), this.end];
  }

  box() {
    return { left: 58, right: this.canvas.clientWidth - 6, top: 8, bottom: this.canvas.clientHeight - 18 };
  }

  time(x) {
    const [from, to] = this.range(), b = this.box();
    return from + (Math.min(Math.max(x, b.left), b.right) - b.left) / Math.max(1, b.right - b.left) * (to - from);
  }

  move(e) {
    if (this.drag) this.drag[1] = e.offsetX;
    this.pointer = this.time(e.offsetX);
    this.draw();
    this.options.onpoint(this.pointer);
  }

  drop() {
    const d = this.drag;
    this.drag = null;
    if (d && Math.abs(d[1] - d[0]) > 8) this.options.onzoom([this.time(Math.min(...d)), this.time(Math.max(...d))]);
    else this.draw();
  }

  key(e) {
    const [from, to] = this.range(), width = to - from, middle = (from + to) / 2;
    const moves = { "+": [middle - width / 4, middle + width / 4], "=": [middle - width / 4, middle + width / 4], "-": [middle - width, middle + width],
      ArrowLeft: [from - width / 5, to - width / 5], ArrowRight: [from + width / 5, to + width / 5], "0": null };
    if (!(e.key in moves)) return;
    e.preventDefault();
    e.stopPropagation();
    this.options.onzoom(moves[e.key]);
  }

  /* The place of a time in the values. */
  index(t) {
    const n = this.series.length ? this.series[0].values.length : 0;
    return n - 1 - Math.round((this.end - t) / this.step);
  }

  at(t) {
    const i = this.index(t);
    return this.series.map((s) => (i >= 0 && i < s.values.length ? s.values[i] : null));
  }

  top() {
    if (this.options.top) return this.options.top;
    let most = 0;
    const [from, to] = this.range(), first = Math.max(0, this.index(from)), last = this.index(to);
    for (const s of this.series) {
      const list = s.high || s.values;
      for (let i = first; i <= last && i < list.length; i++) if (list[i] !== null && list[i] > most) most = list[i];
    }
    if (most <= 0) return 1;
    /* A round number of the unit that it is written in. */
    const base = this.options.base || 1000, unit = Math.pow(base, Math.max(0, Math.floor(Math.log(most) / Math.log(base))));
    const power = Math.pow(10, Math.floor(Math.log10(most / unit))) * unit;
    return Math.ceil(most / power * 2) / 2 * power;
  }

  draw() {
    const c = this.canvas, ratio = window.devicePixelRatio || 1, w = c.clientWidth, h = c.clientHeight;
    if (!w || !h) return;
    c.width = Math.round(w * ratio);
    c.height = Math.round(h * ratio);
    const g = c.getContext("2d"), style = getComputedStyle(c), b = this.box(), [from, to] = this.range(), top = this.top();
    const color = (name) => style.getPropertyValue(name).trim();
    const x = (t) => b.left + (t - from) / Math.max(1e-9, to - from) * (b.right - b.left);
    const y = (v) => b.bottom - Math.min(v, top * 1.05) / top * (b.bottom - b.top);
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    g.strokeStyle = color("--line");
    g.fillStyle = color("--soft");
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (let k = 0; k <= 2; k++) {
      const v = top * k / 2;
      g.beginPath();
      g.moveTo(b.left, y(v));
      g.lineTo(b.right, y(v));
      g.stroke();
      g.fillText(this.options.format(v), b.left - 5, y(v));
    }
    this.ticks(g, b, from, to, x);
    g.save();
    g.beginPath();
    g.rect(b.left, b.top - 4, b.right - b.left, b.bottom - b.top + 8);
    g.clip();
    this.series.forEach((s, k) => this.line(g, s, color(`--c${k % 5}`), x, y, from, to));
    if (this.drag && Math.abs(this.drag[1] - this.drag[0]) > 2) {
      g.globalAlpha = 0.15;
      g.fillStyle = color("--accent");
      g.fillRect(Math.min(...this.drag), b.top, Math.abs(this.drag[1] - this.drag[0]), b.bottom - b.top);
    }
    g.restore();
    if (this.limit && this.limit <= top * 1.05) {
      g.strokeStyle = color("--crit");
      g.setLineDash([4, 4]);
      g.beginPath();
      g.moveTo(b.left, y(this.limit));
      g.lineTo(b.right, y(this.limit));
      g.stroke();
      g.setLineDash([]);
    }
    if (this.pointer !== null) {
      g.strokeStyle = color("--soft");
      g.beginPath();
      g.moveTo(x(this.pointer), b.top);
      g.lineTo(x(this.pointer), b.bottom);
      g.stroke();
    }
  }

  ticks(g, b, from, to, x) {
    const steps = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 86400];
    const step = steps.find((s) => (to - from) / s <= Math.max(2, (b.right - b.left) / 90)) || 86400;
    g.textAlign = "center";
    g.textBaseline = "top";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      if (x(t) < b.left + 30 || x(t) > b.right - 30) continue;
      g.fillText(timeOfDay(t).slice(0, step < 60 ? 8 : 5), x(t), b.bottom + 4);
    }
  }

  /* One line, thinned to the points that can be seen; nothing is drawn where nothing is known. */
  line(g, s, color, x, y, from, to) {
    const n = s.values.length, first = Math.max(0, this.index(from) - 1), last = Math.min(n - 1, this.index(to) + 1);
    const time = (i) => this.end - (n - 1 - i) * this.step;
    const skip = Math.max(1, Math.floor((last - first) / Math.max(1, 2 * this.canvas.clientWidth)));
    if (s.low) {
      g.fillStyle = color;
      g.globalAlpha = 0.18;
      for (let i = first; i <= last; i++) {
        if (s.values[i] === null) continue;
        g.fillRect(x(time(i)) - 0.5, y(s.high[i]), Math.max(1, x(time(i) + this.step) - x(time(i))), Math.max(1, y(s.low[i]) - y(s.high[i])));
      }
      g.globalAlpha = 1;
    }
    g.strokeStyle = color;
    g.lineWidth = 1.4;
    g.beginPath();
    let before = -Infinity; /* the last point that is there */
    for (let i = first; i <= last; i += skip) {
      let v = null;
      for (let k = i; k < i + skip && k <= last; k++) if (s.values[k] !== null && (v === null || s.values[k] > v)) v = s.values[k];
      if (v === null) continue;
      /* Samples may be further apart than cells; what is further apart than samples is a gap. */
      if ((i - before) * this.step <= Math.max(this.options.gap(), 1.5 * skip * this.step)) g.lineTo(x(time(i)), y(v));
      else {
        g.moveTo(x(time(i)), y(v));
        g.lineTo(x(time(i)) + 1, y(v));
      }
      before = i;
    }
    g.stroke();
  }
}

/* A canvas of the size it is shown in, ready to be drawn on; null while it is not shown. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (!w || !h) return null;
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  const g = canvas.getContext("2d"), style = getComputedStyle(canvas);
  g.scale(ratio, ratio);
  return { g, w, h, color: (name) => style.getPropertyValue(name).trim() };
}

/* A line with what is below it, without axes: the mean of each pixel. */
function spark(canvas, values, top, gap) {
  const p = prepare(canvas);
  if (!p) return;
  const { g, w, h } = p, n = values.length, points = [];
  const skip = Math.max(1, Math.ceil(n / w));
  for (let i = 0; i < n; i += skip) {
    let sum = 0, there = 0;
    for (let k = i; k < i + skip && k < n; k++) {
      if (values[k] === null || values[k] === undefined) continue;
      sum += values[k];
      there++;
    }
    if (there) points.push([i, n > skip ? i / (n - skip) * w : w, h - 1.5 - Math.min(1, sum / there / top) * (h - 3)]);
  }
  const runs = [];
  for (const q of points) {
    const run = runs[runs.length - 1];
    if (run && q[0] - run[run.length - 1][0] <= Math.max(gap, skip)) run.push(q);
    else runs.push([q]);
  }
  g.strokeStyle = g.fillStyle = p.color("--c0");
  g.lineWidth = 1.3;
  for (const run of runs) {
    g.beginPath();
    g.moveTo(run[0][1], h);
    for (const [, x, y] of run) g.lineTo(x, y);
    g.lineTo(run[run.length - 1][1], h);
    g.globalAlpha = 0.2;
    g.fill();
    g.globalAlpha = 1;
    g.beginPath();
    for (const [, x, y] of run) g.lineTo(x, y);
    g.stroke();
  }
}

/* A word in its part of a band, or its letter where there is no room for it. */
function nameStretch(p, [left, right], words) {
  const from = Math.max(left, 0), room = Math.min(right, p.w) - from - 6;
  const text = words.find((word) => p.g.measureText(word).width <= room);
  if (!text) return;
  p.g.lineWidth = 3;
  p.g.lineJoin = "round";
  p.g.strokeStyle = p.color("--card");
  p.g.fillStyle = p.color("--ink");
  p.g.strokeText(text, from + 3, p.h - 5);
  p.g.fillText(text, from + 3, p.h - 5);
}

/* Runs of limiters as a band of colours, between two places counted in cells from the last one. wordsOf: what a part may be called, the longest
   first; without it there are colours alone. */
function strip(canvas, runs, [from, to], wordsOf) {
  const p = prepare(canvas), n = (runs || []).reduce((all, [, k]) => all + k, 0), first = n - from, last = n - to, named = [];
  if (!p || !n) return;
  let at = 0;
  for (const [name, k] of runs) {
    const left = (at - first) / (last - first) * p.w, right = (at + k - first) / (last - first) * p.w, before = named[named.length - 1];
    at += k;
    if (name === null || right < 0 || left > p.w) continue;
    p.g.fillStyle = p.color(`--side-${sideOf(name)}`);
    p.g.fillRect(left, 0, Math.max(0.6, right - left), p.h);
    if (before && before[0] === name && left - before[2] < 0.5) before[2] = right;
    else named.push([name, left, right]);
  }
  if (!wordsOf) return;
  p.g.font = "11px system-ui, sans-serif";
  for (const [name, left, right] of named) {
    p.g.fillStyle = p.color("--card");
    p.g.fillRect(left, 0, 1, p.h);
    nameStretch(p, [left, right], wordsOf(name));
  }
}
