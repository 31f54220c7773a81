// Elements out of text: nothing that was pasted, and nothing that a document says, is taken for markup.

import { oneLine } from "./text.js";

const MAX_UNFOLDED = 1000;

/** An element with a class (or none) and children: elements, and texts that are shown as they are. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  for (const child of children) {
    if (child) made.append(typeof child === "string" ? oneLine(child) : child);
  }
  return made;
}

export function code(text) {
  return element("code", "", text);
}

/** A sentence whose places `{0}`, `{1}` … are taken by elements or texts. */
export function sentence(text, ...values) {
  const parts = text.split(/\{(\d)\}/).map((part, at) => (at % 2 ? values[Number(part)] : part));
  return parts.filter(Boolean).map((part) => (typeof part === "string" ? document.createTextNode(oneLine(part)) : part));
}

/** Something folded whose content is made when it is opened for the first time. */
export function folded(summary, make) {
  const made = element("details", "", element("summary", "", summary));
  const fill = () => {
    if (made.childElementCount === 1) made.append(...make());
  };
  made.addEventListener("toggle", fill);
  made.fill = fill;
  return made;
}

/** A list of which the first items are shown and the rest is folded; of very long ones the end is only counted. */
export function foldedList(items, shown, make, summary, beyond) {
  const list = element("ul", "", ...items.slice(0, shown).map(make));
  const rest = items.slice(shown);
  if (!rest.length) return [list];
  return [list, folded(summary(rest.length), () => longList(rest, make, beyond))];
}

/** A list of which so much is shown as a page can take. */
export function longList(items, make, beyond) {
  const list = element("ul", "", ...items.slice(0, MAX_UNFOLDED).map(make));
  const left = items.length - MAX_UNFOLDED;
  return left > 0 ? [list, element("p", "", beyond(left))] : [list];
}
