// Answers questions beside the page, so that a large diff never freezes it.

import { InputError, Lookup, readChange } from "./engine.js";

const lookups = new Map();

/** The repository's data, read and prepared once; what could not be read is tried again. */
function open(url) {
  if (!lookups.has(url)) {
    const opened = fetchData(url);
    lookups.set(url, opened);
    opened.catch(() => lookups.delete(url));
  }
  return lookups.get(url);
}

async function fetchData(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${url}`);
  return new Lookup(await response.json());
}

async function prepare(url) {
  try {
    const lookup = await open(url);
    self.postMessage({ opened: url, example: lookup.data.example });
  } catch (error) {
    self.postMessage({ opened: url, example: [], error: error.message });
  }
}

async function answer(number, url, input) {
  try {
    const lookup = await open(url);
    const begun = performance.now();
    // Which rule is being judged is told before, since nothing can be told while an expression runs.
    const found = lookup.ask(readChange(input), (judging) => self.postMessage({ number, judging }));
    self.postMessage({ number, found, milliseconds: performance.now() - begun });
  } catch (error) {
    self.postMessage({ number, error: error.message, hint: error.hint ?? "", known: error instanceof InputError });
  }
}

self.addEventListener("message", ({ data: { number, url, input } }) => {
  if (number === undefined) prepare(url);
  else answer(number, url, input);
});
