// An answer as a page shows it: what has to be looked at first stands first, everything long is folded.

import { code, element, folded, foldedList, longList, sentence } from "./dom.js";
import { placeOf, sideSpeaker } from "./sides.js";
import { head } from "./text.js";

// As in rulebook/render/text.py.
const SHOWN_REASONS = { direct: 4, possible: 2 };
const SHOWN_PATTERN = 60;
const SHOWN_RULES = 50;
const SHOWN_PATHS = 20;
const SHOWN_DIGESTS = 10;

// As in rulebook/site/writer.py.
const TONES = {
  error: "bad",
  warning: "fair",
  note: "info",
  contested: "fair",
  gone: "bad",
  invalid: "bad",
  moved: "poor",
  changed: "fair",
  fresh: "good",
  close: "good",
  skim: "info",
  direct: "bad",
  possible: "info",
  missing: "fair",
  unmatched: "fair",
};

/** Where a document's facts are filed; see Lookup.ask in engine.js. */
const keyOf = ({ location }) => `${location.path}\n${location.line}`;

/** What is told to those who cannot see the page, in one sentence. */
export function summarise({ answer }, say) {
  return counts(answer, say)
    .map(([text]) => text)
    .join(say("comma"));
}

/** The elements of an answer; `pages` is where the pages in the language `lang` begin. */
export function showAnswer(found, { say, words, pages, lang }) {
  return new Answer(found, { say, words, pages, lang }).parts();
}

function counts(answer, say) {
  const number = (relevance) => answer.rules.filter((rule) => rule.relevance === relevance).length;
  const missing = answer.rules.reduce((sum, rule) => sum + rule.missing_cochanges.length, 0);
  const all = [
    ["direct_count", number("direct"), "direct"],
    ["possible_count", number("possible"), "possible"],
    ["missing_count", missing, "missing"],
    ["unmatched_count", answer.unmatched.length, "unmatched"],
  ];
  return all.filter(([, count], at) => count || at < 2).map(([key, count, name]) => [say(key, count), name, count]);
}

class Answer {
  constructor({ answer, documents, unread, wantFunctions }, { say, words, pages, lang }) {
    Object.assign(this, { answer, documents, unread, wantFunctions, say, words, pages, lang });
    this.sideWords = sideSpeaker(answer.paths, say);
  }

  parts() {
    const { answer, say } = this;
    const heading = element("h2", "", say("heading", answer.repo, say("changed_paths", answer.paths.length)));
    heading.tabIndex = -1;
    const chips = counts(answer, say).map(([text, name, count]) => chip(text, count ? name : "none"));
    const examined = say("examined", say("rules", answer.examined.rules), say("digests", answer.examined.reviews));
    const parts = [heading, element("p", "rulebook-counts", ...spaced(chips), " ", element("small", "", examined)), ...this.notes()];
    for (const relevance of ["direct", "possible"]) parts.push(...this.rules(relevance));
    if (!answer.rules.length) parts.push(element("p", "", say("no_rule")));
    return [...parts, ...this.digests(), ...this.unmatched()];
  }

  notes() {
    const { answer, say, unread } = this;
    const notes = [];
    if (!answer.complete) notes.push(say("incomplete"));
    if (!answer.paths.length) notes.push(say("nothing_changed"));
    else if (answer.unmatched.length === answer.paths.length && !answer.rules.length) notes.push(say("elsewhere", answer.repo));
    if (unread && unread === answer.paths.length) notes.push(say("only_places"));
    else if (unread) notes.push(say("some_places", say("paths", unread)));
    if (this.wantFunctions.length) notes.push(say("want_functions", this.wantFunctions.join(this.words.comma)));
    notes.push(...answer.notes);
    return notes.length ? [element("ul", "rulebook-notes", ...notes.map((note) => element("li", "", note)))] : [];
  }

  // --- rules ---

  rules(relevance) {
    const rules = this.answer.rules.filter((rule) => rule.relevance === relevance);
    if (!rules.length) return [];
    const cards = rules.slice(0, SHOWN_RULES).map((rule) => this.card(rule));
    const rest = rules.slice(SHOWN_RULES);
    if (rest.length) {
      const line = (rule) => element("li", "", chip(this.words[`is_${rule.severity}`], rule.severity), " ", ...this.link(rule));
      cards.push(folded(this.say("more_rules", rest.length), () => longList(rest, line, this.beyond)));
    }
    return [element("h3", "", this.say(relevance, rules.length)), ...cards];
  }

  card(rule) {
    const { say, words } = this;
    const chips = [chip(words[`is_${rule.severity}`], rule.severity)];
    if (rule.status !== "active") chips.push(chip(words[`is_${rule.status}`] ?? rule.status, rule.status));
    if (rule.freshness) chips.push(chip(say("source_state", words[`is_${rule.freshness}`] ?? rule.freshness), rule.freshness));
    const parts = [element("h4", "", ...spaced(chips), " ", ...this.link(rule))];
    if (rule.missing_cochanges.length) {
      parts.push(element("ul", "rulebook-missing", ...rule.missing_cochanges.map((item) => this.missing(rule, item))));
    }
    parts.push(...this.reasons(rule));
    for (const path of rule.waived_by) {
      parts.push(element("p", "rulebook-waived", ...sentence(words.waived_by, this.anchor(code(path), this.documents.get(path)?.url))));
    }
    for (const { text, because } of this.documents.get(keyOf(rule))?.unjudged ?? []) {
      parts.push(element("p", "rulebook-unjudged", ...sentence(words.unjudged, code(text), because)));
    }
    return element("section", `rulebook-card rulebook-card--${rule.severity}`, ...parts);
  }

  missing(rule, { path, because }) {
    const asked = rule.reasons.find((reason) => reason.kind === "cochange" && reason.pattern === path);
    const parts = [element("strong", "", this.words.missing), " ", code(path)];
    if (because) parts.push(": ", because);
    if (asked) parts.push(" (", ...sentence(this.words.asked_by, code(placeOf(asked))), ")");
    return element("li", "", ...parts);
  }

  /** The reasons, those of one line and those of one pattern together. */
  reasons(rule) {
    const groups = new Map();
    for (const reason of rule.reasons) {
      if (reason.kind === "cochange") continue;
      const { kind, path, side, line, pattern } = reason;
      const key = line ? [path, side, line].join("\n") : [kind, pattern].join("\n");
      if (groups.has(key)) groups.get(key).push(reason);
      else groups.set(key, [reason]);
    }
    if (!groups.size) return [];
    const make = (group) => element("li", "", ...(group[0].line ? this.changedLine(group) : this.places(group)));
    return foldedList([...groups.values()], SHOWN_REASONS[rule.relevance], make, (count) => this.say("more_reasons", count), this.beyond);
  }

  changedLine(group) {
    const met = new Map();
    for (const { kind, pattern } of group) met.set(kind, [...(met.get(kind) ?? []), pattern]);
    const parts = [];
    for (const [kind, patterns] of met) {
      const place = parts.length ? "" : code(placeOf(group[0]));
      const all = patterns.flatMap((pattern, at) => [at ? this.words.comma : "", code(shorten(pattern))]);
      parts.push(parts.length ? this.words.comma : "", ...sentence(this.words[kind], place, element("span", "", ...all)));
    }
    const { text, side } = group[0];
    if (text) {
      const mark = side === "old" ? "-" : "+";
      parts.push(element("code", `rulebook-line rulebook-line--${side}`, `${mark} ${text}`));
    }
    return parts;
  }

  places(group) {
    const [first, ...rest] = group;
    if (first.kind === "source") return sentence(this.words.source, code(first.path), this.asOf(first.pattern));
    const parts = sentence(this.words.meets, code(first.path), this.sideWords(first), code(first.pattern));
    if (rest.length) {
      const make = (reason) => element("li", "", code(reason.path), this.sideWords(reason));
      parts.push(folded(this.say("more_paths", rest.length), () => longList(rest, make, this.beyond)));
    }
    return parts;
  }

  /** What a pin says beyond its path: the anchor and the commit, shortened. */
  asOf(pin) {
    const commit = /@([^:]*):/.exec(pin)?.[1] ?? "";
    const anchor = pin.includes("#") ? pin.slice(pin.indexOf("#") + 1) : "";
    return (anchor ? this.say("source_at", anchor) : "") + (commit ? this.say("source_as_of", commit.slice(0, 12)) : "");
  }

  // --- what stands below ---

  digests() {
    const { reviews } = this.answer;
    if (!reviews.length) return [];
    const make = (review) => {
      const { reading, minutes } = this.documents.get(keyOf(review)) ?? {};
      const worth = [this.words[`is_${reading}`], minutes ? this.say("minutes", Number(minutes)) : ""].filter(Boolean);
      const parts = this.link(review);
      if (worth.length) parts.push(" ", chip(worth.join(" · "), reading));
      return element("li", "", ...parts, element("br"), element("small", "", ...this.reviewReason(review)));
    };
    const heading = element("h3", "", this.say("reviews", reviews.length));
    return [heading, ...foldedList(reviews, SHOWN_DIGESTS, make, (count) => this.say("more_digests", count), this.beyond)];
  }

  reviewReason({ reasons }) {
    const paths = reasons.filter((reason) => reason.kind === "path");
    if (!paths.length) {
      const labels = [...new Set(reasons.map((reason) => reason.pattern))];
      return sentence(this.words.labelled, element("span", "", ...labels.flatMap((label, at) => [at ? this.words.comma : "", code(label)])));
    }
    const more = paths.length > 1 ? ` ${this.say("more_paths", paths.length - 1)}` : "";
    return [...sentence(this.words.touched, code(paths[0].pattern), code(paths[0].path)), more];
  }

  /** By their first folders, where there are many. */
  unmatched() {
    const paths = this.answer.unmatched;
    if (!paths.length) return [];
    const heading = element("h3", "", this.say("unmatched", paths.length));
    const make = (path) => element("li", "", code(path));
    if (paths.length <= SHOWN_PATHS) return [heading, element("ul", "", ...paths.map(make))];
    const groups = new Map();
    for (const path of paths) {
      const folder = path.slice(0, path.indexOf("/") + 1);
      if (groups.has(folder)) groups.get(folder).push(path);
      else groups.set(folder, [path]);
    }
    const listed = [...groups].map(([folder, group]) => [`${folder || this.words.root} (${group.length})`, group]);
    const fold = ([summary, group]) => element("li", "", folded(summary, () => longList(group, make, this.beyond)));
    const list = foldedList(listed, SHOWN_PATHS, fold, (count) => this.say("more_paths", count), this.beyond);
    return [heading, element("div", "rulebook-folders", ...list)];
  }

  // --- links ---

  link(item) {
    const { url, titles } = this.documents.get(keyOf(item)) ?? {};
    const title = titles?.[this.lang] ?? item.title;
    return [this.anchor(element("span", "", element("strong", "", item.id), " ", title), url)];
  }

  anchor(content, url) {
    if (!url) return content;
    const made = element("a", "", content);
    made.href = new URL(url, this.pages).href;
    return made;
  }

  beyond = (count) => this.say("more_in_json", count);
}

function chip(text, name) {
  const made = element("span", "rulebook-value", text);
  made.dataset.tone = TONES[name] ?? "mute";
  return made;
}

function spaced(items) {
  return items.flatMap((item, at) => (at ? [" ", item] : [item]));
}

function shorten(text) {
  const cut = head(text, SHOWN_PATTERN);
  return cut === text ? text : `${cut}…`;
}
