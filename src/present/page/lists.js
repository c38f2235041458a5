"use strict";
/* Jobs and their records, the host, findings, recordings. */

/* --- jobs ---------------------------------------------------------------------------------------- */

/* Who holds GPUs at this moment: one row an owner. */
function holdersNow() {
  const by = new Map();
  for (const gpu of app.now ? app.now.gpus : []) {
    for (const o of ownersOf(gpu)) {
      const key = JSON.stringify([o.kind, o.job, o.namespace, o.pod, o.container, o.kind === "process" ? o.user : ""]);
      if (!by.has(key)) by.set(key, { owner: o, gpus: [], processes: null });
      by.get(key).gpus.push(gpu);
      if (there(o.processes)) by.get(key).processes += o.processes;
    }
  }
  return [...by.values()];
}

function holderRow({ owner, gpus, processes }) {
  const reals = gpus.map(realOf).filter(there), mean = reals.length ? reals.reduce((a, b) => a + b, 0) / reals.length : null, idle = gpus.filter(isHeldIdle);
  return [ownerName(owner), h("span", {}, gpus.map((g) => [h("a", { href: `#gpu/${encodeURIComponent(g.name)}` }, g.name), " "])), there(processes) ? processes : "--", meter("", mean, score),
    idle.length ? h("span", { class: "WARN" }, idle.length === gpus.length ? "idle" : `${idle.length} of ${gpus.length} idle`) : limitText(gpus[0]) || ""];
}

/* A limiter in words. */
const limiterWords = (texts, name) => (texts || {})[name] || name;

function jobRow(j, texts) {
  const most = Object.entries(j.limiter_s).filter(([k]) => k !== "unknown").sort((a, b) => b[1] - a[1])[0];
  return [h("a", { href: `#job/${j.id}` }, ownerName({ ...j, user: "" })), j.user, j.final ? clock(j.end).slice(0, 16) : h("span", { class: "OK" }, "goes on"), j.n_gpus, (j.gpu_seconds / 3600).toFixed(2), meter("", j.real_util, score),
    h("span", { class: j.wasted_seconds > 0 ? "WARN" : "soft" }, j.wasted_seconds > 0 ? `${(j.wasted_seconds / 3600).toFixed(2)} h` : "--"), most ? limiterWords(texts, most[0]) : ""];
}

/* Model servers: what each does, and what limits it. */
function engineRow(e) {
  const m = e.metrics, hw = e.hardware, ms = (v) => (there(v) ? `${(1000 * v).toFixed(v < 0.1 ? 1 : 0)} ms` : "--");
  const place = e.url.replace(/\/metrics$/, ""), limit = !e.answers ? `does not answer: ${e.why}` : e.limit.limiter === "unknown" ? "unknown" : e.limit.words;
  return [h("span", {}, `${e.engine === "unknown" ? "model server" : e.engine}${e.model ? ` (${e.model})` : ""}`, h("div", { class: "soft" }, place)), (e.gpus || []).join(" ") || "--", number(m.requests_running, 0, ""), number(m.requests_waiting, 0, ""),
    there(m.cache_used) ? percent(m.cache_used) : "--", number(m.output_tokens, 0, ""), ms(m.time_to_first_token), ms(m.inter_token_latency), number(hw.tokens_per_joule, 2, ""),
    h("span", {}, limit, h("div", { class: "soft" }, e.answers && e.limit.try ? `try: ${e.limit.try}` : ""))];
}

function engineTable() {
  const list = (app.now && app.now.engines) || [];
  return list.length ? [h("h3", {}, "Model servers"), table("Model servers", ["~engine", "~GPUs", "#running", "#waiting", "#cache", "#tokens/s", "#first token", "#a token", "#tokens/J", "~limited by"], list.map(engineRow))] : [];
}

function viewJobs(root) {
  const wasted = h("input", { type: "checkbox", id: "wasted", onchange: () => show().catch(() => {}) }), now = h("div", {}), list = h("div", {});
  fill(root, h("h2", {}, "Jobs"), now, h("h3", {}, "Records"), h("div", { class: "tools" }, wasted, h("label", { for: "wasted" }, "only those that left GPUs idle")), list);
  const show = async () => {
    const got = await load(`api/v1/jobs${wasted.checked ? "?wasted=1" : ""}`);
    renew(list, got.jobs.length ? table("Records", ["~job", "user", "end", "#GPUs", "#GPU-hours", "Real Utilization", "#wasted", "~mostly limited by"], got.jobs.map((j) => jobRow(j, got.limiter_texts))) :
      h("p", { class: "soft" }, wasted.checked ? "None." : "No records yet: one is written when an owner lets its GPUs go, and every minute while it holds them."));
    layBars(list);
  };
  const draw = () => {
    const rows = holdersNow().map(holderRow);
    renew(now, engineTable(), h("h3", {}, "Holding GPUs now"), rows.length ? table("Holding GPUs now", ["~who", "~GPUs", "#processes", "Real Utilization", "~what they do"], rows) : h("p", { class: "soft" }, "Nobody."));
    layBars(now);
  };
  const timer = setInterval(() => show().catch(() => {}), 10000);
  app.stop = () => clearInterval(timer);
  app.update = draw;
  draw();
  show().catch(() => fill(list, h("p", {}, "The records cannot be read.")));
}

/* Seconds by name as bars, the largest first. */
function shareList(title, seconds, words) {
  const list = Object.entries(seconds).sort((a, b) => b[1] - a[1]), all = list.reduce((n, [, s]) => n + s, 0);
  return list.length ? h("section", { class: "card" }, h("h3", {}, title), list.map(([name, s]) => h("div", { class: "share" }, h("span", {}, words(name)), bar(s / all, `${words(name)} ${percent(s / all)}`), h("span", {}, percent(s / all)),
    h("span", { class: "soft" }, duration(s))))) : null;
}

function viewJob(root, id) {
  load("api/v1/jobs").then((got) => {
    const j = got.jobs.find((k) => String(k.id) === id);
    if (!j) return fill(root, h("p", {}, "There is no such record any more. ", h("a", { href: "#jobs" }, "All records")));
    const c = j.counters, throttled = Object.entries(c).filter(([k, v]) => k.startsWith("throttle_") && v > 0);
    const facts = [["GPUs", j.gpus], ["Begin", clock(j.start)], ["End", j.final ? clock(j.end) : "goes on"], ["GPU-hours", (j.gpu_seconds / 3600).toFixed(2)], ["Observed", percent(j.coverage)],
      ["SM", percent(j.sm_active)], ["Peak memory", scaled(j.peak_memory, "B", 1024)], ["Energy", scaled(c.energy, "J")], ["Account", j.account], ["Partition", j.partition],
      ["Throttled", throttled.map(([k, v]) => `${k.slice(9).replace(/_/g, " ")} ${duration(v)}`).join(", ")], ["Problems", (j.findings || []).join(", ")]];
    fill(root, h("p", { class: "crumb" }, h("a", { href: "#jobs" }, "Jobs"), ` / ${ownerName(j)}`),
      h("div", { class: "card" }, h("h2", {}, ownerName(j)), h("div", { class: "hero" }, h("div", {}, h("div", { class: "huge" }, score(j.real_util)), h("div", { class: "soft small" }, "Real Utilization")),
        h("div", {}, h("div", { class: `huge ${j.wasted_seconds > 0 ? "WARN" : ""}` }, `${(j.wasted_seconds / 3600).toFixed(2)} h`), h("div", { class: "soft small" }, "GPU time wasted: held and idle"))),
      h("dl", { class: "facts" }, facts.filter(([, v]) => v && v !== "--").map(([a, b]) => fact(a, b)))),
      h("div", { class: "grid wide" }, shareList("Limited by", j.limiter_s, (name) => limiterWords(got.limiter_texts, name)), shareList("Class", j.class_s, (name) => name)));
    layBars(root);
  }).catch(() => fill(root, h("p", {}, "The records cannot be read.")));
}

/* --- the host --------------------------------------------------------------------------------------- */

/* With what it was, in the list of figures that are kept. */
function hostTile(title, value, more, name, top) {
  return h("div", { class: "tile" }, h("span", { class: "soft small" }, title), h("span", { class: "big" }, value), h("span", { class: "soft small" }, more || "\u00a0"),
    h("div", { class: "spark", "aria-hidden": "true", "data-figure": name, "data-top": top || null }));
}

/* "user 12 %, nice 3 %"; null when none is known. */
function shareWords(parts) {
  return parts.filter(([, v]) => there(v)).map(([name, v]) => `${name} ${percent(v)}`).join(", ") || null;
}

function paintHost(box) {
  const values = app.hosts.map((p) => (there(p[box.dataset.figure]) ? p[box.dataset.figure] : null));
  spark(box, values, Number(box.dataset.top) || Math.max(1, ...values.filter(there)), 1e9);
}

function noHost() {
  const s = app.now ? app.now.status : {};
  return s.ended ? "The recording has ended." : s.capture ? "The recording has nothing of its host at this time." : "The host is not read.";
}

function viewHost(root) {
  const draw = () => {
    const host = app.now && app.now.host, level = machineOf(host);
    if (!level) return renew(root, h("h2", {}, "Host"), h("p", {}, noHost()));
    const f = level.figures, s = (host.system && host.system.figures) || {}, cores = (host.system && host.system.cores) || [];
    const tiles = [hostTile("CPU", percent(f.cpu_share), `${number(f.cpu, 1, "")} of ${f.cpus} CPUs busy`, "cpu", 1), hostTile("Memory", percent(f.memory_share), `${scaled(f.memory, "B", 1024)} of ${scaled(f.memory_limit, "B", 1024)}`, "memory", 1),
      hostTile("Read from storage", scaled(f.io_read, "B/s"), "", "read"), hostTile("Written to storage", scaled(f.io_write, "B/s"), "", "write"),
      hostTile("Network in", scaled(s.net_rx, "B/s"), "", "rx"), hostTile("Network out", scaled(s.net_tx, "B/s"), "", "tx")];
    const facts = [["Load", there(s.load_1) ? `${s.load_1.toFixed(1)}, ${s.load_5.toFixed(1)}, ${s.load_15.toFixed(1)}` : null], ["Processes", f.processes], ["Threads", f.threads],
      ["Swap", s.swap_total ? `${scaled(s.swap_used, "B", 1024)} of ${scaled(s.swap_total, "B", 1024)}` : null], ["CPU time", shareWords([["user", s.cpu_user], ["nice", s.cpu_nice], ["system", s.cpu_system]])], ["Power of the processors", there(s.cpu_power) ? `${number(s.cpu_power, 0, " W")}` : null], ["Power of the whole machine", there(s.node_power) ? `${number(s.node_power, 0, " W")}` : null], ["CPU waits for I/O", there(s.cpu_iowait) ? percent(s.cpu_iowait) : null], ["Stolen by the hypervisor", there(s.cpu_steal) ? percent(s.cpu_steal) : null]];
    const pressure = [["CPU", s.pressure_cpu], ["memory", s.pressure_memory], ["I/O", s.pressure_io]].filter(([, v]) => there(v));
    renew(root, h("h2", {}, `Host ${host.name || ""}`), h("div", { class: "tiles" }, tiles),
      h("div", { class: "grid wide" }, cores.length ? h("section", { class: "card" }, h("h3", {}, `${cores.length} CPUs`), h("div", { class: "cores", role: "img", "aria-label": `CPUs busy: ${cores.map((v) => percent(v)).join(", ")}` },
        cores.map((v, i) => h("span", { title: `CPU ${i}: ${percent(v)}`, "data-level": there(v) ? v : 0 })))) : null,
      pressure.length ? h("section", { class: "card" }, h("h3", {}, "Time that somebody waited for"), pressure.map(([name, v]) => meter(name, v))) : null),
      h("div", { class: "card" }, h("dl", { class: "facts" }, facts.filter(([, v]) => there(v)).map(([a, b]) => fact(a, b)))));
    layBars(root);
    for (const e of root.querySelectorAll("[data-level]")) e.style.opacity = 0.15 + 0.85 * Math.min(1, e.dataset.level);
    root.querySelectorAll("[data-figure]").forEach(paintHost);
  };
  app.update = draw;
  draw();
}

/* --- findings ------------------------------------------------------------------------------------------ */

/* A dump of the last minutes: other sites cannot send the header. */
async function askDump(said) {
  said.textContent = "writing …";
  const answer = await fetch("api/v1/dump", { method: "POST", headers: { "X-Assay": "dump" } });
  if (answer.status !== 202) said.textContent = (await answer.text()).trim();
}

function dumpCard() {
  const said = h("span", { role: "status" });
  const card = h("p", {}, h("button", { type: "button", onclick: () => askDump(said).catch(() => { said.textContent = "the server does not answer"; }) }, "Write a dump of the last minutes"), " ", said);
  let told = "";
  return [card, (dump) => {
    card.hidden = !dump;
    const text = !dump || dump.busy ? "" : dump.error ? dump.error : dump.file ? `${dump.file}: ${dump.text}` : "";
    if (text && text !== told) said.textContent = told = text; /* an answer stays until there is news */
  }];
}

function viewFindings(root) {
  const [dump, showDump] = dumpCard(), body = h("div", {});
  const update = () => showDump(app.now && app.now.status.dump);
  root.replaceChildren(dump, body);
  update();
  const gpuLink = (label) => (label ? h("a", { href: `#gpu/${encodeURIComponent(label)}` }, label) : "");
  const show = async () => {
    const got = await load("api/v1/findings");
    renew(body, h("h2", {}, "Problems"), got.now.length ? got.now.map((f) => h("div", { class: `card finding ${f.state}` }, h("span", { class: `pill ${f.state}` }, f.state), h("strong", {}, "GPU ", gpuLink(f.gpu)), h("span", {}, f.text))) :
      h("p", { class: "OK" }, "No problems found."),
    h("h3", {}, "Log"), got.log.length ? table("Log", ["time", "GPU", "kind", "~what"], got.log.map((e) => [clock(e.time), gpuLink(e.gpu), e.kind, e.text])) : h("p", { class: "soft" }, "Nothing happened yet."));
  };
  const timer = setInterval(() => show().catch(() => {}), 3000);
  app.stop = () => clearInterval(timer);
  app.update = update;
  show().catch(() => {});
}

/* --- recordings ------------------------------------------------------------------------------------------ */

/* A report takes a moment: who asked asks again. */
async function fetchReport(id, show) {
  const answer = await fetch(`api/v1/report?id=${encodeURIComponent(id)}`);
  if (answer.status === 202) app.again2 = setTimeout(() => fetchReport(id, show).catch(() => show("The report cannot be read.")), 500);
  else show(await answer.text());
}

function viewRecordings(root) {
  const text = h("pre", { tabindex: "0", "aria-label": "Report", class: "card scroll", hidden: true });
  const open = (s) => {
    clearTimeout(app.again2);
    text.hidden = false;
    text.textContent = `reading ${s.name} …`;
    fetchReport(s.id, (t) => { text.textContent = t; }).catch(() => { text.textContent = "The report cannot be read."; });
  };
  load("api/v1/sessions").then((got) => fill(root, h("h2", {}, "Recordings"),
    !got.sessions ? h("p", {}, "Start the server with --sessions DIR to see the recordings of a folder.") :
      got.sessions.length ? table("Recordings", ["name", "time", "#size", "report"], got.sessions.map((s) => [s.name, clock(s.time).slice(0, 16), scaled(s.size, "B", 1024),
        h("button", { type: "button", onclick: () => open(s), "aria-label": `Report of ${s.name}` }, "Report")])) : h("p", {}, "There are none."), got.sessions && got.sessions.length ? text : null)).catch(() => {});
  app.update = null;
  app.stop = () => clearTimeout(app.again2);
}
