// The look-up page: takes what is pasted, chosen or dropped, asks the worker, shows the answer.

import { showAnswer, summarise } from "./answer.js";
import { element } from "./dom.js";
import { toMarkdown } from "./markdown.js";
import { oneLine, toJson } from "./text.js";
import { speaker } from "./words.js";

const MAX_BYTES = 64 << 20;
// A field with more text than this makes a browser slow: it is kept beside the field. What a tool types for somebody
// comes line by line, at a cost that Chromium lets grow with the square of the lines.
const MAX_FIELD = 256 << 10;
const MAX_TYPED = 4 << 10;
// RFC 9110, section 4.1: what everybody should support.
const MAX_LINK = 8000;
const REMEMBERED = "rulebook.repository";

export function start(form) {
  const words = JSON.parse(form.dataset.words);
  const lang = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
  const say = speaker(words, lang);
  const site = new URL(form.dataset.site, location.href);
  const pages = lang === "zh" ? new URL("zh/", site) : site;
  const part = (name) => document.getElementById(`rulebook-${name}`);
  const [repo, input, file, held, status, answer] = ["repo", "input", "file", "held", "status", "answer"].map(part);
  const [stopButton, clearButton, exampleButton] = ["stop", "clear", "example"].map(part);
  const beginning = [...answer.childNodes];

  let worker = null;
  let timer = 0;
  let number = 0;
  let judging = "";
  let asking = null;
  // What was given and stands in no field: {name, content}, the content as text or as bytes.
  let kept = null;
  let example = [];

  // --- asking ---

  const dataUrl = () => new URL(`lookup/data/${encodeURIComponent(repo.value)}.json`, site).href;

  /** Says something; what the answer shows as well is only said to those who cannot see it. */
  function tell(text, { isShown = false } = {}) {
    status.textContent = oneLine(text);
    status.classList.toggle("rulebook-status--shown", isShown);
  }

  function fail(text) {
    settle();
    answer.replaceChildren();
    tell(text);
  }

  /** Ends what was going on. */
  function settle() {
    clearTimeout(timer);
    number += 1;
    judging = "";
    asking = null;
    stopButton.disabled = true;
    answer.removeAttribute("aria-busy");
  }

  function endWorker() {
    worker?.terminate();
    worker = null;
  }

  function ask(content, { shared = false } = {}) {
    settle();
    const size = typeof content === "string" ? content.length : content.byteLength;
    if (!size || (typeof content === "string" && !content.trim())) return fail(say("empty"));
    if (size > MAX_BYTES) return fail(say("large", MAX_BYTES >> 20));
    if (!repo.value) {
      fail(say("no_repo"));
      repo.focus();
      return undefined;
    }
    remember(repo.value);
    tell(say("working"));
    answer.setAttribute("aria-busy", "true");
    stopButton.disabled = false;
    asking = { content, repo: repo.value, focus: shared ? null : document.activeElement };
    const seconds = Number(form.dataset.seconds);
    timer = setTimeout(() => {
      const rule = judging;
      endWorker();
      fail(rule ? say("slow_rule", seconds, rule) : say("slow", seconds));
    }, seconds * 1000);
    (worker ??= begin()).postMessage({ number, url: dataUrl(), input: content });
    return undefined;
  }

  /** Reads a repository's data before anything is asked about it. */
  function prepare() {
    exampleButton.disabled = true;
    if (repo.value) (worker ??= begin()).postMessage({ url: dataUrl() });
  }

  function begin() {
    const made = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    made.addEventListener("message", ({ data }) => receive(data));
    made.addEventListener("error", (event) => {
      endWorker();
      fail(say("failed", event.message || "worker"));
    });
    return made;
  }

  function receive(data) {
    if (data.opened) {
      if (data.opened === dataUrl()) {
        example = data.example;
        exampleButton.disabled = !example.length;
      }
    } else if (data.number !== number) {
      // An answer to a question that was replaced by another one.
    } else if (data.judging) {
      judging = data.judging;
    } else if (data.error !== undefined) {
      const hint = data.hint ? ` ${say("hint", data.hint[0].toUpperCase() + data.hint.slice(1))}` : "";
      fail(data.known ? say("cannot", data.error) + hint : say("failed", data.error));
    } else {
      show(data.found);
      status.dataset.milliseconds = data.milliseconds.toFixed(1);
    }
  }

  // --- showing ---

  function show(found) {
    const { content, repo: asked, focus } = asking;
    settle();
    tell(summarise(found, say), { isShown: true });
    const [heading, ...parts] = showAnswer(found, { say, words, pages, lang });
    answer.replaceChildren(heading, ...parts.slice(0, 1), toolbar(found, content, asked), ...parts.slice(1));
    // Whoever went on meanwhile is not called back.
    if (focus && (document.activeElement === focus || document.activeElement === document.body)) heading.focus();
  }

  function toolbar(found, content, asked) {
    const bar = element("p", "rulebook-toolbar");
    const titles = (item) => found.documents.get(`${item.location.path}\n${item.location.line}`)?.titles?.[lang] ?? item.title;
    bar.append(
      button(words.markdown, () => copy(toMarkdown(found, { say, words, title: titles }), words.copied)),
      button(words.json, () => download(toJson(found.answer), `${asked}.json`)),
      ...linkTo(content, asked),
    );
    return bar;
  }

  function linkTo(content, asked) {
    if (typeof content !== "string") return [element("small", "", words.no_link)];
    const link = element("a", "md-button", words.share);
    link.id = "rulebook-share";
    link.href = `#${new URLSearchParams({ repo: asked, paths: content })}`;
    if (link.href.length > MAX_LINK) return [element("small", "", say("too_long", link.href.length, MAX_LINK))];
    link.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(history.state, "", link.href);
      copy(link.href, words.link_copied);
    });
    return [link];
  }

  function button(text, act) {
    const made = element("button", "md-button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  async function copy(text, said) {
    try {
      await navigator.clipboard.writeText(text);
      tell(said);
    } catch {
      // Without leave, or without a secure context, there is no clipboard.
      const field = element("textarea", "rulebook-copy");
      field.readOnly = true;
      field.value = text;
      field.setAttribute("aria-label", words.copy_here);
      answer.querySelector(".rulebook-copy")?.remove();
      answer.querySelector(".rulebook-toolbar").after(field);
      tell(words.copy_here);
      field.focus();
      field.select();
    }
  }

  function download(text, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // --- what is given ---

  /** Keeps something beside the field, and asks about it. */
  function keep(name, content) {
    kept = { name, content };
    input.value = "";
    const size = typeof content === "string" ? content.length : content.byteLength;
    const unit = size < 1 << 20 ? "kilobyte" : "megabyte";
    const format = { style: "unit", unit, maximumFractionDigits: 1 };
    held.textContent = oneLine(say("held", name, new Intl.NumberFormat(lang, format).format(size / (unit === "kilobyte" ? 1e3 : 1e6))));
    ask(content);
  }

  function letGo() {
    kept = null;
    held.textContent = "";
  }

  async function take(files) {
    if (files.length !== 1) return fail(say("several"));
    const [given] = files;
    if (given.size > MAX_BYTES) return fail(say("large", MAX_BYTES >> 20));
    tell(say("working"));
    try {
      keep(given.name, new Uint8Array(await given.arrayBuffer()));
    } catch (error) {
      // A folder, say, or a file that is gone.
      fail(say("unreadable", given.name, error.message));
    }
    return undefined;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(kept ? kept.content : input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  input.addEventListener("input", () => {
    if (input.value) {
      letGo();
      file.value = "";
    }
  });
  // However much text comes into the field: pasted, dropped, or put in by a tool.
  input.addEventListener("beforeinput", (event) => {
    const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    if (text.length <= (event.inputType === "insertText" ? MAX_TYPED : MAX_FIELD)) return;
    event.preventDefault();
    keep(words.pasted, text);
  });
  input.addEventListener("paste", (event) => {
    const data = event.clipboardData;
    const text = data?.getData("text/plain") ?? "";
    if (!data?.files.length && text.length <= MAX_FIELD) return;
    event.preventDefault();
    if (data.files.length) take(data.files);
    else keep(words.pasted, text);
  });
  file.addEventListener("change", () => {
    if (file.files.length) take(file.files);
    else letGo();
  });
  stopButton.addEventListener("click", () => {
    endWorker();
    fail(words.stopped);
    prepare();
  });
  clearButton.addEventListener("click", () => {
    // What is going on would come to an end that nobody waits for.
    if (asking) endWorker();
    settle();
    letGo();
    input.value = "";
    file.value = "";
    tell("");
    answer.replaceChildren(...beginning);
    history.replaceState(history.state, "", location.pathname + location.search);
    prepare();
    input.focus();
  });
  exampleButton.addEventListener("click", () => {
    letGo();
    input.value = example.join("\n");
    ask(input.value);
  });
  repo.addEventListener("change", prepare);

  // --- dropping: anywhere on the page, since a file that misses the form would replace it ---

  let entered = 0;
  const hasFiles = (event) => Boolean(event.dataTransfer?.types.includes("Files"));
  const mark = () => form.classList.toggle("rulebook-lookup--over", entered > 0);
  document.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    entered += 1;
    mark();
  });
  document.addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    entered = Math.max(0, entered - 1);
    mark();
  });
  document.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    entered = 0;
    mark();
    if (!hasFiles(event)) return;
    event.preventDefault();
    file.value = "";
    take(event.dataTransfer.files);
  });

  // What is folded is not printed.
  window.addEventListener("beforeprint", () => {
    for (let left = [...answer.querySelectorAll("details:not([open])")]; left.length; left = [...answer.querySelectorAll("details:not([open])")]) {
      for (const item of left) {
        item.fill?.();
        item.open = true;
      }
    }
  });

  // --- shared questions ---

  function openShared() {
    const query = new URLSearchParams(location.hash.slice(1));
    if (!query.has("paths")) return;
    letGo();
    file.value = "";
    input.value = query.get("paths");
    const wanted = query.get("repo");
    if (wanted !== null) {
      if (![...repo.options].some((option) => option.value && option.value === wanted)) {
        if (repo.options.length > 1) repo.value = "";
        fail(say("unknown_repo", wanted));
        return;
      }
      repo.value = wanted;
    }
    ask(input.value, { shared: true });
  }

  // Whoever was quicker than this script has chosen already.
  const last = repo.value || remembered();
  if ([...repo.options].some((option) => option.value === last)) repo.value = last;
  form.querySelector("[type=submit]").disabled = false;
  window.addEventListener("hashchange", openShared);
  openShared();
  prepare();
}

/** The repository that was asked about last; where nothing may be stored, none. */
function remembered() {
  try {
    return localStorage.getItem(REMEMBERED) ?? "";
  } catch {
    return "";
  }
}

function remember(alias) {
  try {
    localStorage.setItem(REMEMBERED, alias);
  } catch {
    // It is only a convenience.
  }
}
