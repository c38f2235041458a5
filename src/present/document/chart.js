"use strict";
/* Charts over time, and what limited each GPU, of any page. The numbers are in #data; names go into the page as text only. */
(() => {
  /* seconds: of the run; seconds_all: of a curve's points; step: between two; gap: no value for longer is none. Names that start with a small letter in charts: id, title, unit, top (of
     the axis), says (for screen readers), limits [[name, value]], curves [{name, dash, mean, min, max}], all (of many), gpus (whether chips choose its curves). */
  const D = { start: 0, many: false, phases: [], events: [], gpus: [], classes: [], limiters: {}, stretches: [], legend: [], ...JSON.parse(document.getElementById("data").textContent) };
  const LEFT = 62, RIGHT = 10, TOP = 24, HIGH = 86, AXIS = 18, make = Sheet.make;
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", MISSING = 4095;
  const place = new Map([...DIGITS].map((c, i) => [c, i]));
  const tip = document.getElementById("tip");
  const charts = [];
  let view = [0, D.seconds], chosen = new Set();

  const html = (name, parent, text) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  };
  /* Two letters a value, in 4094ths of the chart's top; null where nothing was measured. */
  const unpack = (s, top) => {
    const out = new Array(s.length / 2);
    for (let i = 0; i < out.length; i++) {
      const v = place.get(s[2 * i]) * 64 + place.get(s[2 * i + 1]);
      out[i] = v === MISSING ? null : v / 4094 * top;
    }
    return out;
  };
  const number = (v) => (v === null || v === undefined ? "--" : v.toFixed(Math.abs(v) >= 99.95 ? 0 : Math.abs(v) >= 9.995 ? 1 : 2));
  const clock = (t) => {
    const s = Math.floor(t), pad = (n) => String(n).padStart(2, "0");
    if (D.seconds < 180) return `${t.toFixed(1)} s`;
    return D.seconds < 10800 ? `${Math.floor(s / 60)}:${pad(s % 60)} min` : `${Math.floor(s / 3600)}:${pad(Math.floor(s / 60) % 60)} h`;
  };
  const moment = (t) => (D.start ? `  ${new Date((D.start + t) * 1000).toISOString().slice(11, 19)} UTC` : "");
  const phasesAt = (t) => D.phases.filter((p) => p[1] <= t && t <= p[2]).map((p) => p[0]);
  const colour = (i) => `var(--c${i % 8})`;

  /* ---- time ---- */

  const setView = (from, to) => {
    const least = Math.max(D.step * 8, D.seconds / 4000), span = Math.min(Math.max(to - from, least), D.seconds);
    from = Math.min(Math.max((from + to - span) / 2, 0), D.seconds - span);
    view = [from, from + span];
    drawAll();
  };
  const press = (key) => setView(...(Plot.moved(key, view) || [0, D.seconds]));

  /* ---- one picture ---- */

  class Picture extends Plot {
    constructor(box, title, height) {
      super(box);
      this.tall = height;
      this.title = title;
      charts.push(this);
    }
    range() { return view; }
    show(from, to) { setView(from, to); }
    whole() { setView(0, D.seconds); }
    start() {
      this.begin(Math.max(this.box.clientWidth || 960, 320), this.tall, { left: LEFT, right: RIGHT, top: TOP, bottom: AXIS });
      make("text", { class: "name", x: LEFT, y: 15 }, this.svg, this.title);
      const bottom = this.height - AXIS;
      D.phases.forEach((p, i) => {
        const a = this.inside(this.x(p[1])), b = this.inside(this.x(p[2]));
        if (b - a < 0.4) return;
        make("rect", { class: i % 2 ? "band odd" : "band", x: a, y: TOP, width: b - a, height: bottom - TOP }, this.svg);
      });
      this.timeAxis((t) => clock(t).replace(/\.0 s$/, " s"));
      for (const [t] of D.events) {
        const x = this.x(t);
        if (x >= LEFT && x <= this.width - RIGHT) make("line", { class: "event", x1: x, x2: x, y1: TOP, y2: bottom }, this.svg);
      }
    }
    /* Names of phases, each where it has room. */
    names() {
      const ends = [-1, -1, -1];
      for (const p of D.phases) {
        const a = Math.max(this.x(p[1]), LEFT), b = Math.min(this.x(p[2]), this.width - RIGHT), room = Math.floor((b - a - 4) / Sheet.LETTER);
        const line = ends.findIndex((end) => end <= a);
        if (b - a < 24 || line < 0) continue;
        ends[line] = b;
        make("text", { x: a + 3, y: TOP + 11 + 12 * line }, this.svg, p[0].length > room ? `${p[0].slice(0, room - 1)}…` : p[0]);
      }
    }
    pointed(t, e) {
      for (const c of charts) c.showCross(t);
      const inside = phasesAt(t);
      tip.textContent = [`${clock(t)}${moment(t)}${inside.length ? `  ${inside.join(" > ")}` : ""}`, ...this.values(t, e)].join("\n");
      tip.style.display = "block";
      tip.style.left = `${Math.max(4, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
    }
    left() {
      tip.style.display = "none";
      for (const c of charts) c.showCross(null);
    }
  }

  /* ---- curves ---- */

  class Curves extends Picture {
    constructor(box, c) {
      super(box, c.unit ? `${c.title}, ${c.unit}` : c.title, TOP + HIGH + AXIS);
      this.c = c;
      this.curves = c.curves.map((k) => ({ name: k.name, dash: k.dash, mean: unpack(k.mean, c.top), min: k.min && unpack(k.min, c.top), max: k.max && unpack(k.max, c.top) }));
      this.all = c.all && { mean: unpack(c.all.mean, c.top), min: unpack(c.all.min, c.top), max: unpack(c.all.max, c.top) };
    }
    /* Ticks are coarser than buckets at first: a value holds until the next, but not across a gap. */
    at(list, t) {
      const step = D.seconds_all / list.length;
      for (let i = Math.min(Math.floor(t / step), list.length - 1), k = 0; i >= 0 && k <= Math.max(1, D.gap / step); i--, k++) if (list[i] !== null) return list[i];
      return null;
    }
    path(curve, stroke, shade) {
      const n = curve.mean.length, step = D.seconds_all / n, cells = { first: Math.max(0, Math.floor(view[0] / step) - 1), last: Math.min(n - 1, Math.ceil(view[1] / step)),
        at: (i) => (i + 0.5) * step, reach: Math.max(1, D.gap / step) + 1 };
      this.curve(shade ? curve : { mean: curve.mean, dash: curve.dash }, cells, this.c.top, stroke);
    }
    draw() {
      this.start();
      if (charts.find((c) => c instanceof Curves) === this) this.names();
      this.valueAxis(this.c.top, (v) => number(v).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));
      let at = this.width - RIGHT;
      for (const [name, v] of this.c.limits) {
        if (v > this.c.top) continue;
        this.limit(v, this.c.top);
        make("text", { class: "limit-text", x: at, y: 15, "text-anchor": "end" }, this.svg, `${name} ${number(v)}`);
        at -= 110;
      }
      const gpus = this.c.gpus;
      const shown = this.curves.map((k, i) => [k, i]).filter(([, i]) => !gpus || chosen.has(i));
      if (this.all && (shown.length === 0 || D.many)) this.path(this.all, colour(0), true);
      for (const [k, i] of shown) this.path(k, colour(this.all && D.many ? i + 1 : i), shown.length <= 3 && !D.many);
      if (!gpus && this.curves.length > 1) this.curves.forEach((k, i) => { make("text", { x: LEFT + 170 + 60 * i, y: 15 }, this.svg, k.name).style.fill = colour(i); });
      this.end(`${this.title}: ${this.c.says}`);
    }
    values(t) {
      const unit = this.c.unit ? ` ${this.c.unit}` : "", out = [];
      const said = (k) => {
        const mean = this.at(k.mean, t), low = k.min && this.at(k.min, t), high = k.max && this.at(k.max, t);
        if (mean === null) return "--";
        return `${number(mean)}${unit}${k.min && low !== null && high - low > this.c.top / 200 ? `  (${number(low)} to ${number(high)})` : ""}`;
      };
      if (this.all && this.curves.length > 1) {
        out.push(`mean  ${said(this.all)}`);
        const now = this.curves.map((k) => [this.at(k.mean, t), k.name]).filter((v) => v[0] !== null).sort((a, b) => a[0] - b[0]);
        if (now.length && D.many) out.push(`lowest  ${now[0][1]}  ${number(now[0][0])}${unit}`, `highest  ${now[now.length - 1][1]}  ${number(now[now.length - 1][0])}${unit}`);
      }
      this.curves.forEach((k, i) => { if (!this.c.gpus || chosen.has(i)) out.push(`${k.name}  ${said(k)}`); });
      return out.slice(0, 20);
    }
  }

  /* ---- class and limiter ---- */

  /* Hatches tell limiters of one colour apart; the first is none. They stand in the page once. */
  const HATCHES = [null, "M-2 2l4-4M0 8l8-8M6 10l4-4", "M-2 6l4 4M0 0l8 8M6-2l4 4", "M4 0v8", "M0 4h8", "M0 8l8-8M0 0l8 8", "dots", "M4 0v8M0 4h8"];
  const defs = make("defs", {}, document.getElementById("svg"));
  HATCHES.forEach((d, i) => {
    if (!d) return;
    const p = make("pattern", { id: `hatch${i}`, class: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse" }, defs);
    if (d === "dots") make("circle", { cx: 4, cy: 4, r: 1.6 }, p);
    else make("path", { d }, p);
  });
  const hatched = (limiter) => (D.limiters[limiter].hatch % HATCHES.length ? `url(#hatch${D.limiters[limiter].hatch % HATCHES.length})` : null);
  /* Stretches of a GPU, [from, to, limiter], those of one limiter that follow each other as one. */
  const merge = (list) => list.reduce((out, s) => {
    const last = out[out.length - 1];
    if (last && last[2] === s[2] && s[0] - last[1] <= D.step) last[1] = s[1];
    else out.push([...s]);
    return out;
  }, []);
  const limitersOf = (i) => merge(D.stretches.filter((s) => s[2].includes(i)).map((s) => [s[0], s[1], s[3]]));

  /* What limits most of the GPUs, from one change to the next. */
  const limitersOfMost = () => {
    const times = [...new Set(D.stretches.flatMap((s) => [s[0], s[1]]))].sort((a, b) => a - b), out = [];
    const open = new Map(), add = (s, by) => open.set(s[3], (open.get(s[3]) || 0) + by * s[2].length);
    const begins = D.stretches.slice().sort((a, b) => a[0] - b[0]), ends = D.stretches.slice().sort((a, b) => a[1] - b[1]);
    let b = 0, e = 0;
    for (let i = 0; i + 1 < times.length; i++) {
      while (e < ends.length && ends[e][1] <= times[i]) add(ends[e++], -1);
      while (b < begins.length && begins[b][0] <= times[i]) add(begins[b++], 1);
      const most = [...open].sort((x, y) => y[1] - x[1])[0];
      if (most && most[1] > 0) out.push([times[i], times[i + 1], most[0]]);
    }
    return merge(out);
  };

  class Strips extends Picture {
    constructor(box) {
      const n = D.gpus.length, [upper, lower] = n <= 4 ? [15, 19] : n <= 16 ? [6, 15] : [4, 6];
      const first = n > 16 ? 22 : 0; /* a lane of its own for most of them, where theirs have no room for words */
      super(box, "What limited each GPU (lower lane), and its class (upper)", TOP + first + n * (upper + lower + 4) + AXIS);
      Object.assign(this, { upper, lower, first, row: upper + lower + 4, limited: D.gpus.map((_, i) => limitersOf(i)), most: first ? limitersOfMost() : [] });
    }
    word(at, y, height, text) {
      if (height >= 13 && Sheet.fits(at, text)) this.words.push([(at[0] + at[1]) / 2, y + height / 2 + 4, text]);
    }
    limiters(list, y, height) {
      for (const [a, b, name] of list) {
        const l = D.limiters[name], at = this.part(`var(--side-${l.side})`, a, b, y, height), hatch = hatched(name);
        if (hatch) this.part(hatch, a, b, y, height);
        this.word(at, y, height, l.brief);
      }
    }
    draw() {
      this.start();
      this.words = [];
      if (this.first) {
        make("text", { x: LEFT - 6, y: TOP + 13, "text-anchor": "end" }, this.svg, "most GPUs");
        this.limiters(this.most, TOP, 18);
      }
      D.gpus.forEach((g, i) => {
        const y = TOP + this.first + i * this.row;
        if (!this.first || i % 8 === 0) make("text", { x: LEFT - 6, y: y + (this.row > 20 ? this.row / 2 + 2 : 9), "text-anchor": "end" }, this.svg, g.name);
        for (const [a, b, k] of g.classes) this.word(this.part(`var(--side-${D.classes[k][1]})`, a, b, y, this.upper), y, this.upper, D.classes[k][0]);
        this.limiters(this.limited[i], y + this.upper, this.lower);
      });
      this.fillLanes();
      for (const [x, y, text] of this.words) make("text", { class: "word", x, y, "text-anchor": "middle" }, this.svg, text);
      this.end("What limited each GPU over time, and its workload class; the tables below have the same in words");
    }
    values(t, e) {
      const b = this.box.getBoundingClientRect(), y = (e.clientY - b.top) / b.height * this.height;
      const i = Math.min(Math.max(Math.floor((y - TOP - this.first) / this.row), 0), D.gpus.length - 1), g = D.gpus[i];
      const k = g.classes.find((c) => c[0] <= t && t < c[1]), s = D.stretches.find((c) => c[0] <= t && t < c[1] && c[2].includes(i));
      return [`${g.name}`, `class  ${k ? D.classes[k[2]][0] : "--"}`, `limiter  ${s ? D.limiters[s[3]].words + (s[4] ? `, clocks held by ${s[4]}` : "") : "--"}`];
    }
  }

  /* ---- the page ---- */

  /* What is folded has no width: it is drawn when it is opened. */
  const drawAll = () => charts.forEach((c) => { if (c.box.clientWidth || !c.svg) c.draw(); });
  const bar = document.getElementById("bar"), chips = document.getElementById("chips");
  for (const [text, label, key] of [["+", "zoom in", "+"], ["−", "zoom out", "-"], ["←", "earlier", "ArrowLeft"], ["→", "later", "ArrowRight"], ["whole run", "whole run", "0"]]) {
    const b = html("button", bar, text);
    b.type = "button";
    b.setAttribute("aria-label", label);
    b.addEventListener("click", () => press(key));
  }
  if (bar) html("span", bar, "Drag to zoom, shift and drag to move, double-click for the whole run.").className = "note";
  if (D.gpus.length > 1 && chips) {
    if (!D.many) D.gpus.forEach((_, i) => chosen.add(i));
    D.gpus.forEach((g, i) => {
      const b = html("button", chips, g.name);
      b.type = "button";
      b.setAttribute("aria-pressed", String(chosen.has(i)));
      b.style.borderLeft = `8px ${D.charts.some((c) => c.gpus && c.curves[i] && c.curves[i].dash) ? "double" : "solid"} ${colour(D.many ? i + 1 : i)}`;
      b.addEventListener("click", () => {
        if (!chosen.delete(i)) chosen.add(i);
        b.setAttribute("aria-pressed", String(chosen.has(i)));
        drawAll();
      });
    });
  } else {
    chosen.add(0);
  }
  for (const box of document.querySelectorAll(".chart")) {
    const c = D.charts.find((one) => one.id === box.dataset.m);
    if (c) new Curves(box, c);
    else if (box.dataset.m === "strips") new Strips(box);
  }
  /* Each finding with the colour and hatch of its limiter and its share of the run; then the classes. */
  const legend = document.getElementById("legend");
  if (legend) {
    if (D.legend.length) html("span", legend, "Limiters, of the run:").className = "soft";
    for (const [name, brief, share, words] of D.legend) {
      const entry = html("span", legend), key = make("svg", { viewBox: "0 0 16 8", "aria-hidden": "true" }, entry);
      make("rect", { width: 16, height: 8, fill: `var(--side-${D.limiters[name].side})` }, key);
      if (hatched(name)) make("rect", { width: 16, height: 8, fill: hatched(name) }, key);
      entry.title = words;
      html("span", entry, `${brief} ${share}`);
    }
    if (D.legend.length) html("span", legend, "Classes:").className = "soft";
    D.classes.forEach(([name, side], k) => {
      if (!D.gpus.some((g) => g.classes.some((c) => c[2] === k))) return;
      const entry = html("span", legend);
      html("i", entry).className = `side-${side}`;
      html("span", entry, name);
    });
  }
  drawAll();
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; drawAll(); } });
  for (const d of document.querySelectorAll("details")) d.addEventListener("toggle", drawAll);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
