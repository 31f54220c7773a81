// The look-up page: takes what is pasted or dropped, asks the worker, shows the answer.

const MAX_BYTES = 64 << 20;
const SECONDS = 60;
const SHARED = 4000;
const REASONS = 6;

export function start(form) {
  const words = JSON.parse(form.dataset.words);
  const base = new URL(form.dataset.assets, location.href);
  const site = new URL(form.dataset.site, location.href);
  const pages = document.documentElement.lang.startsWith("zh") ? new URL("zh/", site) : site;
  const [repo, input, file, share] = ["repo", "input", "file", "share"].map((name) => document.getElementById(`rulebook-${name}`));
  const status = document.getElementById("rulebook-status");
  const answer = document.getElementById("rulebook-answer");
  let worker = null;
  let timer = 0;
  let number = 0;

  const say = (key, ...values) => words[key].replace(/\{(\d)\}/g, (_, at) => values[at]);

  function tell(text) {
    status.textContent = text;
  }

  function stop() {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
  }

  function ask(content) {
    answer.replaceChildren();
    share.hidden = true;
    const size = typeof content === "string" ? content.length : content.byteLength;
    if (!size || (typeof content === "string" && !content.trim())) return tell(say("empty"));
    if (size > MAX_BYTES) return tell(say("large", MAX_BYTES >> 20));
    tell(say("working"));
    worker ??= begin();
    number += 1;
    clearTimeout(timer);
    timer = setTimeout(() => {
      stop();
      tell(say("slow", SECONDS));
    }, SECONDS * 1000);
    const url = new URL(`lookup/data/${encodeURIComponent(repo.value)}.json`, site).href;
    worker.postMessage({ number, url, input: content });
    if (typeof content === "string") offerLink(content);
    return undefined;
  }

  function begin() {
    const made = new Worker(new URL("worker.js", base), { type: "module" });
    made.addEventListener("message", ({ data }) => {
      if (data.number !== number) return;
      clearTimeout(timer);
      if (data.error) tell(data.known ? data.error : say("failed", data.error));
      else show(data);
    });
    made.addEventListener("error", (event) => {
      stop();
      tell(say("failed", event.message || "worker"));
    });
    return made;
  }

  function offerLink(content) {
    const query = new URLSearchParams({ repo: repo.value, paths: content });
    if (content.length > SHARED) return;
    share.href = `#${query}`;
    share.hidden = false;
  }

  function show({ answer: found, urls, unjudged, took }) {
    const direct = found.rules.filter((rule) => rule.relevance === "direct");
    tell(say("summary", found.rules.length, direct.length));
    status.dataset.milliseconds = took.toFixed(1);
    const parts = found.notes.map((note) => element("p", note));
    for (const relevance of ["direct", "possible"]) {
      const rules = found.rules.filter((rule) => rule.relevance === relevance);
      if (!rules.length) continue;
      parts.push(element("h2", say(relevance)), element("ul", ...rules.map((rule) => ruleItem(rule, urls, unjudged))));
    }
    if (found.reviews.length) parts.push(element("h2", say("reviews")), element("ul", ...found.reviews.map((review) => element("li", link(review, urls)))));
    if (found.unmatched.length) parts.push(element("h2", say("unmatched")), element("ul", ...found.unmatched.map((path) => element("li", element("code", path)))));
    answer.replaceChildren(...parts);
    answer.dataset.json = JSON.stringify(found);
  }

  function ruleItem(rule, urls, unjudged) {
    const reasons = rule.reasons.slice(0, REASONS).map(({ kind, path, line, pattern, text }) =>
      element("li", element("code", line ? `${path}:${line}` : path), ` ${kind} `, element("code", pattern), text && kind !== "source" ? " " : "", text ? element("code", text) : ""),
    );
    if (rule.reasons.length > REASONS) reasons.push(element("li", say("more", rule.reasons.length - REASONS)));
    const missing = rule.missing_cochanges.map(({ path, because }) => element("li", element("strong", say("missing", path, because))));
    const left = (unjudged[rule.id] ?? []).map((text) => element("li", say("unjudged", text)));
    return element("li", link(rule, urls), ` (${rule.severity}) `, element("ul", ...missing, ...reasons, ...left));
  }

  function link(item, urls) {
    const anchor = element("a", `${item.id}: ${item.title}`);
    anchor.href = new URL(urls[item.id], pages).href;
    return anchor;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(input.value);
  });
  file.addEventListener("change", async () => {
    if (file.files.length) ask(await bytesOf(file.files[0]));
  });
  for (const kind of ["dragover", "drop"]) {
    form.addEventListener(kind, async (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files.length) ask(await bytesOf(event.dataTransfer.files[0]));
    });
  }
  const openShared = () => {
    const query = new URLSearchParams(location.hash.slice(1));
    if (!query.has("paths")) return;
    if ([...repo.options].some((option) => option.value === query.get("repo"))) repo.value = query.get("repo");
    input.value = query.get("paths");
    ask(input.value);
  };
  window.addEventListener("hashchange", openShared);
  openShared();
}

async function bytesOf(file) {
  return file.size > MAX_BYTES ? { byteLength: file.size } : new Uint8Array(await file.arrayBuffer());
}

function element(name, ...children) {
  const made = document.createElement(name);
  // Text only: nothing that was pasted or that a rule says is taken for markup.
  made.append(...children.filter((child) => child !== "").map((child) => (typeof child === "string" ? visible(child) : child)));
  return made;
}

/** Controls and marks that turn the direction of writing are shown as escapes. */
function visible(text) {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu, (char) => `\\u${char.codePointAt(0).toString(16).padStart(4, "0")}`);
}
