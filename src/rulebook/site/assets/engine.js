// Which rules apply to a change, and why: what `rulebook applies --format json` answers, from a file of the site.
//
// Follows rulebook/answer.py and rulebook/match.py; everything that can be compiled was compiled in Python.

import { looksLikeDiff, parseDiff, parsePaths } from "./changes.js";
import { PlaceIndex, matchList } from "./patterns.js";
import { sidesOf } from "./sides.js";
import { enclosing, isPython, outlineSides } from "./symbols.js";
import { SPACE, WORD, compare, compareTexts, escapeRegExp, head, squeeze, strip, toBytes } from "./text.js";

export { InputError } from "./text.js";

const VERSION = 1;
const MAX_SHARED = 2;
// As in rulebook/regexes.py: how much of a line can be looked at, and how much of it always is.
const MAX_LINE = 2000;
const MIN_LIMIT = 120;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;
const QUOTE = 100;
const CHUNK = 500;
/** How much a label tells that one digest alone has, and how much a digest is worth reading by its own account. */
const RARITY = 1_000_000;
const READING = { close: 0, skim: 2, skip: 3 };
const STRENGTH = { line: 0, function: 1, identifier: 2, cochange: 3, source: 4, path: 5, label: 6 };
const SEVERITIES = ["error", "warning", "note"];
const STALE = ["gone", "moved", "changed"];
const WORDS = new RegExp(`(?!\\p{Nd})[${WORD}][${WORD}]*`, "gu");
const IMPORT = new RegExp(`^[${SPACE}]*(?:from[${SPACE}]+[${WORD}.]+[${SPACE}]+)?import[${SPACE}]`, "u");
const IMPORTED_NAME = new RegExp(`^[${SPACE}]*[${WORD}]+(?:[${SPACE}]+as[${SPACE}]+[${WORD}]+)?,[${SPACE}]*(?:#[^\\n]*)?$`, "u");

/** Reads what was pasted or dropped: a diff or a list of paths; throws InputError where it is neither. */
export function readChange(input) {
  const data = toBytes(input);
  return looksLikeDiff(data) ? parseDiff(data) : parsePaths(data);
}

/** Answers questions about one target repository. */
export class Lookup {
  constructor(data) {
    if (data.version !== VERSION) throw new Error(`the data has version ${data.version}, this script reads ${VERSION}`);
    this.data = data;
    this.rules = new PlaceIndex(data.rules.map((rule) => rule.patterns));
    this.reviews = new PlaceIndex(data.reviews.map((review) => review.patterns));
    this.pins = new Map();
    for (const pin of data.pinned) listUnder(this.pins, pin.path).push(pin);
    this.waivers = new Map();
    for (const waiver of data.waivers) if (waiver.repo === data.repo) listUnder(this.waivers, waiver.rule).push(waiver);
  }

  /** The answer, and what a page shows beside it: where documents are, what was not judged, what would tell more. */
  ask(changes, notify) {
    const answer = this.applies(changes, notify);
    const shown = new Set([...answer.rules, ...answer.reviews].map(placeKey));
    const documents = new Map();
    for (const item of [...this.data.rules, ...this.data.reviews, ...this.data.pinned]) {
      if (!shown.has(placeKey(item)) || documents.has(placeKey(item))) continue;
      const { url, titles, unjudged, reading, minutes } = item;
      documents.set(placeKey(item), { url, titles, unjudged, reading, minutes });
    }
    for (const { path, url } of this.data.waivers) documents.set(path, { url });
    return {
      answer,
      documents,
      unread: changes.files.filter((change) => change.hunks === null).length,
      wantFunctions: this.wantFunctions(changes, answer),
    };
  }

  /** The rules that would be surer if the diff showed which functions its lines stand in, by their ids. */
  wantFunctions(changes, answer) {
    if (!changes.files.some((change) => change.hunks?.length)) return [];
    const possible = new Set(answer.rules.filter((rule) => rule.relevance === "possible").map(placeKey));
    return this.data.rules
      .filter((rule) => possible.has(placeKey(rule)) && rule.look_for?.some((signal) => signal.functions))
      .sort((one, other) => compare(one.key, other.key))
      .map((rule) => rule.id);
  }

  /** What `rulebook applies --format json` answers; `notify` is told each rule before its expressions are tried. */
  applies(changes, notify = () => {}) {
    const { data } = this;
    const places = changes.files.flatMap((change) => sidesOf(change).map(([path, side]) => ({ change, path, side, names: path.split("/") })));
    const rules = findHits(this.rules, places);
    const reviews = findHits(this.reviews, places);
    const evidence = { places, files: new Map(), cuts: new Map() };
    const touched = new Map();
    for (const [number, hits] of reviews) {
      touched.set(number, hits.map(pathReason));
    }
    const covered = new Set();
    const matched = [];
    for (const [number, hits] of rules) {
      for (const hit of hits) covered.add(hit.change);
      if (data.rules[number].look_for?.some((signal) => signal.lines)) notify(data.rules[number].id);
      matched.push(judge(data.rules[number], hits, evidence));
    }
    this.addSources(changes, matched);
    matched.sort((one, other) => compare(one.rank, other.rank));
    const paths = new Set(places.map((place) => place.path));
    for (const match of matched) {
      match.answer.waived_by = (this.waivers.get(match.answer.id) ?? [])
        .filter((waiver) => waiver.paths.some((path) => paths.has(path)))
        .map((waiver) => waiver.path)
        .sort(compare);
    }
    const direct = new Set(matched.filter((match) => match.answer.relevance === "direct").map((match) => placeKey(match.answer)));
    const tags = new Set(
      inStoreOrder(rules, data.rules).filter((rule) => direct.has(placeKey(rule))).flatMap((rule) => rule.tags),
    );
    const told = this.addLabelled(tags, touched);
    return {
      version: VERSION,
      repo: data.repo,
      complete: changes.complete,
      paths: changes.files.map(({ path, old_path, status }) => ({ path, old_path, status })),
      rules: matched.map((match) => match.answer),
      reviews: this.rankReviews(touched, told),
      unmatched: changes.files.filter((change) => !covered.has(change)).map((change) => change.path),
      examined: data.examined,
      notes: [...changes.notes, ...cutNotes(evidence)],
    };
  }

  addSources(changes, matched) {
    const withLines = changes.files.filter((change) => change.hunks !== null);
    if (!withLines.some((change) => sidesOf(change).some(([path]) => this.pins.has(path)))) return;
    const before = new Map();
    for (const change of changes.files) for (const [path, side] of sidesOf(change)) if (side !== "new") before.set(path, change);
    const edits = [];
    for (const [path, change] of before) {
      for (const pin of this.pins.get(path) ?? []) {
        const effect = effectOn(pin, change, changes);
        if (effect) edits.push({ pin, path, state: effect[0], because: effect[1] });
      }
    }
    edits.sort((one, other) => compare(editKey(one), editKey(other)));
    const owners = new Map();
    for (const { pin, path, because } of edits) {
      const reason = { kind: "source", path, side: "old", pattern: pin.pin, line: null, text: because };
      listUnder(owners, pin.owner).push({ pin, reason });
    }
    for (const match of matched) {
      const more = owners.get(match.answer.id) ?? [];
      owners.delete(match.answer.id);
      match.answer.reasons = orderReasons([...match.answer.reasons, ...more.map(({ reason }) => reason)]);
    }
    for (const found of owners.values()) {
      const rule = found[0].pin;
      const answer = answerOf({ ...rule, id: rule.owner }, "possible", found.map(({ reason }) => reason), []);
      matched.push({ answer, rank: rankOf(rule, answer, [0, 0, 0, 0]) });
    }
  }

  /** How much the shared labels of a digest tell, by its number: the more, the fewer digests have them. */
  addLabelled(tags, touched) {
    const told = new Map();
    for (const tag of tags) {
      const wanted = tag.toLowerCase();
      const numbers = [...this.data.reviews.keys()].filter((number) => this.data.reviews[number].labels.includes(wanted));
      for (const number of numbers) {
        if (!touched.has(number)) touched.set(number, []);
        touched.get(number).push({ kind: "label", path: "", side: "both", pattern: tag, line: null, text: "" });
        told.set(number, (told.get(number) ?? 0) + Math.floor(RARITY / numbers.length));
      }
    }
    return told;
  }

  rankReviews(touched, told) {
    const found = [...touched].map(([number, reasons]) => {
      const review = this.data.reviews[number];
      const places = reasons.filter((reason) => reason.kind === "path").length;
      const id = review.id.slice(review.id.lastIndexOf("#") + 1);
      const newest = /^\d+$/.test(id) ? -Number(id) : 0;
      const own = review.repo === this.data.repo ? 0 : 1;
      const reading = READING[review.reading] ?? 1;
      const key = [places ? 0 : 1, own, -places, -(told.get(number) ?? 0), reading, newest, review.id];
      return { key, answer: { id: review.id, title: review.title, reasons, location: review.location } };
    });
    return found.sort((one, other) => compare(one.key, other.key)).map(({ answer }) => answer);
  }
}

// --- places ---

function findHits(index, places) {
  const byPath = new Map();
  for (const place of places) listUnder(byPath, place.path).push(place);
  const hits = new Map();
  for (const [path, found] of byPath) {
    for (const [number, pattern] of index.match(path, found[0].names)) {
      const met = listUnder(hits, number);
      const [text] = index.lists[number][pattern];
      for (const place of found) met.push(hitOf(place, pattern, text));
    }
  }
  return hits;
}

/** The list that a map has under a key, a new one where it has none. */
function listUnder(map, key) {
  let found = map.get(key);
  if (!found) map.set(key, (found = []));
  return found;
}

/** A place that met a pattern; spelt out, since a copy by spreading costs several times as much. */
function hitOf({ change, path, side, names }, pattern, text) {
  return { change, path, side, names, pattern, text };
}

/** The rules that were hit in the order in which the command's store gives them. */
function inStoreOrder(hits, rules) {
  const numbers = [...hits.keys()];
  const ordered = [];
  for (let at = 0; at < numbers.length; at += CHUNK) ordered.push(...numbers.slice(at, at + CHUNK).sort((a, b) => a - b));
  return ordered.map((number) => rules[number]);
}

function pathReason(hit) {
  return { kind: "path", path: hit.path, side: hit.side, pattern: hit.text, line: null, text: "" };
}

function placeKey({ location }) {
  return `${location.path}\n${location.line}`;
}

// --- changed lines ---

function linesOf(change, evidence) {
  if (!evidence.files.has(change)) {
    const outlineOf = outlineSides(change);
    const lines = significantLines(change, outlineOf);
    const words = new Map();
    lines.forEach((line, at) => {
      line.start = head(line.text, MAX_LINE);
      for (const word of new Set(line.text.match(WORDS))) listUnder(words, word).push(at);
    });
    evidence.files.set(change, { lines, words, outlineOf });
  }
  return evidence.files.get(change);
}

/** Without blank lines, imports that only moved and, in Python, comments and documentation strings. */
function significantLines(change, outlineOf) {
  const changed = change.hunks.flatMap((hunk) => hunk.lines).filter((line) => line.mark !== " " && strip(line.text));
  const counts = { "+": new Map(), "-": new Map() };
  for (const line of changed) {
    if (!IMPORT.test(line.text) && !IMPORTED_NAME.test(line.text)) continue;
    const text = strip(line.text);
    counts[line.mark].set(text, (counts[line.mark].get(text) ?? 0) + 1);
  }
  const both = () => new Map([...counts["-"]].map(([text, count]) => [text, Math.min(count, counts["+"].get(text) ?? 0)]));
  const moved = { "+": both(), "-": both() };
  const python = isPython(change.path);
  return changed.filter((line) => {
    const text = strip(line.text);
    const left = moved[line.mark].get(text) ?? 0;
    if (left > 0) {
      moved[line.mark].set(text, left - 1);
      return false;
    }
    if (!python) return true;
    const side = line.mark === "+" ? "new" : "old";
    return !text.startsWith("#") && !outlineOf(side).docstrings.has(line[side]);
  });
}

// --- signals ---

/** Where a signal is met; lines that might show it further on than is looked at go into `cuts`, unless it is met elsewhere. */
function findReasons(signal, hits, evidence, cuts) {
  const reasons = new Map();
  const cut = [];
  const add = (reason) => {
    const key = [reason.kind, reason.path, reason.side, reason.pattern].join("\n");
    if (!reasons.has(key)) reasons.set(key, reason);
  };
  const needsLines = Boolean(signal.identifiers || signal.lines || signal.functions);
  const groups = new Map();
  for (const hit of hits) {
    if (needsLines && hit.change.hunks === null) continue;
    if (signal.inside && matchList(signal.inside, hit.names) < 0) continue;
    listUnder(groups, hit.change).push(hit);
  }
  for (const [change, group] of groups) {
    if (signal.changes && !signal.changes.includes(change.status)) continue;
    if (!needsLines) {
      const pattern = signal.changes ? change.status : group[0].text;
      add({ kind: "path", path: group[0].path, side: group[0].side, pattern, line: null, text: "" });
      continue;
    }
    for (const reason of lineReasons(signal, linesOf(change, evidence), group, cut)) add(reason);
  }
  if (!reasons.size) for (const one of cut) cuts.push(one);
  return [...reasons.values()];
}

function* lineReasons(signal, file, group, cuts) {
  const bySide = {};
  for (const hit of group) for (const side of ["old", "new"]) if (hit.side === side || hit.side === "both") bySide[side] = hit.path;
  const names = signal.identifiers ? identifierSearch(signal) : null;
  for (const line of names ? linesWith(names.first, file) : file.lines) {
    const side = line.mark === "+" ? "new" : "old";
    if (!(side in bySide) || (signal.on === "added" && side === "old") || (signal.on === "removed" && side === "new")) continue;
    let name = "";
    if (names) {
      name = names.search.exec(line.text)?.[0] ?? "";
      if (!name) continue;
    }
    let pattern = "";
    let limit = 0;
    if (signal.lines) {
      const expressions = lineSearch(signal);
      pattern = expressions.find((search) => search.expression.test(startOf(line, search.limit)))?.text ?? "";
      if (!pattern) {
        limit = Math.min(...expressions.map((search) => search.limit).filter((limit) => lengthOf(line) > limit));
        if (limit === Infinity) continue;
      }
    }
    let enclosed = "";
    if (signal.functions) {
      enclosed = enclosingMatch(signal.functions, enclosing(file.outlineOf(side), line[side]));
      if (!enclosed) continue;
    }
    if (limit) {
      cuts.push([bySide[side], line[side], limit, lengthOf(line)]);
      continue;
    }
    const [kind, shown] = pattern ? ["line", pattern] : name ? ["identifier", name] : ["function", enclosed];
    const quote = squeeze(line.start);
    const text = Array.from(quote).length <= QUOTE ? quote : `${head(quote, QUOTE - 1)}…`;
    yield { kind, path: bySide[side], side, pattern: shown, line: line[side], text };
  }
}

/** The first characters of a line. */
function startOf(line, limit) {
  return limit === MAX_LINE ? line.start : head(line.start, limit);
}

/** How many characters a line has, counted where it matters. */
function lengthOf(line) {
  if (line.text.length > MIN_LIMIT) line.length ??= line.text.length - (line.text.match(PAIRS)?.length ?? 0);
  return line.length ?? line.text.length;
}

/** What is to be known of lines of which only the beginning was looked at, where that may have hidden something. */
function cutNotes({ cuts }) {
  if (!cuts.size) return [];
  const names = [...cuts.keys()].sort((one, other) => compare(cuts.get(one).key, cuts.get(other).key));
  const [[path, line, limit, length]] = [...cuts.values()].map(({ cut }) => cut).sort(compare);
  const count = (number) => number.toLocaleString("en-US");
  return [
    `What ${names.join(", ")} look${names.length === 1 ? "s" : ""} for may stand further on in long lines, of which` +
      ` the beginning was looked at: of ${path}:${line}, ${count(limit)} of ${count(length)} characters.`,
  ];
}

/** The lines that hold one of the words, in their order. */
function linesWith(words, file) {
  const found = new Set(words.flatMap((word) => file.words.get(word) ?? []));
  return [...found].sort((one, other) => one - other).map((at) => file.lines[at]);
}

const searches = new WeakMap();

function identifierSearch(signal) {
  if (!searches.has(signal.identifiers)) {
    const first = signal.identifiers.map((name) => name.match(WORDS)?.[0]).filter(Boolean);
    const longest = [...signal.identifiers].sort((one, other) => Array.from(other).length - Array.from(one).length);
    const search = new RegExp(`(?<![${WORD}])(?:${longest.map(escapeRegExp).join("|")})(?![${WORD}])`, "u");
    searches.set(signal.identifiers, { first, search });
  }
  return searches.get(signal.identifiers);
}

function lineSearch(signal) {
  if (!searches.has(signal.lines)) {
    const read = ([text, source, flags, limit]) => ({ text, expression: new RegExp(source, flags), limit });
    searches.set(signal.lines, signal.lines.map(read));
  }
  return searches.get(signal.lines);
}

function enclosingMatch(wanted, names) {
  for (const name of [...names].reverse()) {
    const parts = name.split(".");
    for (const asked of wanted) {
      const tail = parts.slice(parts.length - asked.length);
      if (asked.length <= parts.length && asked.every((part, at) => partMatches(part, tail[at]))) return name;
    }
  }
  return "";
}

function partMatches(pattern, part) {
  const [first, ...pieces] = pattern.split("*");
  if (!pieces.length) return pattern === part;
  const last = pieces.pop();
  const end = part.length - last.length;
  if (end < first.length || !part.startsWith(first) || !part.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = part.slice(0, end).indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return true;
}

// --- rules ---

function judge(rule, hits, evidence) {
  const reasons = hits.map(pathReason);
  const cuts = [];
  let evident = [];
  let direct;
  if (rule.look_for === null) {
    rule.telling ??= { identifiers: Object.keys(rule.cited).filter((name) => rule.cited[name] <= MAX_SHARED).sort(compare) };
    if (!rule.telling.identifiers.length || hits.every((hit) => hit.change.hunks === null)) direct = true;
    else {
      evident = findReasons(rule.telling, hits, evidence, []);
      direct = evident.length > 0;
    }
  } else {
    const unseen = [];
    evident = rule.look_for.flatMap((signal) => findReasons(signal, hits, evidence, unseen));
    direct = evident.length > 0 || !rule.look_for.length;
    if (!direct) for (const one of unseen) cuts.push(one);
  }
  const { missing, triggers, shown } = judgeCoChanges(rule, hits, evidence, cuts);
  if (cuts.length) evidence.cuts.set(rule.id, { key: rule.key, cut: cuts.sort(compare)[0] });
  const answer = answerOf(rule, direct || shown ? "direct" : "possible", [...evident, ...triggers, ...reasons], missing);
  const met = [...new Set(hits.map((hit) => hit.pattern))].map((pattern) => rule.sharpness[pattern]);
  const sharpest = met.reduce((best, other) => (compare(other, best) > 0 ? other : best));
  return { answer, rank: rankOf(rule, answer, sharpest) };
}

function judgeCoChanges(rule, hits, evidence, cuts) {
  const missing = new Map();
  const triggers = [];
  let shown = false;
  for (const { when, then, because } of rule.co_changes) {
    const [fired] = findReasons(when, whenHits(when, hits, evidence), evidence, cuts);
    if (!fired) continue;
    const absent = then.filter(
      ([, patterns]) => patterns.length && !evidence.places.some((place) => matchList(patterns, place.names) >= 0),
    );
    for (const [text] of absent) {
      if (missing.has(text)) continue;
      missing.set(text, { path: text, because });
      triggers.push({ ...fired, kind: "cochange", pattern: text });
    }
    shown = shown || (absent.length > 0 && Boolean(when.identifiers || when.lines || when.functions));
  }
  return { missing: [...missing.values()], triggers, shown };
}

function whenHits(when, hits, evidence) {
  if (!when.inside) return hits;
  const found = [];
  for (const place of evidence.places) {
    const pattern = matchList(when.inside, place.names);
    if (pattern >= 0) found.push(hitOf(place, pattern, when.inside[pattern][0]));
  }
  return found;
}

function answerOf(rule, relevance, reasons, missing) {
  const { id, title, severity, status, freshness, location } = rule;
  return {
    id,
    title,
    severity,
    status,
    relevance,
    reasons: orderReasons(reasons),
    missing_cochanges: missing,
    freshness: freshness ?? null,
    waived_by: [],
    location,
  };
}

function rankOf(rule, answer, sharpest) {
  return [
    answer.relevance === "direct" ? 0 : 1,
    SEVERITIES.indexOf(answer.severity),
    sharpest.map((part) => -part),
    rule.key,
    [answer.location.path, answer.location.line],
  ];
}

function orderReasons(reasons) {
  const unique = new Map();
  for (const reason of reasons) {
    const { kind, path, side, pattern, line, text } = reason;
    const key = `${kind}\n${path}\n${side}\n${pattern}\n${line}\n${text}`;
    if (!unique.has(key)) unique.set(key, reason);
  }
  return [...unique.values()].sort(compareReasons);
}

/** The strongest first; spelt out, since lists of keys cost several times as much. */
function compareReasons(one, other) {
  return (
    STRENGTH[one.kind] - STRENGTH[other.kind] ||
    compareTexts(one.path, other.path) ||
    (one.line ?? 0) - (other.line ?? 0) ||
    compareTexts(one.pattern, other.pattern)
  );
}

// --- sources ---

/** What becomes of a pinned place, by the diff alone. */
function effectOn(pin, change, changes) {
  if (change.status === "mode") return null;
  if (change.status === "deleted") return ["gone", `the change removes ${pin.path}`];
  if (change.path !== pin.path) return ["moved", `the change moves ${pin.path} to ${change.path}`];
  if (pin.first && !touches(pin, changes)) return null;
  return ["changed", `the change edits ${pin.path}`];
}

function touches(pin, changes) {
  const change = changes.files.find((file) => (file.old_path || file.path) === pin.path);
  if (!change || change.hunks === null) return true;
  return change.hunks
    .flatMap((hunk) => hunk.lines)
    .some((line) => line.mark !== " " && pin.first <= (line.old || line.new) && (line.old || line.new) <= pin.last);
}

function editKey({ pin, path, state }) {
  return [STALE.indexOf(state), pin.owner, path, pin.pin];
}
