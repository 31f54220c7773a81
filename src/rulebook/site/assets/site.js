// What the pages do: tables that filter, the look-up form, a page for what is not found.

const zh = document.documentElement.lang.startsWith("zh");

const form = document.getElementById("rulebook-lookup");
if (form) import("./lookup.js").then(({ start }) => start(form));

const FILTERED = new Set(["repository", "status", "severity", "tags", "freshness", "仓库", "状态", "严重程度", "标签", "时效"]);

/** Puts a choice above a table for each of its columns that has few values. */
function addFilters(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = [...table.tHead.rows[0].cells]
    .map((cell, at) => ({ name: cell.textContent.trim(), at, chosen: "" }))
    .filter(({ name }) => FILTERED.has(name));
  // A document's own facts stand in a table with a single row.
  if (columns.length < 4 || rows.length < 2) return;
  const values = (row, at) => row.cells[at].textContent.split(",").map((text) => text.trim()).filter(Boolean);
  const bar = document.createElement("div");
  bar.className = "rulebook-filters";
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const update = () => {
    let shown = 0;
    for (const row of rows) {
      row.hidden = !columns.every(({ at, chosen }) => !chosen || values(row, at).includes(chosen));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} / ${rows.length}`;
  };
  for (const column of columns) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    const known = [...new Set(rows.flatMap((row) => values(row, column.at)))].sort();
    select.append(new Option(zh ? "全部" : "all", ""), ...known.map((value) => new Option(value)));
    select.addEventListener("change", () => {
      column.chosen = select.value;
      update();
    });
    label.append(`${column.name} `, select);
    bar.append(label);
  }
  bar.append(count);
  const place = table.closest(".md-typeset__scrollwrap") ?? table;
  place.before(bar);
  update();
}

for (const table of document.querySelectorAll(".md-content table")) addFilters(table);

/** On the page for what is not found: a link that searches for the last part of the address. */
const missing = document.querySelector(".md-content h1");
if (missing?.textContent.startsWith("404")) {
  const name = decodeURIComponent(location.pathname.replace(/\/+$/, "").split("/").pop() ?? "");
  const home = document.querySelector("a.md-logo")?.href;
  if (name && home) {
    const link = document.createElement("a");
    link.href = new URL(`?q=${encodeURIComponent(name)}`, home).href;
    link.textContent = zh ? `搜索“${name}”` : `Search for “${name}”`;
    const line = document.createElement("p");
    line.append(link);
    missing.after(line);
  }
}
