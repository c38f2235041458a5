"use strict";
/* Stacks as a picture: a line is as wide as the time that threads spent in it, and what it calls is below it. The numbers are in #stacks; names go into the page as text only. */
(() => {
  const D = JSON.parse(document.getElementById("stacks").textContent), FIELDS = 5, HIGH = 18, LETTER = 6.6, BOLD = 7.5, LEAST = 0.7;
  const root = document.getElementById("flame"), NS = document.getElementById("svg").namespaceURI, tip = document.getElementById("tip");
  const make = (name, attributes, parent, text) => {
    const e = document.createElementNS(NS, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  };
  const html = (name, attributes, parent, text) => {
    const e = document.createElement(name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  };
  const seconds = (s) => (s < 10 ? `${s.toFixed(2)} s` : s < 600 ? `${s.toFixed(1)} s` : s < 36000 ? `${(s / 60).toFixed(0)} min` : `${(s / 3600).toFixed(1)} h`);
  const share = (part, all) => (all > 0 ? `${(100 * part / all).toFixed(part < all / 10 ? 1 : 0)} %` : "--");

  /* ---- a tree ---- */

  /* Nodes of a tree: name, class, more, time and running time in seconds, samples, parent, children. */
  const read = (tree) => {
    const all = [];
    for (let i = 0; i < tree.nodes.length; i += FIELDS) {
      const [parent, name, time, running, looks] = tree.nodes.slice(i, i + FIELDS), [text, kind, about] = D.names[name];
      const node = { text, kind, more: typeof about === "number" ? D.files[about] : about, times: [time / 1e3, running / 1e3], looks, parent: i ? all[parent] : null, children: [], depth: 0 };
      all.push(node);
      if (i) node.parent.children.push(node);
      if (i) node.depth = node.parent.depth + 1;
    }
    return all;
  };
  let nodes = [], top = null, current = null, which = 0, sought = "";
  const time = (n) => n.times[which];

  /* Where each line is, from 0 to 1, when top has all of the width: its callers have, too. */
  const place = () => {
    const put = (n, from, width) => {
      n.from = from;
      n.width = width;
      n.children.sort((a, b) => time(b) - time(a));
      let at = from;
      for (const c of n.children) {
        const w = time(n) > 0 ? Math.min(width * time(c) / time(n), from + width - at) : 0;
        put(c, at, Math.max(w, 0));
        at += Math.max(w, 0);
      }
    };
    for (const n of nodes) n.width = 0;
    put(top, 0, 1);
    for (let n = top.parent; n; n = n.parent) [n.from, n.width] = [0, 1];
  };

  /* ---- what is sought ---- */

  const matches = (n) => sought !== "" && (n.text.toLowerCase().includes(sought) || n.more.toLowerCase().includes(sought));
  /* Time below top that is in a line that matches; one within another counts once. */
  const found = () => {
    let sum = 0, lines = 0;
    const look = (n, inside) => {
      const hit = matches(n);
      if (hit) lines++;
      if (hit && !inside) sum += time(n);
      n.children.forEach((c) => look(c, inside || hit));
    };
    look(top, false);
    return [sum, lines];
  };

  /* ---- the picture ---- */

  const tools = html("div", { class: "tools" }, root), says = html("p", { class: "note", "aria-live": "polite" }, root);
  const box = html("div", { class: "stacks", role: "tree", "aria-label": "Stacks: time of threads in each line" }, root);
  let shown = [];
  root.querySelector("noscript").remove();
  /* As much of a name as fits: without the folder first, then the function alone. */
  const fit = (text, room) => {
    const bare = text.replace(/^\S*\/(?=[^\s/]+:\d+( |$))/, ""), words = bare.replace(/^\S+:\d+ /, "");
    const one = [text, bare, words].find((t) => t.length <= room) || bare;
    return one.length > room ? `${one.slice(0, room - 1)}…` : one;
  };
  const facts = (n) => {
    const out = [n.text];
    if (n.more && n.more !== n.text) out.push(n.more);
    out.push(`${seconds(time(n))}, ${share(time(n), time(nodes[0]))} of all${n.parent ? `, ${share(time(n), time(n.parent))} of its caller` : ""}`);
    if (which === 0) out.push(`ran for ${seconds(n.times[1])} of that`);
    const own = time(n) - n.children.reduce((sum, c) => sum + time(c), 0);
    if (n.children.length && own > time(n) / 200) out.push(`${seconds(own)} in the line itself`);
    if (which === 0) out.push(`${n.looks} samples`);
    return out;
  };
  const draw = () => {
    const wide = Math.max(box.clientWidth || 960, 200), ways = new Set();
    for (let n = top; n; n = n.parent) ways.add(n);
    place();
    shown = nodes.filter((n) => (ways.has(n) || n.width * wide >= LEAST) && n.width > 0).sort((a, b) => a.depth - b.depth || a.from - b.from);
    if (!shown.includes(current)) current = top;
    const deep = Math.max(...shown.map((n) => n.depth)) + 1;
    const svg = make("svg", { viewBox: `0 0 ${wide} ${deep * HIGH + 2}`, width: wide, height: deep * HIGH + 2, role: "presentation" });
    for (const n of shown) {
      const x = n.from * wide, width = Math.max(n.width * wide - 0.6, 0.4), room = Math.floor((width - 6) / (n.kind === "user" ? BOLD : LETTER));
      const g = make("g", { class: `line ${n.kind}`, role: "treeitem", tabindex: n === current ? 0 : -1, "aria-level": n.depth + 1, "aria-label": facts(n).join(", ") }, svg);
      if (n.children.length) g.setAttribute("aria-expanded", "true");
      if (ways.has(n) && n !== top) g.classList.add("above");
      if (sought !== "") g.classList.add(matches(n) ? "hit" : "miss");
      make("rect", { x, y: n.depth * HIGH + 1, width, height: HIGH - 1.5, rx: 2 }, g);
      if (room >= 3) make("text", { x: x + 4, y: n.depth * HIGH + 13 }, g, fit(n.text, room));
      g.node = n;
      n.element = g;
    }
    box.replaceChildren(svg);
    tell();
  };
  const tell = () => {
    const [sum, lines] = found(), folded = D.trees[select.selectedIndex].folded;
    const out = [];
    if (sought !== "") out.push(lines ? `${lines} line${lines === 1 ? "" : "s"}, ${seconds(sum)}, ${share(sum, time(top))} of what is shown` : "nothing found");
    else out.push(`${top === nodes[0] ? "All" : top.text}: ${seconds(time(top))} of threads${which ? " while they ran" : `, ${top.looks} samples`}`);
    if (time(top) === 0) out.push("nothing ran");
    if (folded) out.push(`${folded} line${folded === 1 ? "" : "s"} too short to be seen ${folded === 1 ? "is" : "are"} folded away`);
    says.textContent = out.join("; ");
  };
  const zoom = (n) => {
    const had = box.contains(document.activeElement);
    top = n;
    current = n;
    draw();
    if (had) focusOn(n);
  };
  const focusOn = (n) => {
    if (!n || !n.element) return;
    if (current.element) current.element.setAttribute("tabindex", -1);
    current = n;
    n.element.setAttribute("tabindex", 0);
    n.element.focus();
  };
  const reset = () => {
    search.value = sought = "";
    zoom(nodes[0]);
  };

  /* ---- moving in it ---- */

  const beside = (n, by) => {
    const row = shown.filter((m) => m.depth === n.depth);
    return row[row.indexOf(n) + by];
  };
  const nextHit = (by) => {
    const hits = shown.filter(matches), at = hits.indexOf(current);
    return hits[at < 0 ? 0 : (at + by + hits.length) % hits.length];
  };
  const keys = {
    ArrowUp: () => focusOn(current.parent),
    ArrowDown: () => focusOn(shown.find((n) => n.parent === current)),
    ArrowLeft: () => focusOn(beside(current, -1)),
    ArrowRight: () => focusOn(beside(current, 1)),
    Home: () => focusOn(shown[0]),
    n: () => focusOn(nextHit(1)),
    N: () => focusOn(nextHit(-1)),
    Enter: () => zoom(current),
    " ": () => zoom(current),
    Backspace: () => zoom(top.parent || top),
    Escape: () => reset(),
    "/": () => search.focus(),
  };
  box.addEventListener("keydown", (e) => {
    if (!(e.key in keys) || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
    if (e.key.startsWith("Arrow") || e.key === "Home") showTip(current, current.element.getBoundingClientRect());
  });
  const at = (e) => (e.target.closest("g") || {}).node;
  box.addEventListener("click", (e) => {
    const n = at(e);
    if (n) zoom(n);
  });
  const showTip = (n, spot) => {
    tip.textContent = facts(n).join("\n");
    tip.style.display = "block";
    tip.style.left = `${Math.max(4, Math.min(spot.left + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(spot.bottom + 6, innerHeight - tip.offsetHeight - 8))}px`;
  };
  const hideTip = () => { tip.style.display = "none"; };
  box.addEventListener("pointermove", (e) => {
    const n = at(e);
    if (n) showTip(n, { left: e.clientX, bottom: e.clientY + 8 });
    else hideTip();
  });
  box.addEventListener("pointerleave", hideTip);
  box.addEventListener("focusout", hideTip);
  box.addEventListener("focusin", (e) => {
    const n = at(e);
    if (n) current = n;
  });

  /* ---- tools ---- */

  const label = html("label", { class: "note" }, tools, "Time ");
  const select = html("select", {}, label);
  D.trees.forEach((t) => html("option", {}, select, t.title));
  const open = () => {
    nodes = read(D.trees[select.selectedIndex]);
    top = current = nodes[0];
    draw();
  };
  select.addEventListener("change", open);
  const ways = [["all time", "time of threads, whatever they did"], ["while running", "time on a CPU, or with the interpreter's lock"]].map(([text, title], i) => {
    const b = html("button", { type: "button", title, "aria-pressed": String(i === 0) }, tools, text);
    b.addEventListener("click", () => {
      which = i;
      ways.forEach((other, k) => other.setAttribute("aria-pressed", String(k === i)));
      draw();
    });
    return b;
  });
  const search = html("input", { type: "search", placeholder: "search", "aria-label": "search lines, files and processes" }, tools);
  search.addEventListener("input", () => { sought = search.value.trim().toLowerCase(); draw(); });
  search.addEventListener("keydown", (e) => {
    if (e.key === "Enter") focusOn(nextHit(1));
    if (e.key === "Escape") reset();
  });
  const all = html("button", { type: "button" }, tools, "show all");
  all.addEventListener("click", reset);
  const legend = html("div", { class: "legend" }, root);
  for (const [kind, text] of [["user", "the program's own code"], ["library", "libraries"], ["interpreter", "the interpreter's own"], ["call", "waiting, in a system call"], ["who", "processes and threads"]]) {
    if (!D.names.some((n) => n[1] === kind)) continue;
    const entry = html("span", {}, legend), key = make("svg", { viewBox: "0 0 16 8", "aria-hidden": "true" }, entry);
    make("rect", { width: 16, height: 8, rx: 2 }, make("g", { class: `line ${kind}` }, key));
    entry.append(text);
  }
  open();
  let wide = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== wide) { wide = innerWidth; draw(); } });
})();
