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

/* A small picture without axes, as large as its box; ends where the box does. */
class Small extends Sheet {
  constructor(box, range, margin) {
    super(box);
    this.range = () => range;
    this.begin(box.clientWidth, box.clientHeight, { left: 0, right: 0, top: margin, bottom: margin });
    box.replaceChildren(this.svg);
  }
}

/* A line with what is below it: the mean of each pixel. */
function spark(box, values, top, gap) {
  const skip = Math.max(1, Math.ceil(values.length / Math.max(1, box.clientWidth))), mean = [];
  if (!box.clientWidth) return;
  for (let i = 0; i < values.length; i += skip) {
    const known = values.slice(i, i + skip).filter(there);
    mean.push(known.length ? known.reduce((sum, v) => sum + v, 0) / known.length : null);
  }
  const cells = { first: 0, last: mean.length - 1, at: (i) => i, reach: Math.max(gap / skip, 1) };
  new Small(box, [0, mean.length - 1], 1.5).curve({ mean, min: mean.map(() => 0), max: mean }, cells, top, "var(--c0)");
}

/* Runs of limiters as a band of colours, between two places counted in cells from the last one. wordsOf: what a part may be called, the longest
   first; without it there are colours alone. */
function strip(box, runs, [from, to], wordsOf) {
  const n = (runs || []).reduce((all, [, k]) => all + k, 0), named = [];
  if (!n || !box.clientWidth) return;
  const band = new Small(box, [n - from, n - to], 0);
  let at = 0;
  for (const [name, k] of runs) {
    const place = [at, at + k], before = named[named.length - 1];
    at += k;
    if (name === null || place[1] < n - from || place[0] > n - to) continue;
    if (before && before[0] === name && before[1][1] === place[0]) before[1][1] = place[1];
    else named.push([name, place]);
  }
  const places = named.map(([name, [a, b]]) => band.part(`var(--side-${sideOf(name)})`, a, b, 0, band.height));
  band.fillLanes();
  if (!wordsOf) return;
  const wide = places.filter(([left, right]) => right - left > 3).map(([left]) => `M${left.toFixed(1)} 0h1v${band.height}h-1Z`).join("");
  Sheet.make("path", { class: "between", d: wide }, band.svg);
  places.forEach((place, i) => {
    const text = wordsOf(named[i][0]).find((word) => Sheet.fits(place, word));
    if (text) Sheet.make("text", { class: "word", x: place[0] + 3, y: band.height - 5 }, band.svg, text);
  });
}
