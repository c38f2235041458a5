"use strict";
/* The page of `assay serve`. Text from outside is only ever put into text nodes. Paths are relative, so that it works behind a prefix. */
const SPAN = 3600;
const VIEWS = [["fleet", "GPUs"], ["jobs", "Jobs"], ["host", "Host"], ["findings", "Findings"], ["recordings", "Recordings"]];
const app = { now: null, at: 0, source: null, retry: 1000, span: SPAN, zoom: null, history: {}, charts: [], stop: null, sparks: {} };

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

/* The children of an element; what is null is left out. */
function fill(e, ...children) {
  e.replaceChildren(...children.flat(4).filter((c) => c !== null && c !== undefined && c !== ""));
}

function table(caption, heads, rows) {
  const cell = (tag, v, head) => h(tag, { class: head.startsWith("#") ? "n" : head.startsWith("~") ? "long" : null, scope: tag === "th" ? "col" : null }, v);
  return h("div", { class: "wrap" }, h("table", { "aria-label": caption },
    h("thead", {}, h("tr", {}, heads.map((x) => cell("th", x.replace(/^[#~]/, ""), x)))),
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
  return `${v.toFixed(v < 10 && k ? 1 : 0)} ${names[k]}${unit}`;
}
const duration = (s) => (!there(s) ? "--" : s < 120 ? `${s.toFixed(0)} s` : s < 7200 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`);
const clock = (t) => new Date(t * 1000).toLocaleString();

/* --- the stream -------------------------------------------------------------------------------- */

function state(text, bad) {
  const e = document.getElementById("state");
  if (e.textContent !== text) e.textContent = text;
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
    const answer = await fetch("api/v1/findings");
    if (answer.status === 401) return askToken();
  } catch (e) {
    /* the server is not there: connect tells */
  }
  connect();
}

/* A laptop that slept has a stream that looks open and is dead. */
setInterval(() => {
  const quiet = performance.now() - Math.max(app.at, app.opened || 0);
  if (app.source && app.source.readyState !== 2 && quiet > 15000) connect();
  else if (app.now && performance.now() - app.at > 5000) state(`no news for ${duration((performance.now() - app.at) / 1000)}`, true);
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
  if (!s.up) state(s.error ? s.error : "no source delivers", true);
  else state(`${s.source}${s.capture ? " (a recording)" : ""}, ${new Date(now.time * 1000).toLocaleTimeString()}`, false);
  for (const gpu of now.gpus) append(gpu);
  if (app.update) app.update();
}

/* --- history ----------------------------------------------------------------------------------- */

async function fetchHistory(gpu, span) {
  const got = await load(`api/v1/history?gpu=${encodeURIComponent(gpu)}&span=${span}`);
  got.last = Math.floor(got.end / got.step);
  app.history[`${gpu} ${span}`] = got;
  return got;
}

/* Puts the newest values behind those that were fetched; the length stays. */
function append(gpu) {
  for (const span of [SPAN, 86400]) {
    const past = app.history[`${gpu.gpu} ${span}`];
    if (!past || !gpu.up) continue;
    const t = Math.floor(gpu.time / past.step), by = t - past.last;
    if (by < 0 || by > 3600) continue;
    for (const [name, s] of Object.entries(past.series)) {
      for (const list of [s.mean, s.least, s.most]) {
        if (!list) continue;
        for (let i = 0; i < by; i++) {
          list.push(null);
          list.shift();
        }
        if (by > 0 || list[list.length - 1] === null || past.step === 1) list[list.length - 1] = gpu.metrics[name];
      }
    }
    past.last = t;
    past.end = gpu.time;
  }
}

/* --- views ------------------------------------------------------------------------------------- */

const ownersOf = (gpu) => app.now.owners.filter((o) => o.index === gpu.index && (o.gi < 0 ? !there(gpu.gi) : o.gi === gpu.gi));
function ownerName(o) {
  if (o.kind === "slurm") return `job ${o.job}${o.user ? ` (${o.user})` : ""}`;
  if (o.kind === "kubernetes") return `${o.namespace}/${o.pod}`;
  return o.user || "somebody";
}
const limiterOf = (gpu) => (gpu.up && gpu.limiter && !["unknown", "idle"].includes(gpu.limiter) ? gpu.limiter : null);

function bar(share, label) {
  return h("div", { class: "bar", role: "img", "aria-label": label }, h("span", { style: null, "data-share": there(share) ? Math.min(1, Math.max(0, share)) : 0 }));
}
/* Widths are set by script: the page allows no styles in its text. */
function layBars(root) {
  for (const e of root.querySelectorAll("[data-share]")) e.style.width = `${e.dataset.share * 100}%`;
}

function gpuCard(gpu) {
  const m = gpu.metrics, real = there(m.real_util) ? m.real_util / 100 : null, owners = ownersOf(gpu).map(ownerName);
  const canvas = h("canvas", { class: "spark", "aria-hidden": "true" });
  app.sparks[gpu.gpu] = canvas;
  return h("a", { class: `card${gpu.up ? "" : " down"}`, href: `#gpu/${encodeURIComponent(gpu.gpu)}`, "data-gpu": gpu.gpu },
    h("div", { class: "row" }, h("strong", {}, `GPU ${gpu.gpu}`), h("span", { class: "soft small" }, gpu.identity.model || ""),
      h("span", { class: gpu.health.state }, gpu.up ? gpu.health.state : "does not answer")),
    h("div", { class: "row" }, h("span", { class: "big" }, there(real) ? `${(real * 100).toFixed(0)} %` : "--"), h("span", {}, gpu.up ? gpu.verdict.class : "")),
    bar(real, `Real Utilization ${percent(real)}`),
    h("div", { class: "row small" }, h("span", {}, `SM ${percent(m.sm_active)}`), h("span", {}, `tensor ${percent(m.tensor_active)}`), h("span", {}, `DRAM ${percent(m.dram_active)}`),
      h("span", { class: "soft" }, `util ${percent(m.gpu_util)}`)),
    h("div", { class: "row small" }, h("span", {}, `${scaled(m.fb_used, "B", 1024)} of ${scaled(m.fb_total, "B", 1024)}`),
      h("span", {}, `${number(m.power, 0, "W")}${there(m.power_limit) ? ` of ${m.power_limit.toFixed(0)}` : ""}`), h("span", {}, number(m.gpu_temp, 0, "°C"))),
    limiterOf(gpu) ? h("div", { class: "small" }, `limited by ${limiterOf(gpu)}`) : null,
    h("div", { class: "soft small" }, owners.length ? owners.join(", ") : "nobody holds it"), canvas);
}

function viewFleet(root) {
  const draw = () => {
    if (!app.now) return;
    const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.gpu : null;
    app.sparks = {};
    const cards = app.now.gpus.map(gpuCard);
    fill(root, h("h2", {}, `${app.now.gpus.length} GPU${app.now.gpus.length === 1 ? "" : "s"}`), h("div", { class: "grid" }, cards),
      app.now.gpus.length ? null : h("p", {}, app.now.status.error || "No GPU was found yet."));
    layBars(root);
    if (focused !== null) root.querySelector(`[data-gpu="${CSS.escape(focused)}"]`)?.focus();
    for (const gpu of app.now.gpus) {
      const past = app.history[`${gpu.gpu} ${SPAN}`];
      if (past) spark(app.sparks[gpu.gpu], (past.series.real_util || past.series.gpu_util || { mean: [] }).mean, past.series.real_util ? 100 : 1, gap());
      else if (past === undefined) {
        app.history[`${gpu.gpu} ${SPAN}`] = null;
        fetchHistory(gpu.gpu, SPAN).catch(() => {});
      }
    }
  };
  app.update = draw;
  draw();
}

const PANELS = [
  { title: "Activity", names: ["real_util", "sm_active", "tensor_active", "dram_active", "gpu_util"], top: 1, format: (v) => `${(v * 100).toFixed(0)} %`, map: { real_util: 0.01 } },
  { title: "Power", names: ["power"], format: (v) => `${v.toFixed(0)} W` },
  { title: "Memory in use", names: ["fb_used"], format: (v) => scaled(v, "B", 1024) },
  { title: "Temperature", names: ["gpu_temp", "mem_temp"], format: (v) => `${v.toFixed(0)} °C` },
  { title: "SM clock", names: ["sm_clock"], format: (v) => scaled(v, "Hz") },
  { title: "PCIe", names: ["pcie_rx", "pcie_tx"], format: (v) => scaled(v, "B/s") },
  { title: "NVLink", names: ["nvlink_total"], format: (v) => scaled(v, "B/s") },
];

function panel(p) {
  const canvas = h("canvas", {}), legend = h("div", { class: "legend" });
  const chart = new Chart(canvas, { top: p.top, format: p.format, gap, onzoom: (view) => { app.zoom = view; drawCharts(); }, onpoint: (t) => pointAll(t) });
  const card = h("section", { class: "card", "aria-label": p.title }, h("h3", {}, p.title), canvas, legend);
  return { p, chart, legend, card };
}

function pointAll(t) {
  for (const c of app.charts) {
    c.chart.pointer = t;
    c.chart.draw();
    writeLegend(c, t);
  }
}

function writeLegend(c, t) {
  const values = t === null ? c.chart.series.map((s) => s.values[s.values.length - 1]) : c.chart.at(t);
  c.legend.replaceChildren(...c.chart.series.map((s, k) => h("span", { class: `k${k % 5}` }, `${s.name.replace(/_/g, " ")} ${there(values[k]) ? c.p.format(values[k]) : "--"}`)),
    t === null ? "" : h("span", { class: "soft" }, clock(t)));
}

function drawCharts() {
  const past = app.history[`${app.gpu} ${app.span}`];
  if (!past) return;
  for (const c of app.charts) {
    const names = c.p.names.filter((n) => past.series[n]);
    const scale = (list, n) => (list && c.p.map && c.p.map[n] ? list.map((v) => (v === null ? null : v * c.p.map[n])) : list);
    c.card.hidden = names.length === 0;
    c.chart.view = app.zoom;
    c.chart.set(past.end, past.step, names.map((n) => ({ name: n, values: scale(past.series[n].mean, n), low: scale(past.series[n].least, n), high: scale(past.series[n].most, n) })));
    c.chart.canvas.setAttribute("aria-label", `${c.p.title} of GPU ${app.gpu} over ${duration(app.span)}: ${names.map((n) => {
      const list = past.series[n].mean.filter(there);
      return list.length ? `${n} now ${c.p.format(list[list.length - 1] * ((c.p.map && c.p.map[n]) || 1))}` : n;
    }).join(", ")}`);
    if (c.chart.pointer === null) writeLegend(c, null);
  }
}

/* What the GPU is measured by, as bars. */
function ceilings(gpu) {
  const list = Object.entries(gpu.ceilings || {}).filter(([, v]) => typeof v === "number");
  if (!list.length) return null;
  return [h("h3", {}, "Ceilings"), h("div", { class: "ceilings" }, list.map(([k, v]) => {
    const text = v <= 1.5 ? percent(v) : v.toFixed(2);
    return h("div", {}, h("div", { class: "row small" }, h("span", {}, k.replace(/_/g, " ")), h("span", {}, text)), bar(v, `${k} ${text}`));
  }))];
}

function viewGpu(root, label) {
  app.gpu = label;
  app.zoom = null;
  const head = h("div", { class: "card" }), people = h("div", {}), grid = h("div", { class: "grid" });
  app.charts = PANELS.map(panel);
  grid.append(...app.charts.map((c) => c.card));
  const spans = [[600, "10 min"], [SPAN, "1 h"], [86400, "24 h"]];
  const buttons = spans.map(([s, text]) => h("button", { type: "button", onclick: () => {
    app.span = s === 86400 ? 86400 : SPAN;
    app.zoom = s === 600 && app.now ? [app.now.time - 600, app.now.time] : null;
    press(s);
    show();
  } }, text));
  const press = (s) => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(spans[i][0] === s)));
  const back = h("button", { type: "button", onclick: () => { app.zoom = null; drawCharts(); } }, "All of it");
  fill(root, h("p", {}, h("a", { href: "#fleet" }, "All GPUs")), head, h("div", { class: "tools" }, buttons, back, h("span", { class: "soft small" }, "drag to zoom; + − ← → 0 on a chart")), grid, people);
  press(app.span);
  const show = () => fetchHistory(label, app.span).then(drawCharts).catch(() => {});
  const describe = () => {
    const gpu = app.now && app.now.gpus.find((g) => g.gpu === label);
    if (!gpu) return;
    const m = gpu.metrics;
    fill(head, h("div", { class: "row" }, h("h2", {}, `GPU ${gpu.gpu} ${gpu.identity.model || ""}`), h("span", { class: gpu.health.state }, gpu.up ? gpu.health.state : "does not answer")),
      h("p", {}, h("strong", {}, gpu.verdict.class), h("span", { class: "soft" }, gpu.why.startsWith(gpu.verdict.class) ? gpu.why.slice(gpu.verdict.class.length) : ` ${gpu.why}`)),
      limiterOf(gpu) ? h("p", {}, `Limited by ${limiterOf(gpu)}${gpu.held_by ? `, clocks held down by ${gpu.held_by}` : ""}.`) : null,
      gpu.health_text ? h("p", { class: gpu.health.state }, gpu.health_text) : null,
      h("dl", { class: "facts" }, [["Real Utilization", there(m.real_util) ? `${m.real_util.toFixed(0)} %` : "--"], ["SM, tensor, DRAM", `${percent(m.sm_active)}, ${percent(m.tensor_active)}, ${percent(m.dram_active)}`],
        ["Memory", `${scaled(m.fb_used, "B", 1024)} of ${scaled(m.fb_total, "B", 1024)}`], ["Power", `${number(m.power, 0, "W")}${there(m.power_limit) ? ` of ${m.power_limit.toFixed(0)} W` : ""}`],
        ["UUID", gpu.identity.uuid || "--"], ["PCI", gpu.identity.pci || "--"], ["Driver", gpu.identity.driver || "--"]].map(([a, b]) => h("div", {}, h("dt", {}, a), h("dd", {}, b)))));
    fill(people, ceilings(gpu), h("h3", {}, "Who holds it"), ownersOf(gpu).length ? table("Owners", ["kind", "name", "#processes", "#GPU memory"],
      ownersOf(gpu).map((o) => [o.kind, ownerName(o), o.processes, scaled(o.gpu_memory, "B", 1024)])) : h("p", { class: "soft" }, "Nobody."), app.processes || "");
    layBars(people);
    drawCharts();
  };
  const processes = async () => {
    const got = await load("api/v1/processes");
    const mine = got.processes.filter((p) => p.gpu === label || p.gpu.startsWith(`${label}/`));
    app.processes = got.known && mine.length ? h("div", {}, h("h3", {}, "Processes"), table("Processes", ["#pid", "user", "name", "#GPU memory", "#SM", "#CPU", "#running"],
      mine.map((p) => [p.pid, p.user, p.name || "", scaled(p.gpu_memory, "B", 1024), percent(p.sm_util), percent(p.cpu), duration(p.elapsed)]))) : "";
  };
  app.processes = "";
  const timer = setInterval(() => processes().catch(() => {}), 3000);
  processes().catch(() => {});
  app.update = describe;
  app.stop = () => clearInterval(timer);
  describe();
  show();
}

function viewJobs(root) {
  const wasted = h("input", { type: "checkbox", id: "wasted", onchange: () => show() }), list = h("div", {});
  fill(root, h("h2", {}, "Jobs"), h("div", { class: "tools" }, wasted, h("label", { for: "wasted" }, "only those that left GPUs idle")), list);
  const show = async () => {
    const got = await load(`api/v1/jobs${wasted.checked ? "?wasted=1" : ""}`);
    fill(list, got.jobs.length ? table("Jobs", ["end", "who", "user", "#GPUs", "#GPU-hours", "#Real", "#SM", "#wasted", "~mostly"], got.jobs.map((j) => {
      const most = Object.entries(j.class_s).sort((a, b) => b[1] - a[1])[0];
      return [j.final ? clock(j.end) : "goes on", ownerName(j), j.user, j.n_gpus, (j.gpu_seconds / 3600).toFixed(2), percent(j.real_util), percent(j.sm_active), `${(j.wasted_seconds / 3600).toFixed(2)} h`,
        most ? most[0] : ""];
    })) : h("p", {}, "No records yet: one is written when an owner lets its GPUs go, and every minute while it holds them."));
  };
  const timer = setInterval(() => show().catch(() => {}), 10000);
  app.stop = () => clearInterval(timer);
  app.update = null;
  show().catch(() => fill(list, h("p", {}, "The records cannot be read.")));
}

/* What of a level is shown, and how. */
const FIGURES = [["cpu", "CPUs busy", (v) => v.toFixed(2)], ["cpu_share", "share of the CPUs", percent], ["cpus", "CPUs", String], ["memory", "memory", (v) => scaled(v, "B", 1024)],
  ["memory_limit", "memory limit", (v) => scaled(v, "B", 1024)], ["memory_share", "share of the memory", percent], ["io_read", "read", (v) => scaled(v, "B/s")], ["io_write", "written", (v) => scaled(v, "B/s")],
  ["processes", "processes", String], ["threads", "threads", String]];

function viewHost(root) {
  const draw = () => {
    const host = app.now && app.now.host;
    if (!host) {
      fill(root, h("h2", {}, "Host"), h("p", {}, "The host is not read."));
      return;
    }
    fill(root, h("h2", {}, `Host ${host.name || ""}`), (host.levels || []).map((l) => {
      const f = l.figures || l;
      return [h("h3", {}, l.level || "system"), h("dl", {}, FIGURES.filter(([k]) => there(f[k])).map(([k, text, show]) => [h("dt", {}, text), h("dd", {}, show(f[k]))]))];
    }));
  };
  app.update = draw;
  draw();
}

function viewFindings(root) {
  const show = async () => {
    const got = await load("api/v1/findings");
    fill(root, h("h2", {}, "Findings"), got.now.length ? table("Findings", ["GPU", "state", "~what"], got.now.map((f) => [f.gpu, h("span", { class: f.state }, f.state), f.text])) :
      h("p", { class: "OK" }, "No problems found."),
    h("h3", {}, "Log"), got.log.length ? table("Log", ["time", "GPU", "kind", "~what"], got.log.map((e) => [clock(e.time), e.gpu, e.kind, e.text])) : h("p", { class: "soft" }, "Nothing happened yet."));
  };
  const timer = setInterval(() => show().catch(() => {}), 3000);
  app.stop = () => clearInterval(timer);
  app.update = null;
  show().catch(() => {});
}

/* A report takes a moment: who asked asks again. */
async function fetchReport(id, show) {
  const answer = await fetch(`api/v1/report?id=${encodeURIComponent(id)}`);
  if (answer.status === 202) app.again2 = setTimeout(() => fetchReport(id, show), 1000);
  else show(await answer.text());
}

function viewRecordings(root) {
  const text = h("pre", { tabindex: "0", "aria-label": "Report", class: "wrap" });
  const open = (s) => {
    text.textContent = `reading ${s.name}`;
    fetchReport(s.id, (t) => { text.textContent = t; }).catch(() => { text.textContent = "The report cannot be read."; });
  };
  load("api/v1/sessions").then((got) => fill(root, h("h2", {}, "Recordings"),
    !got.sessions ? h("p", {}, "Start the server with --sessions DIR to see the recordings of a folder.") :
      got.sessions.length ? table("Recordings", ["name", "time", "#size", "report"], got.sessions.map((s) => [s.name, clock(s.time), scaled(s.size, "B", 1024),
        h("button", { type: "button", onclick: () => open(s), "aria-label": `Report of ${s.name}` }, "Report")])) : h("p", {}, "There are none."), got.sessions && got.sessions.length ? text : null)).catch(() => {});
  app.update = null;
  app.stop = () => clearTimeout(app.again2);
}

/* --- where we are -------------------------------------------------------------------------------- */

function render() {
  const [view, rest] = (location.hash.slice(1) || "fleet").split("/"), root = document.getElementById("main");
  if (app.stop) app.stop();
  app.stop = app.update = null;
  document.getElementById("tabs").replaceChildren(...VIEWS.map(([id, text], i) => h("a", { href: `#${id}`, "aria-current": id === view || (view === "gpu" && id === "fleet") ? "page" : null, title: `key ${i + 1}` }, text)));
  document.title = view === "gpu" ? `GPU ${decodeURIComponent(rest || "")} - assay` : "assay";
  const views = { fleet: viewFleet, jobs: viewJobs, host: viewHost, findings: viewFindings, recordings: viewRecordings };
  if (view === "gpu") viewGpu(root, decodeURIComponent(rest || ""));
  else (views[view] || viewFleet)(root);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("assay-theme", name);
  } catch (e) {
    /* a browser that keeps nothing */
  }
  drawCharts();
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
document.documentElement.dataset.theme = saved === "dark" || saved === "light" ? saved : matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
document.getElementById("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
window.addEventListener("hashchange", render);
window.addEventListener("resize", drawCharts);
document.addEventListener("keydown", keys);
document.addEventListener("visibilitychange", () => { if (!document.hidden && performance.now() - app.at > 5000) connect(); });
render();
connect();
