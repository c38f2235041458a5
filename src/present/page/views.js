"use strict";
/* The views of GPUs: all of them, and one. */

const ownersOf = (gpu) => app.now.owners.filter((o) => o.index === gpu.index && (o.gi < 0 ? !there(gpu.gi) : o.gi === gpu.gi));
function ownerName(o) {
  if (o.kind === "slurm") return `job ${o.job}${o.user ? ` (${o.user})` : ""}`;
  if (o.kind === "kubernetes") return `${o.namespace}/${o.pod}`;
  return o.user || "somebody";
}
const works = (gpu) => gpu.up && gpu.use === "working";
const isHeldIdle = (gpu) => gpu.up && gpu.use === "idle" && gpu.held === true;
/* Real Utilization is a score from 0 to 100: bars take it as a share, words as it is. */
const realOf = (gpu) => (gpu.up && there(gpu.metrics.real_util) ? gpu.metrics.real_util / 100 : null);
const score = (share) => (there(share) ? (share * 100).toFixed(0) : "--");

/* What has to move for a program to go faster, as a colour. */
function sideOf(limiter) {
  if (!limiter || limiter === "unknown") return "none";
  if (limiter.startsWith("idle")) return "idle";
  if (limiter.startsWith("host") || limiter === "launch") return "host";
  return limiter.startsWith("copy") ? "copy" : limiter.startsWith("memory") ? "memory" : "compute";
}
const SIDES = [["compute", "the GPU's units or kernels"], ["memory", "device memory"], ["copy", "copies"], ["host", "the host"], ["idle", "nothing: idle"]];

/* "limited by …" in words, clocks that are held included. */
const limitText = (gpu) => (gpu.up && gpu.limiter ? gpu.limit_words : null);

function bar(share, label, kind) {
  return h("div", { class: `bar${kind ? ` ${kind}` : ""}`, role: "img", "aria-label": label }, h("span", { "data-share": there(share) ? Math.min(1, Math.max(0, share)) : 0 }));
}
/* Widths are set by script: the page allows no styles in its text. */
function layBars(root) {
  for (const e of root.querySelectorAll("[data-share]")) e.style.width = `${e.dataset.share * 100}%`;
}
const meter = (name, share, words = percent) => h("div", { class: "meter" }, h("span", { class: "soft" }, name), bar(share, `${name} ${words(share)}`), h("span", {}, words(share)));

function tile(title, value, more, href, kind) {
  return h(href ? "a" : "div", { class: "tile", href: href || null }, h("span", { class: "soft small" }, title), h("span", { class: `big ${kind || ""}` }, value), h("span", { class: "soft small" }, more || ""));
}

/* --- all GPUs ---------------------------------------------------------------------------------- */

function sum(list, f) {
  const got = list.map(f).filter(there);
  return got.length ? got.reduce((a, b) => a + b, 0) : null;
}

/* "GPU 1, 7": the first of them. */
const nameSome = (gpus) => `GPU ${gpus.slice(0, 6).map((g) => g.name).join(", ")}${gpus.length > 6 ? ` and ${gpus.length - 6} more` : ""}`;
const ofTotal = (part, total, format) => (there(total) ? `${format(part)} of ${format(total)}` : format(part));
const bytes = (v) => scaled(v, "B", 1024);
const usedOf = (m) => (there(m.shared_memory_total) ? `${ofTotal(m.shared_memory_used, m.shared_memory_total, bytes)}, the system's` : ofTotal(m.fb_used, m.fb_total, bytes));

function summary(gpus) {
  const whole = gpus.filter((g) => !there(g.gi)), reals = gpus.map(realOf).filter(there), bad = gpus.filter((g) => (!g.up && !app.now.status.ended) || !["OK", "unknown"].includes(g.health.state));
  const idle = gpus.filter(isHeldIdle), limit = sum(whole, (g) => g.metrics.power_limit), total = sum(gpus, (g) => g.metrics.fb_total);
  return h("div", { class: "tiles" },
    tile("GPUs at work", `${gpus.filter(works).length} of ${gpus.length}`, `${gpus.filter((g) => g.up && g.use === "idle").length} idle`),
    tile("Real Utilization", reals.length ? score(reals.reduce((a, b) => a + b, 0) / reals.length) : "--", `mean of ${reals.length === gpus.length ? "all" : `${reals.length} of ${gpus.length}`}`),
    tile("Power", scaled(sum(whole, (g) => g.metrics.power), "W"), there(limit) ? `of ${scaled(limit, "W")}` : ""),
    tile("Memory", scaled(sum(gpus, (g) => g.metrics.fb_used), "B", 1024), there(total) ? `of ${scaled(total, "B", 1024)}` : ""),
    tile("Held and idle", String(idle.length), idle.length ? nameSome(idle) : "none", "#jobs", idle.length ? "WARN" : ""),
    tile("Problems", String(bad.length), bad.length ? nameSome(bad) : "none", "#findings", bad.length ? "WARN" : "OK"));
}

/* Nobody, where processes are known; else nobody knows. */
function holderText(gpu) {
  const owners = ownersOf(gpu).map(ownerName);
  return owners.length ? owners.join(", ") : !gpu.up ? "" : there(gpu.metrics.processes) ? "not in use" : "its holder is not known";
}

/* A GPU without values of now: its driver or its exporter is silent, or the recording has ended. */
function healthPill(gpu) {
  const ended = app.now.status.ended;
  return h("span", { class: `pill ${gpu.up ? gpu.health.state : ended ? "unknown" : "CRIT"}` }, gpu.up ? gpu.health.state : ended ? "recording ended" : "does not answer");
}

function gpuCard(gpu) {
  const m = gpu.metrics, real = realOf(gpu), text = limitText(gpu), model = gpu.identity.model || "", holder = holderText(gpu);
  return h("a", { class: `card gpu${gpu.up ? "" : " down"}`, href: `#gpu/${encodeURIComponent(gpu.name)}`, "data-gpu": gpu.name },
    h("div", { class: "row" }, h("strong", { class: "line", title: gpu.identity.hostname || null }, `GPU ${gpu.name}`), h("span", { class: "soft small grow line", title: model }, gpu.model || model),
      healthPill(gpu)),
    h("div", { class: "row" }, h("span", { class: "big", title: "Real Utilization" }, score(real)), h("span", { class: "class" }, gpu.up ? gpu.verdict.class : "")),
    h("div", { class: `limit side-${sideOf(gpu.up ? gpu.limiter : null)}` }, text || "\u00a0"),
    meter("SM", m.sm_active), meter("tensor", m.tensor_active), meter("DRAM", m.dram_active), meter("util", m.gpu_util),
    h("div", { class: "row small soft facts" }, h("span", {}, usedOf(m)),
      h("span", {}, `${number(m.power, 0, "W")}${there(m.power_limit) ? ` of ${m.power_limit.toFixed(0)}` : ""}`), h("span", {}, number(m.gpu_temp, 0, "°C"))),
    h("div", { class: "spark", "aria-hidden": "true" }), h("div", { class: "strip", "aria-hidden": "true" }), h("div", { class: "soft small line", title: holder }, holder || "\u00a0"));
}

const legendOfSides = (cells) => h("p", { class: "legend sides" }, h("span", { class: "soft" }, `Real Utilization over ${duration(cells)}, limited by`), SIDES.map(([id, text]) => h("span", {}, h("i", { class: `side-${id}` }), text)));

/* How many of the newest cells are known of a list, and of a GPU's past. */
function knownCells(list) {
  const first = list ? list.findIndex(there) : -1;
  return first < 0 ? 0 : list.length - first;
}
const SHORTEST = 120; /* of a chart whose server has just begun, in seconds */
const curveOf = (past) => past.series.real_util || past.series.gpu_util;

/* One span for all GPUs: as much of the last hour as is known. */
function sparkCells() {
  const known = app.now.gpus.map((g) => app.history[`${g.name} ${SPAN}`]).filter(there).map((past) => (curveOf(past) ? knownCells(curveOf(past).mean) : 0));
  return Math.max(SHORTEST, ...known);
}

function drawSparks(root, cells) {
  for (const gpu of app.now.gpus) {
    const past = app.history[`${gpu.name} ${SPAN}`], card = root.querySelector(`[data-gpu="${CSS.escape(gpu.name)}"]`);
    if (past) {
      spark(card.querySelector(".spark"), curveOf(past) ? curveOf(past).mean.slice(-cells) : [], past.series.real_util ? 100 : 1, gap());
      strip(card.querySelector(".strip"), past.limiters, [cells, 0]);
    } else if (past === undefined) {
      app.history[`${gpu.name} ${SPAN}`] = null;
      fetchHistory(gpu.name, SPAN).catch(() => {});
    }
  }
}

function noGpus() {
  const s = app.now.status;
  return h("div", { class: "card empty" }, h("h2", {}, "No GPU yet"), h("p", {}, s.error || "The source has told of none so far."), s.hint ? h("p", { class: "soft" }, s.hint) : null,
    h("p", { class: "soft" }, "It is tried again; GPUs appear here when they are found."));
}

const MANY = 24; /* more than these are told in short */

function viewFleet(root) {
  const draw = () => {
    if (!app.now) return;
    const gpus = app.now.gpus, cells = sparkCells();
    if (!gpus.length) return renew(root, noGpus());
    renew(root, h("h2", { class: "hidden" }, `${gpus.length} GPU${gpus.length === 1 ? "" : "s"}`), summary(gpus), h("div", { class: gpus.length > MANY ? "grid dense" : "grid" }, gpus.map(gpuCard)), legendOfSides(cells));
    layBars(root);
    drawSparks(root, cells);
  };
  app.update = draw;
  draw();
}

/* --- one GPU ------------------------------------------------------------------------------------- */

const NAMES = { real_util: "Real", sm_active: "SM", tensor_active: "tensor", dram_active: "DRAM", gpu_util: "util", power: "board", fb_used: "in use", gpu_temp: "GPU", mem_temp: "memory", sm_clock: "SM",
  pcie_rx: "in", pcie_tx: "out", nvlink_total: "both ways" };
const PANELS = [
  { title: "Activity", names: ["real_util", "sm_active", "tensor_active", "dram_active", "gpu_util"], top: 1, format: (v) => `${(v * 100).toFixed(0)} %`, map: { real_util: 0.01 } },
  { title: "Power", names: ["power"], format: (v) => `${v.toFixed(0)} W`, limit: (m) => m.power_limit },
  { title: "Memory", names: ["fb_used"], format: (v) => scaled(v, "B", 1024), base: 1024, limit: (m) => m.fb_total },
  { title: "Temperature", names: ["gpu_temp", "mem_temp"], format: (v) => `${v.toFixed(0)} °C` },
  { title: "Clock", names: ["sm_clock"], format: (v) => scaled(v, "Hz") },
  { title: "PCIe", names: ["pcie_rx", "pcie_tx"], format: (v) => scaled(v, "B/s") },
  { title: "NVLink", names: ["nvlink_total"], format: (v) => scaled(v, "B/s") },
];

function panel(p) {
  const box = h("div", { class: "chart" }), legend = h("div", { class: "legend" });
  const chart = new Chart(box, { top: p.top, format: p.format, base: p.base, gap, onzoom: (view) => { app.zoom = view; drawCharts(); }, onpoint: (t) => pointAll(t) });
  const card = h("section", { class: "card", "aria-label": p.title }, h("div", { class: "row" }, h("h3", {}, p.title), legend), box);
  return { p, chart, legend, card };
}

function pointAll(t) {
  for (const c of app.charts) {
    c.chart.point(t);
    writeLegend(c, t);
  }
}

/* How a chart writes a series' values: a score is no share. */
const formatOf = (plan, name) => (name === "real_util" ? score : plan.format);

function writeLegend(c, t) {
  const values = t === null ? c.chart.series.map((s) => s.mean[s.mean.length - 1]) : c.chart.at(t);
  c.legend.replaceChildren(...c.chart.series.map((s, k) => h("span", { class: `k${k % 5}` }, `${NAMES[s.name] || s.name} ${there(values[k]) ? formatOf(c.p, s.name)(values[k]) : "--"}`)),
    t === null ? "" : h("span", { class: "soft" }, timeOfDay(t)));
}

function drawCharts() {
  const past = app.history[`${app.gpu} ${app.span}`];
  if (!past || !app.charts.length) return;
  const gpu = app.now && app.now.gpus.find((g) => g.name === app.gpu), begin = past.end - past.step * Math.max(SHORTEST / past.step, 10, ...Object.values(past.series).map((s) => knownCells(s.mean)));
  for (const c of app.charts) {
    const names = c.p.names.filter((n) => past.series[n]);
    const scale = (list, n) => (list && c.p.map && c.p.map[n] ? list.map((v) => (v === null ? null : v * c.p.map[n])) : list);
    c.card.hidden = names.length === 0;
    c.chart.view = app.zoom;
    c.chart.known = begin;
    c.chart.ceiling = gpu && c.p.limit ? c.p.limit(gpu.metrics) : null;
    c.chart.set(past.end, past.step, names.map((n) => ({ name: n, mean: scale(past.series[n].mean, n), min: scale(past.series[n].least, n), max: scale(past.series[n].most, n) })));
    c.chart.box.setAttribute("aria-label", `${c.p.title} of GPU ${app.gpu} over ${duration(app.span)}: ${names.map((n) => {
      const list = past.series[n].mean.filter(there);
      return list.length ? `${n} now ${formatOf(c.p, n)(list[list.length - 1] * ((c.p.map && c.p.map[n]) || 1))}` : n;
    }).join(", ")}`);
    if (c.chart.pointer === null) writeLegend(c, null);
  }
  if (app.band) {
    /* Limiters of one side share its colour: their letters tell them apart. */
    const all = shares(past), letter = (name) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[all.findIndex(([n]) => n === name)] || "", text = (name) => past.limiter_texts[name] || name;
    strip(app.band.box, past.limiters, app.charts[0].chart.range().map((t) => (past.end - t) / past.step), (name) => [`${letter(name)} ${text(name)}`, letter(name)]);
    app.band.legend.replaceChildren(...all.filter(([name]) => letter(name)).map(([name, share]) => h("span", {}, h("i", { class: `side-${sideOf(name)}` }), h("b", {}, letter(name)), ` ${text(name)} ${percent(share)}`)));
    app.band.box.setAttribute("aria-label", `What limited GPU ${app.gpu}: ${all.map(([name, share]) => `${name} ${percent(share)}`).join(", ")}`);
  }
}

/* Each limiter's part of the time in which one is known, the largest first. */
function shares(past) {
  const by = {};
  let all = 0;
  for (const [name, n] of past.limiters || []) {
    if (name === null) continue;
    by[name] = (by[name] || 0) + n;
    all += n;
  }
  return Object.entries(by).map(([name, n]) => [name, n / all]).sort((a, b) => b[1] - a[1]);
}

/* What the GPU is measured by, as bars. What is no ratio stands beside the charts. */
const CEILINGS = ["engine", "sm", "occupancy", "tensor", "fp64", "fp32", "fp16", "int", "dram", "pcie_in", "pcie_out", "nvlink_in", "nvlink_out", "clock", "power"];
function ceilings(gpu) {
  const list = CEILINGS.filter((k) => there((gpu.ceilings || {})[k]));
  if (!list.length) return null;
  return h("section", { class: "card" }, h("h3", {}, "Ceilings"), h("div", { class: "ceilings" }, list.map((k) => meter(k.replace("_", " "), gpu.ceilings[k]))));
}

function fact(name, value) {
  return h("div", { class: String(value).length > 24 ? "two" : null }, h("dt", {}, name), h("dd", {}, value));
}

function describeGpu(gpu) {
  const m = gpu.metrics, text = limitText(gpu), why = gpu.why.startsWith(gpu.verdict.class) ? gpu.why.slice(gpu.verdict.class.length + 1) : gpu.why;
  const facts = [["Memory", usedOf(m)], ["Power", ofTotal(m.power, m.power_limit, (v) => number(v, 0, "W"))],
    ["Temperature", number(m.gpu_temp, 0, "°C")], ["SM clock", scaled(m.sm_clock, "Hz")], ["Node", gpu.identity.hostname], ["UUID", gpu.identity.uuid], ["PCI", gpu.identity.pci], ["Driver", gpu.identity.driver]];
  return [h("div", { class: "row" }, h("h2", {}, `GPU ${gpu.name} `, h("span", { class: "soft" }, gpu.identity.model || "")), healthPill(gpu)),
    h("div", { class: "hero" }, h("div", {}, h("div", { class: "huge" }, score(realOf(gpu))), h("div", { class: "soft small" }, "Real Utilization")),
      h("div", { class: "grow" }, gpu.up ? h("p", {}, h("strong", {}, gpu.verdict.class), h("span", { class: "soft" }, ` ${why}`)) : h("p", {}, "It has no values now; the charts have those of before."),
        text ? h("p", { class: `limit side-${sideOf(gpu.limiter)}` }, h("strong", {}, text)) : null,
        text && gpu.advice && gpu.limiter !== "unknown" ? h("p", { class: "soft" }, `To try: ${gpu.advice}.`) : null,
        gpu.health_text ? h("p", { class: gpu.health.state }, gpu.health_text) : null)),
    h("dl", { class: "facts" }, facts.filter(([, v]) => v && v !== "--").map(([a, b]) => fact(a, b)))];
}

function holders(gpu) {
  const owners = ownersOf(gpu);
  return [ceilings(gpu), h("section", { class: "card" }, h("h3", {}, "Who holds it"), owners.length ? table("Owners", ["kind", "~name", "#processes", "#GPU memory"],
    owners.map((o) => [o.kind, ownerName(o), there(o.processes) ? o.processes : "--", bytes(o.gpu_memory)])) : h("p", { class: "soft" }, !gpu.up || !there(gpu.metrics.processes) ? "Not known." : "Nobody."), processTable())];
}

function spanButtons(show) {
  const spans = [[600, "10 min"], [SPAN, "1 h"], [86400, "24 h"]];
  const press = (s) => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(spans[i][0] === s)));
  const buttons = spans.map(([s, text]) => h("button", { type: "button", onclick: () => {
    app.span = s === 86400 ? 86400 : SPAN;
    app.zoom = s === 600 && app.now ? [app.now.time - 600, app.now.time] : null;
    press(s);
    show();
  } }, text));
  const back = h("button", { type: "button", onclick: () => { app.zoom = null; drawCharts(); } }, "Zoom out");
  press(app.span);
  return h("div", { class: "tools" }, buttons, back, h("span", { class: "soft small" }, "drag to zoom; + − ← → 0 on a chart"));
}

async function listProcesses(name) {
  const got = await load("api/v1/processes"), gpu = app.now && app.now.gpus.find((g) => g.name === name), label = gpu ? gpu.gpu : name;
  const mine = got.processes.filter((p) => p.gpu === label || p.gpu.startsWith(`${label}/`));
  app.processes = got.known ? mine : [];
}

function processTable() {
  return app.processes.length ? h("div", {}, h("h3", {}, "Processes"), table("Processes", ["#pid", "user", "name", "#GPU memory", "#SM", "#CPU", "#running"],
    app.processes.map((p) => [p.pid, p.user, p.name || "", bytes(p.gpu_memory), percent(p.sm_util), percent(p.cpu), duration(p.elapsed)]))) : null;
}

function viewGpu(root, name) {
  const show = () => fetchHistory(name, app.span).then(drawCharts).catch(() => {});
  const head = h("div", { class: "card" }), people = h("div", { class: "grid wide" }), grid = h("div", { class: "grid wide" });
  app.gpu = name;
  app.zoom = null;
  app.processes = [];
  app.charts = PANELS.map(panel);
  app.band = { box: h("div", { class: "strip tall", role: "img" }), legend: h("div", { class: "legend sides" }) };
  grid.append(...app.charts.map((c) => c.card));
  const past = h("div", {}, spanButtons(show), h("section", { class: "card", "aria-label": "What limited it" }, h("h3", {}, "What limited it"), app.band.box, app.band.legend), grid, people);
  fill(root, h("p", { class: "crumb" }, h("a", { href: "#fleet" }, "GPUs"), ` / ${name}`), head, past);
  const describe = () => {
    const gpu = app.now && app.now.gpus.find((g) => g.name === name);
    past.hidden = !gpu;
    if (!gpu) return app.now ? renew(head, h("p", {}, `There is no GPU ${name}.`)) : null;
    renew(head, describeGpu(gpu));
    renew(people, holders(gpu));
    layBars(people);
    drawCharts();
  };
  const timer = setInterval(() => listProcesses(name).catch(() => {}), 3000);
  listProcesses(name).catch(() => {});
  app.update = describe;
  app.stop = () => {
    clearInterval(timer);
    app.charts = [];
    app.band = null;
  };
  describe();
  show();
}
