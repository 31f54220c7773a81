// Answers questions beside the page, so that a large diff never freezes it.

import { InputError, Lookup, readChange } from "./engine.js";

const lookups = new Map();

async function open(url) {
  if (!lookups.has(url)) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${response.status} ${url}`);
    lookups.set(url, new Lookup(await response.json()));
  }
  return lookups.get(url);
}

self.addEventListener("message", async ({ data: { number, url, input } }) => {
  try {
    const lookup = await open(url);
    const begun = performance.now();
    const answer = lookup.applies(readChange(input));
    const took = performance.now() - begun;
    const urls = {};
    const unjudged = {};
    const known = [...lookup.data.rules, ...lookup.data.reviews, ...lookup.data.pinned];
    const shown = new Set([...answer.rules, ...answer.reviews].map(({ id }) => id));
    for (const item of known) {
      const id = item.owner ?? item.id;
      if (!shown.has(id)) continue;
      urls[id] = item.url;
      if (item.unjudged?.length) unjudged[id] = item.unjudged;
    }
    self.postMessage({ number, answer, urls, unjudged, took });
  } catch (error) {
    self.postMessage({ number, error: error.message, known: error instanceof InputError });
  }
});
