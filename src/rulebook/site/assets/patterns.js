// Executes the compiled form of path patterns; the docstring of rulebook/patterns.py says what it means.

/** The compiled pattern in a list that decides on a path, by its place in the list; -1 where the list leaves it out. */
export function matchList(patterns, names) {
  for (let at = patterns.length - 1; at >= 0; at -= 1) {
    const [, negated, alternatives] = patterns[at];
    for (const alternative of alternatives) if (matchAlternative(alternative, names)) return negated ? -1 : at;
  }
  return -1;
}

function matchAlternative([floating, folder, blocks], names) {
  const limit = names.length - folder;
  let start = 0;
  let anywhere = floating;
  for (const block of blocks) {
    const last = limit - block.length;
    const final = anywhere ? last : Math.min(start, last);
    let place = start;
    while (place <= final && !matchBlock(block, names, place)) place += 1;
    if (place > final) return false;
    start = place + block.length;
    anywhere = 1;
  }
  return true;
}

function matchBlock(block, names, place) {
  for (let at = 0; at < block.length; at += 1) if (!matchSegment(block[at], names[place + at])) return false;
  return true;
}

function matchSegment(segment, name) {
  if (typeof segment === "string") return segment === name;
  if (!Array.isArray(segment)) return segment.name === name || matchGlob(segment.glob, name);
  return matchGlob(segment, name);
}

function matchGlob(glob, name) {
  if (!glob.every((chunk) => typeof chunk === "string")) {
    // Atoms stand for code points, of which a JavaScript string may need two units for one.
    return matchChunks(glob.map((chunk) => (typeof chunk === "string" ? Array.from(chunk) : chunk)), Array.from(name), findAtoms);
  }
  return matchChunks(glob, name, (chunk, text, start, end) => {
    const at = text.indexOf(chunk, start);
    return at >= 0 && at + chunk.length <= end ? at : -1;
  });
}

function matchChunks(chunks, name, find) {
  const least = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (name.length < least) return false;
  const first = chunks[0];
  if (find(first, name, 0, first.length) !== 0) return false;
  if (chunks.length === 1) return name.length === least;
  const last = chunks[chunks.length - 1];
  const end = name.length - last.length;
  if (find(last, name, end, name.length) !== end) return false;
  let start = first.length;
  for (const chunk of chunks.slice(1, -1)) {
    start = find(chunk, name, start, end);
    if (start < 0) return false;
    start += chunk.length;
  }
  return true;
}

function findAtoms(chunk, name, start, end) {
  for (let place = start; place + chunk.length <= end; place += 1) {
    if (chunk.every((atom, at) => matchAtom(atom, name[place + at]))) return place;
  }
  return -1;
}

function matchAtom(atom, char) {
  if (atom === 0) return true;
  if (typeof atom === "string") return atom === char;
  const [negated, pairs] = atom;
  const ends = Array.from(pairs, (end) => end.codePointAt(0));
  const point = char.codePointAt(0);
  for (let at = 0; at < ends.length; at += 2) {
    if (ends[at] <= point && point <= ends[at + 1]) return !negated;
  }
  return Boolean(negated);
}

// --- which lists to try ---

/** Lists filed under one token that all paths they match have, the rarest they offer; see rulebook/scope.py. */
export class PlaceIndex {
  constructor(lists) {
    this.lists = lists;
    const offers = lists.map((patterns) =>
      patterns.filter(([, negated]) => !negated).flatMap(([, , alternatives]) => alternatives.map(offeredTokens)),
    );
    const counts = new Map();
    for (const token of offers.flat(2)) counts.set(token, (counts.get(token) ?? 0) + 1);
    this.filed = new Map();
    offers.forEach((alternatives, number) => {
      for (const tokens of alternatives) {
        const token = tokens.reduce((best, other) => (counts.get(other) < counts.get(best) ? other : best));
        if (!this.filed.has(token)) this.filed.set(token, new Set());
        this.filed.get(token).add(number);
      }
    });
  }

  /** The lists that cover a path, in their order, each with the place of the pattern that decides. */
  match(path, names = path.split("/")) {
    const numbers = new Set();
    for (const token of pathTokens(names)) for (const number of this.filed.get(token) ?? []) numbers.add(number);
    return [...numbers]
      .sort((one, other) => one - other)
      .map((number) => [number, matchList(this.lists[number], names)])
      .filter(([, pattern]) => pattern >= 0);
  }
}

function offeredTokens([floating, , blocks]) {
  const tokens = [];
  if (!floating) {
    const wild = blocks[0].findIndex((segment) => typeof segment !== "string");
    const literal = wild < 0 ? blocks[0] : blocks[0].slice(0, wild);
    if (literal.length) tokens.push(`p:${literal.join("/")}`);
  }
  for (const segment of blocks.flat()) {
    if (typeof segment === "string") tokens.push(`s:${segment}`);
    else if (Array.isArray(segment)) tokens.push(...globTokens(segment));
  }
  return tokens.length ? tokens : ["*"];
}

function globTokens(glob) {
  const tokens = [];
  const last = glob.at(-1);
  if (typeof last === "string" && last.includes(".")) tokens.push(`e:${last.slice(last.indexOf("."))}`);
  glob.forEach((chunk, number) => {
    if (typeof chunk !== "string") return;
    const words = chunk.split(/[_.-]/);
    // A word at the end of a chunk may go on behind it, unless the name begins or ends there.
    const whole = words.slice(number ? 1 : 0, number === glob.length - 1 ? words.length : -1);
    tokens.push(...whole.filter(Boolean).map((word) => `w:${word}`));
  });
  return tokens;
}

function pathTokens(names) {
  const tokens = ["*"];
  names.forEach((name, at) => {
    tokens.push(`p:${names.slice(0, at + 1).join("/")}`, `s:${name}`);
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) tokens.push(`e:${name.slice(dot)}`);
    for (const word of name.split(/[_.-]/)) if (word) tokens.push(`w:${word}`);
  });
  return tokens;
}
