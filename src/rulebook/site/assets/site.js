// What the pages do: tables that filter and sort, the question on the home page, the page for what is not found.

const form = document.querySelector("form.rulebook-lookup");
if (form) import("./lookup.js").then(({ start }) => start(form));

/** Between the values of an attribute that holds several, see `html.py`. */
const SEPARATOR = "\n";

/** Filters and sorts a table by what stands in its form; the form stands in the address. */
class Filtered {
  constructor(controls) {
    this.controls = controls;
    this.output = controls.querySelector("output");
    this.total = this.output.textContent;
    this.table = controls.parentElement.querySelector(".rulebook-table");
    this.body = this.table.tBodies[0];
    this.rows = [...this.body.rows].map((row, at) => ({
      row,
      at,
      text: row.textContent.toLowerCase(),
      values: Object.fromEntries(Object.entries(row.dataset).map(([key, value]) => [key, value.split(SEPARATOR)])),
    }));
    this.selects = [...controls.querySelectorAll("select")];
    // The choices stand in the order that a table is sorted by.
    this.orders = new Map(this.selects.map((select) => [select.name, [...select.options].map((option) => option.value)]));
    this.sort = "";
    this.read();
    controls.addEventListener("input", () => this.apply());
    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.addEventListener("reset", () => setTimeout(() => this.apply()));
    for (const button of this.table.querySelectorAll(".rulebook-sort")) button.addEventListener("click", () => this.sortBy(button));
    addEventListener("popstate", () => this.read());
  }

  /** Takes the form's state from the address. */
  read() {
    const query = new URLSearchParams(location.search);
    this.controls.elements.text.value = query.get("text") ?? "";
    for (const select of this.selects) {
      const value = query.get(select.name) ?? "";
      select.value = this.orders.get(select.name).includes(value) ? value : "";
    }
    const sort = query.get("sort") ?? "";
    const heading = this.headings().find((cell) => cell.dataset.key === sort.replace(/^-/, ""));
    this.order(heading ? sort : "");
    this.show();
  }

  headings() {
    return [...this.table.tHead.rows[0].cells].filter((cell) => cell.dataset.key);
  }

  apply() {
    this.show();
    const query = new URLSearchParams();
    for (const { name, value } of [this.controls.elements.text, ...this.selects]) if (value) query.set(name, value);
    if (this.sort) query.set("sort", this.sort);
    const search = query.size ? `?${query}` : location.pathname;
    history.replaceState(null, "", search + location.hash);
  }

  show() {
    const words = this.controls.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = this.selects.filter((select) => select.value);
    let shown = 0;
    for (const { row, text, values } of this.rows) {
      const fits = chosen.every(({ name, value }) => values[name]?.includes(value)) && words.every((word) => text.includes(word));
      // Setting what is set already would cost a style of each row.
      if (row.hidden === fits) row.hidden = !fits;
      if (fits) shown += 1;
    }
    this.output.textContent = shown === this.rows.length ? this.total : this.controls.dataset.counted.replace("{}", shown);
  }

  /** One click sorts, the next one the other way round, the third one not at all. */
  sortBy(button) {
    const { key } = button.closest("th").dataset;
    this.order(this.sort === key ? `-${key}` : this.sort === `-${key}` ? "" : key);
    this.apply();
  }

  order(sort) {
    if (sort === this.sort) return;
    this.sort = sort;
    const key = sort.replace(/^-/, "");
    const sign = sort.startsWith("-") ? -1 : 1;
    const order = this.orders.get(key);
    const rank = ({ at, values }) => (order ? order.indexOf(values[key]?.[0] ?? "") : at);
    const rows = key ? [...this.rows].sort((a, b) => sign * (rank(a) - rank(b)) || a.at - b.at) : this.rows;
    this.body.append(...rows.map(({ row }) => row));
    for (const cell of this.headings()) {
      if (cell.dataset.key === key) cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
  }
}

for (const controls of document.querySelectorAll(".rulebook-filters")) new Filtered(controls);

/** The question on the home page is answered on the look-up page, which reads it behind the `#`. */
const question = document.querySelector("form.rulebook-question");
question?.addEventListener("submit", (event) => {
  event.preventDefault();
  const { repo, paths } = question.elements;
  const target = new URL(question.action);
  if (paths.value.trim()) target.hash = new URLSearchParams({ repo: repo.value, paths: paths.value });
  location.assign(target);
});

/** A part of an address as text; what is no UTF-8 stays as it is. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A link into a folded part of the tree unfolds what is around its target. */
function unfold() {
  const target = document.getElementById(decoded(location.hash.slice(1)));
  for (let around = target?.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
}
unfold();
addEventListener("hashchange", unfold);

/** The theme looks at its field when a key is released; what is pasted by the mouse or comes from an input method has none. */
const searched = document.querySelector(".md-search__input");
searched?.addEventListener("input", () => searched.dispatchEvent(new Event("keyup")));

/** What is not found: the last part of its address is what to look for. */
const last = location.pathname.split("/").findLast((part) => part && part !== "index.html");
for (const field of document.querySelectorAll(".rulebook-absent input")) field.value = decoded(last ?? "");
