/**
 * The theme's search, answered by looking for what was typed where it stands: inside Chinese sentences, and at the parts
 * of identifiers. A worker that takes the place of the theme's own one and speaks its protocol, with one difference: the
 * texts are fetched when something is looked for, not with every page.
 *
 * Pages that have all words of the query are listed first, then those that have some, and the theme says which words are
 * missing. Of each kind, pages in the reader's language come first, and of a page and its twin in another language one
 * is listed. Documents that are no part of the knowledge base come after those that are, unless their titles have the
 * words: a guide may name a rule's words as an example.
 */

/** The kinds of messages between the theme and its worker. */
const SETUP = 0;
const READY = 1;
const QUERY = 2;
const RESULT = 3;

const HAN = "\\u3400-\\u9fff\\uf900-\\ufaff";
/** Between words: everything but letters, digits and `_`, and the seam of Chinese and other writing. */
const GAP = new RegExp(`[^\\p{L}\\p{M}\\p{N}_]+|(?<=[${HAN}])(?=[^${HAN}])|(?<=[^${HAN}])(?=[${HAN}])`, "u");
/** Between the parts of an identifier: `parse_extra`, `parseExtra`, `HTTPServer`. */
const PART = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** How the parts of an identifier may be joined in a text. */
const JOINT = "[_-]?";
/** What may stand between the words of a row. */
const BETWEEN = "[^\\p{L}\\p{N}]{0,4}";
const LETTER = /[\p{L}\p{M}\p{N}]/u;
const UPPER = /\p{Lu}/u;
const IS_HAN = new RegExp(`[${HAN}]`, "u");
const ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };

/** How much a place counts; the text itself counts less than 1, however often a word stands there. */
const IN_TITLE = 8;
const IN_HEADING = 2;
/** How well a word stands in a text: for itself, as parts of an identifier, at the beginning of a part, within one. */
const WHOLE = 1;
const PARTS = 0.6;
const BEGINNING = 0.4;
const WITHIN = 0.1;
/** How much more words count that stand in a row as they were typed, and once more if their punctuation does as well. */
const IN_A_ROW = 2;
/** Letters that are shown before and after the place where the words stand. */
const BEFORE = 40;
const AFTER = 200;
const LONGEST_QUERY = 300;
/** How many pages are shown with their sections; a list that long is not read to its end. */
const MOST_SHOWN = 100;

/** What a search is made of: a word, or a piece of one that stands nowhere as it was typed. */
class Term {
  /** @param {string[]} [parts] what the text is joined of */
  constructor(text, parts = text.split(PART).filter(Boolean)) {
    this.text = text;
    this.source = parts.join(JOINT);
    this.parts = parts.map((part) => part.toLowerCase());
    this.pattern = new RegExp(this.source, "giu");
  }

  /** Where it stands in a text of which `folded` is the same in small letters: `[start, end, how well]`. */
  find(text, folded) {
    const found = [];
    // Looking for plain strings is many times as fast as an expression that ignores case.
    if (!this.parts.every((part) => folded.includes(part))) return found;
    for (const match of text.matchAll(this.pattern)) {
      const end = match.index + match[0].length;
      found.push([match.index, end, quality(text, match.index, end)]);
    }
    return found;
  }
}

class Search {
  /**
   * @param {{location: string, title: string, text: string, tags?: string[], boost?: number, guide?: boolean}[]} docs sections, a page's
   *   own text before the others
   * @param {string[]} trees the languages whose pages lie in a folder of that name; all others are in the first language
   * @param {string} lang the reader's language
   */
  constructor(docs, trees, lang) {
    const own = trees.includes(lang) ? lang : undefined;
    const pages = new Map();
    for (const { location, title, text, tags, boost = 1, guide = false } of docs) {
      const [address] = location.split("#");
      if (!pages.has(address)) {
        const tree = trees.find((name) => address.startsWith(`${name}/`));
        const document = tree ? address.slice(tree.length + 1) : address;
        pages.set(address, { own: tree === own, document, boost, guide, sections: [] });
      }
      const section = { location, tags, title: plain(title), text: [plain(text), ...(tags ?? [])].join(" ") };
      section.foldedTitle = section.title.toLowerCase();
      section.foldedText = section.text.toLowerCase();
      pages.get(address).sections.push(section);
    }
    this.pages = [...pages.values()];
    this.sections = this.pages.flatMap((page) => page.sections);
  }

  /** The pages that answer, best first, each as the sections that the theme shows. */
  search(query) {
    const words = query.normalize("NFKC").slice(0, LONGEST_QUERY).split(GAP).filter((word) => LETTER.test(word));
    const resolved = words.map((word) => this.resolve(word));
    const terms = new Map(resolved.flat().map((term) => [term.source.toLowerCase(), term]));
    const candidates = this.candidates([...terms.values()], new Row(query, words));
    // Where a word was cut, nobody asked for each of its pieces; pages that have most of them answer as well.
    const cut = resolved.some((pieces) => pieces.length > 1);
    if (cut) for (const candidate of candidates) candidate.full = false;
    const listed = new Map();
    for (const candidate of candidates.sort(compare)) {
      const { document } = candidate.page;
      if (!listed.has(document)) listed.set(document, candidate);
    }
    return [...listed.values()].map((candidate, number) => present(candidate, number < MOST_SHOWN));
  }

  /** A word as one term, or as its pieces where it stands nowhere as it was typed. */
  resolve(word) {
    const term = new Term(word);
    if (this.has(term)) return [term];
    if (IS_HAN.test(word)) return this.cut(word).map((piece) => new Term(piece));
    // `additionalkwargs` is `additional_kwargs`.
    const spelt = new Term(word, [...word].filter((letter) => letter !== "_"));
    if (this.has(spelt)) return [spelt];
    const parts = word.split(PART).filter(Boolean);
    return parts.length > 1 ? parts.map((part) => new Term(part)) : [term];
  }

  /** Chinese text as the longest pieces that stand somewhere; single characters are left out where others are found. */
  cut(text) {
    const pieces = [];
    for (let start = 0; start < text.length; ) {
      let end = text.length;
      while (end > start + 1 && !this.has(new Term(text.slice(start, end)))) end -= 1;
      pieces.push(text.slice(start, end));
      start = end;
    }
    const longer = pieces.filter((piece) => piece.length > 1);
    return longer.length ? longer : pieces;
  }

  has(term) {
    return this.sections.some(
      (section) => term.find(section.title, section.foldedTitle).length || term.find(section.text, section.foldedText).length,
    );
  }

  candidates(terms, row) {
    const found = [];
    const counts = terms.map(() => 0);
    for (const page of this.pages) {
      const hits = page.sections.map((section) => ({
        section,
        title: terms.map((term) => term.find(section.title, section.foldedTitle)),
        text: terms.map((term) => term.find(section.text, section.foldedText)),
      }));
      const has = terms.map((_, number) => hits.some((hit) => hit.title[number].length || hit.text[number].length));
      has.forEach((yes, number) => (counts[number] += Number(yes)));
      if (has.includes(true)) found.push({ page, hits, terms, has, full: !has.includes(false) });
    }
    // A word that few pages have tells more than one that all of them have.
    const weights = counts.map((count) => Math.log(1 + this.pages.length / (count + 0.5)));
    for (const candidate of found) rate(candidate, weights, row);
    return found;
  }
}

/** The query's words one after another. */
class Row {
  constructor(query, words) {
    const sources = words.map((word) => word.split(PART).filter(Boolean).join(JOINT));
    this.pattern = words.length > 1 ? new RegExp(sources.join(BETWEEN), "giu") : null;
    this.typed = query.trim().toLowerCase();
  }

  /** What a text's score is multiplied by. */
  factor(text, folded) {
    if (!this.pattern) return 1;
    if (folded.includes(this.typed)) return 1 + 2 * IN_A_ROW;
    let best = 0;
    for (const match of text.matchAll(this.pattern)) {
      best = Math.max(best, quality(text, match.index, match.index + match[0].length));
    }
    return 1 + IN_A_ROW * best;
  }
}

function quality(text, start, end) {
  const before = edge(text, start);
  const after = edge(text, end);
  if (before === 0) return WITHIN;
  if (after === 0) return BEGINNING;
  return before + after === 2 ? WHOLE : PARTS;
}

/** 1 between words, 0.5 between the parts of an identifier, 0 inside of a part. Chinese words have no edges. */
function edge(text, at) {
  const before = text[at - 1] ?? " ";
  const after = text[at] ?? " ";
  if (IS_HAN.test(before) || IS_HAN.test(after)) return 1;
  if (before === "_" || after === "_") return 0.5;
  if (!LETTER.test(before) || !LETTER.test(after)) return 1;
  return UPPER.test(after) && !UPPER.test(before) ? 0.5 : 0;
}

/** Scores a page and its sections. */
function rate(candidate, weights, row) {
  const [page, ...sections] = candidate.hits;
  let most = 1;
  for (const hit of candidate.hits) {
    hit.score = weights.reduce(
      (sum, weight, number) => sum + weight * (IN_HEADING * strongest(hit.title[number]) + saturated(hit.text[number])),
      0,
    );
    if (hit.score > 0) {
      const { title, foldedTitle, text, foldedText } = hit.section;
      const factor = Math.max(row.factor(title, foldedTitle), row.factor(text, foldedText));
      hit.score *= factor;
      most = Math.max(most, factor);
    }
  }
  const total = weights.reduce((sum, weight, number) => {
    const title = IN_TITLE * strongest(page.title[number]);
    const heading = IN_HEADING * strongest(sections.flatMap((hit) => hit.title[number]));
    return sum + weight * (title + heading + saturated(candidate.hits.flatMap((hit) => hit.text[number])));
  }, 0);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const had = weights.reduce((sum, weight, number) => sum + (candidate.has[number] ? weight : 0), 0);
  candidate.rank = rank(candidate);
  candidate.score = total * most * (had / all) ** 2 * candidate.page.boost;
}

function strongest(found) {
  return found.reduce((most, [, , well]) => Math.max(most, well), 0);
}

function saturated(found) {
  const sum = found.reduce((all, [, , well]) => all + well, 0);
  return sum / (sum + 1);
}

/** 2 for pages in the reader's language, 1 for others, 0 for documents beside the knowledge base with words in their text alone. */
function rank({ page, hits, terms }) {
  const isTitled = terms.every((_, number) => hits.some((hit) => hit.title[number].length));
  return page.guide && !isTitled ? 0 : 1 + page.own;
}

/** Pages with all words first, then by rank, then by score. */
function compare(a, b) {
  return b.full - a.full || b.rank - a.rank || b.score - a.score;
}

/** A page's own text and its sections as the theme takes them: it shows those that score as high as the first one. */
function present({ hits, terms, has }, whole) {
  const words = Object.fromEntries(terms.map((term, number) => [term.text, has[number]]));
  const [head, ...sections] = hits
    .filter((hit, number) => number === 0 || (whole && hit.score > 0))
    .map((hit) => ({
      location: hit.section.location,
      title: mark(hit.section.title, hit.title.flat(), 0, hit.section.title.length),
      text: whole ? excerpt(hit.section.text, hit.text) : "",
      score: hit.score,
      terms: words,
      ...(hit.section.tags && { tags: hit.section.tags }),
    }));
  // Where the title alone answers, the best section tells more than nothing.
  const best = Math.max(...sections.map(({ score }) => score));
  if (!head.text && head.score > best && best > 0) head.score = best;
  return [head, ...sections].sort((a, b) => b.score - a.score);
}

/** The text around the place where most of the words stand together; nothing where the title alone has them. */
function excerpt(text, found) {
  if (found.every((at) => at.length === 0)) return "";
  const places = found.flatMap((at, number) => at.map(([start, , well]) => ({ start, well, number })));
  places.sort((a, b) => a.start - b.start);
  let most = 0;
  let begin = 0;
  places.forEach(({ start }, first) => {
    const near = new Map();
    for (let at = first; at < places.length && places[at].start < start + AFTER; at += 1) {
      const { number, well } = places[at];
      near.set(number, Math.max(well, near.get(number) ?? 0));
    }
    const sum = [...near.values()].reduce((all, well) => all + well, 0);
    if (sum > most) [most, begin] = [sum, start];
  });
  const from = Math.max(0, begin - BEFORE);
  const to = Math.min(text.length, begin + AFTER);
  return (from > 0 ? "…" : "") + mark(text, found.flat(), from, to) + (to < text.length ? "…" : "");
}

/** A part of a text as HTML, with what was found marked. */
function mark(text, found, from, to) {
  let html = "";
  let at = from;
  for (const [start, end] of found.sort((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (start < at || end > to) continue;
    html += `${escape(text.slice(at, start))}<mark>${escape(text.slice(start, end))}</mark>`;
    at = end;
  }
  return html + escape(text.slice(at, to));
}

/** Text without markup; an index has nothing but the few elements that the theme keeps, and escaped text. */
function plain(markup) {
  return markup.replace(/<\/?[a-z][^>]*>/g, "").replace(/&(?:lt|gt|quot|#x27|amp);/g, (entity) => ENTITIES[entity]);
}

function escape(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

/** Words of the best page's title that go on as the query's last word begins; the theme completes with them. */
function suggest(items, query) {
  const last = query.split(GAP).pop().toLowerCase();
  const title = items.length ? items[0].find((item) => !item.location.includes("#")).title : "";
  const words = plain(title).toLowerCase().split(GAP);
  return last ? [...new Set(words.filter((word) => word.startsWith(last)))] : [];
}

let trees = [];
let options = {};
let search;

async function load() {
  const answer = await fetch(new URL("../../search/docs.json", self.location));
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}`);
  return new Search(await answer.json(), trees, new URL(self.location).searchParams.get("lang"));
}

async function reply(query) {
  if (!query.trim()) return { items: [] };
  // One load for all that is typed meanwhile; a failed one is tried again.
  search ??= load().catch((error) => {
    search = undefined;
    throw error;
  });
  const items = (await search).search(query);
  return options.suggest ? { items, suggest: suggest(items, query) } : { items };
}

self.addEventListener("message", async ({ data: { type, data } }) => {
  if (type === SETUP) {
    trees = data.config.trees;
    options = data.options;
    self.postMessage({ type: READY });
  } else if (type === QUERY) {
    let result = { items: [] };
    try {
      result = await reply(data);
    } catch (error) {
      console.warn(error);
    }
    self.postMessage({ type: RESULT, data: result });
  }
});
