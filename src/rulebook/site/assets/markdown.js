// An answer as Markdown for a comment or an issue: what `rulebook applies --format md` writes, in the page's language.
//
// Follows rulebook/render/md.py; its comments say why foreign text is escaped or becomes code.

import { placeOf, sideSpeaker } from "./sides.js";
import { WORD, oneLine } from "./text.js";

const MARKUP = /[\\`*_{}[\]()#+\-.!|<>~&:/@$^="']/g;
const OWN_CODE = /(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/gu;
const ALIVE = new RegExp(
  `@|#\\p{Nd}|(?<![${WORD}])GH-\\p{Nd}|://|www\\.|(?<![${WORD}])[0-9a-f]{7,40}(?![${WORD}])|:[${WORD}+\\-]+:|\\$`,
  "iu",
);
const ENTITIES = { "<": "&lt;", ">": "&gt;", "&": "&amp;", ":": "&#58;", "#": "&#35;" };
const SHOWN_PATHS = 100;
const SHOWN_REASONS = 4;
const SHOWN_OF_PLACES = 5;
const SHOWN_OF_LABELS = 3;

/** The whole answer; `title` gives a document's title in the page's language. */
export function toMarkdown({ answer, unread }, { say, words, title }) {
  return `${[...lines(answer, unread, { say, words, title })].join("\n")}\n`;
}

function* lines(answer, unread, { say, words, title }) {
  yield* [`## ${say("md_heading", code(answer.repo))}`, ""];
  if (!answer.complete) yield* [words.md_incomplete, ""];
  if (answer.paths.length && unread === answer.paths.length) yield* [words.md_only_places, ""];
  const sideWords = sideSpeaker(answer.paths, say);
  for (const relevance of ["direct", "possible"]) {
    const rules = answer.rules.filter((rule) => rule.relevance === relevance);
    if (!rules.length) continue;
    yield* [`### ${say(relevance, String(rules.length))}`, ""];
    for (const rule of rules) {
      const status = rule.status === "active" ? "" : `, ${words[`is_${rule.status}`] ?? rule.status}`;
      yield `- **${escape(rule.id)}** (${words[`is_${rule.severity}`]}${status}) ${escape(title(rule))}`;
      yield* reasonLines(rule, sideWords, { say, words });
      for (const waiver of rule.waived_by) yield `  - ${say("waived_by", code(waiver))}`;
    }
    yield "";
  }
  if (!answer.rules.length) yield* [words.no_rule, ""];
  if (answer.reviews.length) {
    yield* [`### ${say("reviews", String(answer.reviews.length))}`, ""];
    const shown = related(answer.reviews);
    for (const review of shown) yield `- ${escape(review.id)} ${escape(title(review))}`;
    const left = answer.reviews.filter((review) => !shown.includes(review));
    const places = left.filter(isByPlace).length;
    const told = places ? [say("more_of_places", places)] : [];
    if (left.length > places) told.push(say("more_of_labels", left.length - places));
    if (told.length) yield `- ${say("md_more_digests", told.join(words.and))}`;
    yield "";
  }
  if (answer.unmatched.length) {
    yield* [`<details><summary>${say("md_unmatched", answer.unmatched.length)}</summary>`, ""];
    for (const path of answer.unmatched.slice(0, SHOWN_PATHS)) yield `- ${code(path)}`;
    const left = answer.unmatched.length - SHOWN_PATHS;
    if (left > 0) yield `- ${say("md_more", String(left))}`;
    yield* ["", "</details>", ""];
  }
  yield `${say("examined", say("rules", answer.examined.rules), say("digests", answer.examined.reviews))}.`;
}

/** The digests of the same places, then a few that share a label: see `related` of rulebook/render/text.py. */
function related(reviews) {
  const places = reviews.filter(isByPlace);
  const labels = reviews.filter((review) => !isByPlace(review));
  return [...places.slice(0, SHOWN_OF_PLACES), ...labels.slice(0, Math.max(SHOWN_OF_LABELS - places.length, 0))];
}

const isByPlace = (review) => review.reasons.some((reason) => reason.kind === "path");

function* reasonLines(rule, sideWords, { say, words }) {
  const reasons = rule.reasons.filter((reason) => reason.kind !== "cochange");
  for (const reason of reasons.slice(0, SHOWN_REASONS)) {
    const place = code(placeOf(reason));
    const side = reason.line ? (reason.side === "old" ? words.md_removed : "") : escape(sideWords(reason));
    const text = reason.text ? `: ${code(reason.text)}` : "";
    yield `  - ${place}${side} ${words[`md_${reason.kind}`]} ${code(reason.pattern)}${text}`;
  }
  if (reasons.length > SHOWN_REASONS) yield `  - ${say("more_reasons", reasons.length - SHOWN_REASONS)}`;
  for (const { path, because } of rule.missing_cochanges) {
    yield `  - [ ] ${words.missing} ${code(path)}${because ? `: ${escape(because)}` : ""}`;
  }
}

/** Text as text: what Markdown could take for markup is escaped, and words that GitHub would act on become code. */
export function escape(foreign) {
  const text = oneLine(foreign);
  let written = "";
  const add = (piece) => {
    if (!piece) return;
    // Two runs of backticks would become one.
    written += written.endsWith("`") && piece.startsWith("`") ? ` ${piece}` : piece;
  };
  const addWords = (part) => {
    if (!ALIVE.test(part)) return add(plain(part));
    for (const word of part.split(/( +)/)) add(ALIVE.test(word) ? code(word) : plain(word));
    return undefined;
  };
  let position = 0;
  for (const span of text.matchAll(OWN_CODE)) {
    addWords(text.slice(position, span.index));
    add(code(span[2]));
    position = span.index + span[0].length;
  }
  addWords(text.slice(position));
  return written;
}

function plain(text) {
  return text.replace(MARKUP, (char) => ENTITIES[char] ?? `\\${char}`);
}

/** A code span that its own content cannot end. */
export function code(text) {
  const safe = oneLine(text) || " ";
  const longest = Math.max(0, ...(safe.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  const pad = /^[` ]|[` ]$/.test(safe) ? " " : "";
  return fence + pad + safe + pad + fence;
}
