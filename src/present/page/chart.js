"use strict";
/* A chart of a GPU's past. What it draws with is that of all pages: plot.js. */
class Chart extends Plot {
  /* options: format (of a value), top (of the axis, else a round number above all), base (1000 or 1024), gap(), onzoom(range or null), onpoint(time or null) */
  constructor(box, options) {
    super(box);
    this.options = options;
    this.series = [];
    this.view = null; /* [from, to] while zoomed */
    this.known = -Infinity; /* nothing is known before */
    this.pointer = null;
  }

  /* series: [{name, mean, min, max}]; min and max may be missing. Times are seconds. */
  set(end, step, series) {
    this.until_s = end;
    this.step = step;
    this.series = series;
    this.draw();
  }

  range() {
    const n = Math.max(1, ...this.series.map((s) => s.mean.length));
    return this.view || [Math.max(this.until_s - (n - 1) * this.step, this.known), this.until_s];
  }
  show(from, to) { this.options.onzoom([from, to]); }
  whole() { this.options.onzoom(null); }
  pointed(t) { this.options.onpoint(t); }
  left() { this.options.onpoint(null); }

  /* All charts show the same moment. */
  point(t) {
    this.pointer = t;
    if (this.svg) this.showCross(t);
  }

  /* The place of a time in the values. */
  index(t) {
    const n = this.series.length ? this.series[0].mean.length : 0;
    return n - 1 - Math.round((this.until_s - t) / this.step);
  }

  at(t) {
    const i = this.index(t);
    return this.series.map((s) => (i >= 0 && i < s.mean.length ? s.mean[i] : null));
  }

  top() {
    if (this.options.top) return this.options.top;
    let most = 0;
    const [from, to] = this.range(), first = Math.max(0, this.index(from)), last = this.index(to);
    for (const s of this.series) {
      const list = s.max || s.mean;
      for (let i = first; i <= last && i < list.length; i++) if (list[i] !== null && list[i] > most) most = list[i];
    }
    if (most <= 0) return 1;
    /* A round number of the unit that it is written in. */
    const base = this.options.base || 1000, unit = Math.pow(base, Math.max(0, Math.floor(Math.log(most) / Math.log(base))));
    const power = Math.pow(10, Math.floor(Math.log10(most / unit))) * unit;
    return Math.ceil(most / power * 2) / 2 * power;
  }

  draw() {
    if (!this.box.clientWidth) return;
    const [from, to] = this.range(), top = this.top();
    this.begin(this.box.clientWidth, 150, { left: 58, right: 6, top: 8, bottom: 18 });
    this.timeAxis((t, step) => timeOfDay(t).slice(0, step < 60 ? 8 : 5));
    this.valueAxis(top, this.options.format);
    if (this.ceiling && this.ceiling <= top) this.limit(this.ceiling, top);
    this.series.forEach((s, k) => {
      const n = s.mean.length, first = Math.max(0, this.index(from) - 1), last = Math.min(n - 1, this.index(to) + 1);
      const skip = Math.max(1, Math.floor((last - first) / (2 * this.width)));
      /* Samples may be further apart than cells; what is further apart than samples is a gap. */
      this.curve(s, { first, last, skip, at: (i) => this.until_s - (n - 1 - i) * this.step, reach: Math.max(this.options.gap() / this.step, 1.5 * skip) }, top, `var(--c${k % 5})`);
    });
    this.end();
    this.showCross(this.pointer);
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
