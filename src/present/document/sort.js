"use strict";
/* Tables are sorted by a click on a title; a second click turns the order around. */
(() => {
  for (const table of document.querySelectorAll("table")) {
    if (!table.tHead) continue;
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    heads.forEach((th, column) => {
      if (!th.textContent) return;
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = th.textContent;
      th.replaceChildren(b);
      b.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") === "descending" ? 1 : -1;
        const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, z) => {
          const p = key(a), q = key(z), m = p === "" || p === "--", n = q === "" || q === "--";
          if (m || n) return m - n; /* missing is last, whatever the direction */
          return down * (isNaN(p) || isNaN(q) ? p.localeCompare(q, "en", { numeric: true }) : p - q);
        });
        body.append(...rows);
      });
    });
  }
})();
