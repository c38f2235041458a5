"use strict";
/* The page of `assay serve`. Text from outside is only ever put into text nodes. Paths are relative, so that it works behind a prefix. */
const SPAN = 3600;
const VIEWS = [["fleet", "GPUs"], ["jobs", "Jobs"], ["host", "Host"], ["findings", "Problems"], ["recordings", "Recordings"]];
const app = { now: null, at: 0, source: null, retry: 1000, span: SPAN, zoom: null, history: {}, charts: [], stop: null, sparks: {}, hosts: [] };

/* --- making elements ------------------------------------------------------------------------- */

function h(tag, attrs, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v !== null && v !== undefined) e.setAttribute(k, v);
  }
  for (const c of children.flat(3)) if (c !== null && c !== undefined) e.append(c instanceof Node ? c : document.createTextNode(String(c)));
  return e;
}

/* What is null is left out; texts are nodes. */
const nodes = (list) => list.flat(4).filter((c) => there(c) && c !== "").map((c) => (c instanceof Node ? c : document.createTextNode(String(c))));

/* The children of an element. */
function fill(e, ...children) {
  e.replaceChildren(...nodes(children));
}

/* The same several times a second: elements that are there stay and get new texts and attributes, so that a press of a button ends on what it began on, and focus and selection
   last. For what has no listeners of its own. */
function renew(e, ...children) {
  const before = [...e.childNodes], after = nodes(children);
  after.forEach((n, i) => {
    const o = before[i];
    if (!o) e.append(n);
    else if (o.nodeName !== n.nodeName) o.replaceWith(n);
    else if (n.nodeType !== Node.ELEMENT_NODE) {
      if (o.data !== n.data) o.data = n.data;
    } else {
      renewAttributes(o, n);
      if (!n.matches(".spark, .strip")) renew(o, [...n.childNodes]); /* what is drawn there stays until it is drawn again */
    }
  });
  before.slice(after.length).forEach((o) => o.remove());
}

/* Those that scripts set stay: widths of bars. */
function renewAttributes(o, n) {
  for (const a of n.attributes) if (o.getAttribute(a.name) !== a.value) o.setAttribute(a.name, a.value);
  for (const a of [...o.attributes]) if (!n.hasAttribute(a.name) && a.name !== "style") o.removeAttribute(a.name);
}

function table(caption, heads, rows) {
  const name = (x) => x.replace(/^[#~]/, "");
  const cell = (tag, v, head) => h(tag, { class: head.startsWith("#") ? "n" : head.startsWith("~") ? "long" : null, scope: tag === "th" ? "col" : null, "data-head": tag === "td" ? name(head) : null }, v);
  return h("div", { class: "scroll" }, h("table", { "aria-label": caption },
    h("thead", {}, h("tr", {}, heads.map((x) => cell("th", name(x), x)))),
    h("tbody", {}, rows.map((r) => h("tr", {}, r.map((v, i) => cell("td", v, heads[i])))))));
}

/* --- numbers ---------------------------------------------------------------------------------- */

const there = (v) => v !== null && v !== undefined;
const percent = (v) => (there(v) ? `${(v * 100).toFixed(0)} %` : "--");
const number = (v, digits, unit) => (there(v) ? `${v.toFixed(digits)} ${unit}`.trim() : "--");
function scaled(v, unit, base = 1000) {
  if (!there(v)) return "--";
  const names = base === 1024 ? ["", "Ki", "Mi", "Gi", "Ti"] : ["", "k", "M", "G", "T"];
  let k = 0;
  while (Math.abs(v) >= base && k < 4) {
    v /= base;
    k++;
  }
  return `${v.toFixed(v < 10 && (k || v % 1) ? 1 : 0)} ${names[k]}${unit}`;
}
const duration = (s) => (!there(s) ? "--" : s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`);
const two = (n) => String(n).padStart(2, "0");
function clock(t) {
  const d = new Date(t * 1000);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
const timeOfDay = (t) => clock(t).slice(11);

/* --- the stream -------------------------------------------------------------------------------- */

/* Who cannot see it is told when the text changes, not each second. */
function state(text, bad, time) {
  const e = document.getElementById("state"), [news, at] = e.children;
  if (news.textContent !== text) news.textContent = text;
  at.textContent = time || "";
  e.className = bad ? "bad" : "";
}

function connect() {
  clearTimeout(app.again);
  if (app.source) app.source.close();
  const source = new EventSource("api/v1/events");
  app.source = source;
  app.opened = performance.now();
  source.onmessage = (e) => {
    app.retry = 1000;
    app.at = performance.now();
    take(JSON.parse(e.data));
  };
  source.onerror = () => {
    if (source !== app.source) return;
    source.close();
    state("connection lost, trying again", true);
    app.again = setTimeout(check, app.retry);
    app.retry = Math.min(app.retry * 2, 15000);
  };
}

/* A stream does not say why it ended; a plain request does. */
async function check() {
  try {
    const answer = await fetch("api/v1/events", { method: "HEAD" });
    if (answer.status === 401) return askToken();
    if (answer.status === 503) {
      state("too many pages are open, trying again", true);
      app.again = setTimeout(check, app.retry);
      return;
    }
  } catch (e) {
    /* the server is not there: connect tells */
  }
  connect();
}

/* A laptop that slept has a stream that looks open and is dead. */
setInterval(() => {
  const quiet = performance.now() - Math.max(app.at, app.opened || 0);
  if (app.source && app.source.readyState !== 2 && quiet > 15000) connect();
  else if (app.now && performance.now() - app.at > 5000) state("no news for", true, duration((performance.now() - app.at) / 1000));
}, 1000);

async function load(path) {
  const answer = await fetch(path);
  if (answer.status === 401) askToken();
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function askToken() {
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const note = h("p", { role: "alert", class: "CRIT" });
  const send = async (e) => {
    e.preventDefault();
    const answer = await fetch("api/v1/login", { headers: { Authorization: `Bearer ${input.value}` } });
    if (answer.status !== 204) note.textContent = "this is not the token";
    else {
      render();
      connect();
    }
  };
  app.stop = null;
  document.getElementById("main").replaceChildren(h("form", { class: "card", onsubmit: send }, h("h2", {}, "Token"),
    h("p", {}, h("label", { for: "token" }, "This server wants the token of its --auth-token-file: "), input, " ", h("button", {}, "Show")), note));
  state("a token is needed", true);
  input.focus();
}

/* Further apart than three samples is a gap. */
const gap = () => 3 * Math.max(1, app.interval || 1);

function take(now) {
  const passed = app.now ? now.time - app.now.time : 0;
  if (passed > 0 && passed < 600) app.interval = app.interval ? 0.8 * app.interval + 0.2 * passed : passed;
  app.now = now;
  const s = now.status;
  if (s.ended) state("the recording has ended", false, timeOfDay(now.time));
  else if (!s.up) state(s.error ? s.error : "no source delivers", true);
  else state([hostName(), now.gpus.length ? now.gpus[0].source : s.source].filter((t) => t).join(", ") + (s.capture ? " (a recording)" : ""), false, timeOfDay(now.time));
  nameTab();
  for (const gpu of now.gpus) append(gpu, now.time);
  keepHost(now);
  if (app.update) app.update();
}

/* --- history ----------------------------------------------------------------------------------- */

async function fetchHistory(gpu, span) {
  const got = await load(`api/v1/history?gpu=${encodeURIComponent(gpu)}&span=${span}`);
  got.last = Math.floor(got.end / got.step);
  app.history[`${gpu} ${span}`] = got;
  return got;
}

/* Puts the newest values behind those that were fetched; the length stays. Time goes on for a GPU that is lost, too. */
function append(gpu, time) {
  for (const span of [SPAN, 86400]) {
    const past = app.history[`${gpu.name} ${span}`];
    if (!past) continue;
    const t = Math.floor(time / past.step), by = t - past.last;
    if (by < 0 || by > 3600) continue;
    for (const [name, s] of Object.entries(past.series)) {
      for (const list of [s.mean, s.least, s.most]) {
        if (!list) continue;
        for (let i = 0; i < by; i++) {
          list.push(null);
          list.shift();
        }
        if (gpu.up && (by > 0 || list[list.length - 1] === null || past.step === 1)) list[list.length - 1] = gpu.metrics[name];
      }
    }
    lengthen(past, by, gpu.up ? gpu.limiter : null);
    past.last = t;
    past.end = time;
  }
}

/* The same of the runs of limiters. */
function lengthen(past, by, limiter) {
  const runs = past.limiters;
  if (!runs || !by) return;
  const last = runs[runs.length - 1];
  if (last && last[0] === limiter) last[1] += by;
  else runs.push([limiter, by]);
  for (let left = by; left > 0 && runs.length;) {
    const cut = Math.min(left, runs[0][1]);
    runs[0][1] -= cut;
    left -= cut;
    if (!runs[0][1]) runs.shift();
  }
}

/* The level of the whole machine; a recording may have only others. */
const machineOf = (host) => host && host.levels && (host.levels.find((l) => l.level === "system") || host.levels[0]);

/* Some minutes of the machine's own figures: the server keeps those of GPUs alone. */
function keepHost(now) {
  const f = now.host && now.host.system && now.host.system.figures, l = machineOf(now.host);
  if (!f || !l) return;
  app.hosts.push({ time: now.time, cpu: l.figures.cpu_share, memory: l.figures.memory_share, read: l.figures.io_read, write: l.figures.io_write, rx: f.net_rx, tx: f.net_tx });
  if (app.hosts.length > 1200) app.hosts.splice(0, app.hosts.length - 1200);
}

/* --- where we are -------------------------------------------------------------------------------- */

/* Tabs of several nodes are told apart by their names. */
const hostName = () => (app.now && app.now.host && app.now.host.name) || "";
function nameTab() {
  const [view, rest] = place(), text = [view === "gpu" ? `GPU ${rest}` : null, hostName(), "assay"].filter((t) => t).join(" - ");
  if (document.title !== text) document.title = text;
}

/* The view, and of what. */
function place() {
  const [view, rest] = (location.hash.slice(1) || "fleet").split("/");
  try {
    return [view, decodeURIComponent(rest || "")];
  } catch (e) {
    return [view, rest];
  }
}

function render() {
  /* A view has an element of its own, so that what it asked for and gets late is not put into the next one. */
  const [view, rest] = place(), root = h("div", {});
  if (app.stop) app.stop();
  app.stop = app.update = null;
  document.getElementById("main").replaceChildren(root);
  document.getElementById("tabs").replaceChildren(...VIEWS.map(([id, text], i) => h("a", { href: `#${id}`, "aria-current": id === view || (view === "gpu" && id === "fleet") || (view === "job" && id === "jobs") ? "page" : null, title: `key ${i + 1}` }, text)));
  nameTab();
  const views = { fleet: viewFleet, jobs: viewJobs, host: viewHost, findings: viewFindings, recordings: viewRecordings };
  if (view === "gpu") viewGpu(root, rest);
  else if (view === "job") viewJob(root, rest);
  else (views[view] || viewFleet)(root);
}

function paint(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("dark").media = name === "dark" ? "all" : "not all";
}

function theme(name) {
  paint(name);
  try {
    localStorage.setItem("assay-theme", name);
  } catch (e) {
    /* a browser that keeps nothing */
  }
  drawCharts();
  if (app.update) app.update();
}

function keys(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT/.test(e.target.tagName)) return;
  const cards = [...document.querySelectorAll("a[data-gpu]")], at = cards.indexOf(document.activeElement);
  if (VIEWS[e.key - 1]) location.hash = VIEWS[e.key - 1][0];
  else if (e.key === "Escape") location.hash = "fleet";
  else if (e.key === "t") document.getElementById("theme").click();
  else if ((e.key === "j" || e.key === "ArrowDown") && cards.length) {
    e.preventDefault();
    cards[Math.min(at + 1, cards.length - 1)].focus();
  } else if ((e.key === "k" || e.key === "ArrowUp") && cards.length) {
    e.preventDefault();
    cards[Math.max(at - 1, 0)].focus();
  }
}

let saved = null;
try {
  saved = localStorage.getItem("assay-theme");
} catch (e) {
  saved = null;
}
paint(saved === "dark" || saved === "light" ? saved : matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
document.getElementById("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
window.addEventListener("hashchange", render);
window.addEventListener("resize", drawCharts);
document.addEventListener("keydown", keys);
document.addEventListener("visibilitychange", () => { if (!document.hidden && performance.now() - app.at > 5000) connect(); });
render();
connect();
