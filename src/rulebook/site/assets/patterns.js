// Executes the compiled form of path patterns; the docstring of rulebook/patterns.py says what it means.

/** The compiled pattern in a list that decides on a path, by its place in the list; -1 where the list leaves it out. */
export function matchList(patterns, names) {
  for (let at = patterns.length - 1; at >= 0; at -= 1) {
    const alternatives = patterns[at][2];
    for (let number = 0; number < alternatives.length; number += 1) {
      if (matchAlternative(alternatives[number], names)) return patterns[at][1] ? -1 : at;
    }
  }
  return -1;
}

// Read by index: taking arrays apart costs several times as much until the script is hot.
function matchAlternative(alternative, names) {
  const blocks = alternative[2];
  const limit = names.length - alternative[1];
  let start = 0;
  let anywhere = alternative[0];
  for (let number = 0; number < blocks.length; number += 1) {
    const block = blocks[number];
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
  if (glob.every(isText)) return matchChunks(glob, name, findText);
  // Atoms stand for code points, of which a JavaScript string may need two units for one.
  return matchChunks(glob.map((chunk) => (isText(chunk) ? Array.from(chunk) : chunk)), Array.from(name), findAtoms);
}

function isText(chunk) {
  return typeof chunk === "string";
}

function findText(chunk, name, start, end) {
  const at = name.indexOf(chunk, start);
  return at >= 0 && at + chunk.length <= end ? at : -1;
}

function matchChunks(chunks, name, find) {
  let least = 0;
  for (const chunk of chunks) least += chunk.length;
  if (name.length < least) return false;
  const first = chunks[0];
  if (find(first, name, 0, first.length) !== 0) return false;
  if (chunks.length === 1) return name.length === least;
  const last = chunks[chunks.length - 1];
  const end = name.length - last.length;
  if (find(last, name, end, name.length) !== end) return false;
  let start = first.length;
  for (let at = 1; at < chunks.length - 1; at += 1) {
    start = find(chunks[at], name, start, end);
    if (start < 0) return false;
    start += chunks[at].length;
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

const NONE = [];
const WORD_ENDS = new Set(["_", ".", "-"]);

/** Lists filed under one token that all paths they match have, the rarest they offer; see rulebook/scope.py. */
export class PlaceIndex {
  constructor(lists) {
    this.lists = lists;
    const offers = lists.map((patterns) =>
      patterns.filter(([, negated]) => !negated).flatMap(([, , alternatives]) => alternatives.map(offeredTokens)),
    );
    const counts = new Map();
    for (const alternatives of offers) {
      for (const tokens of alternatives) for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
    }
    // By the first letter of a token: a path's beginning, a name, a name's ending, a word of a name, no token at all.
    this.filed = { p: new Map(), s: new Map(), e: new Map(), w: new Map(), "*": new Map() };
    offers.forEach((alternatives, number) => {
      for (const tokens of alternatives) {
        let token = tokens[0];
        for (const other of tokens) if (counts.get(other) < counts.get(token)) token = other;
        const found = this.filed[token[0]];
        const key = token.slice(2);
        const numbers = found.get(key);
        if (!numbers) found.set(key, [number]);
        else if (numbers.at(-1) !== number) numbers.push(number);
      }
    });
    this.folders = new Map();
  }

  /** The lists that cover a path, in their order, each with the place of the pattern that decides. */
  match(path, names = path.split("/")) {
    const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const numbers = new Set(this.numbersBelow(folder, names.length - 1));
    for (const number of this.filed.p.get(path) ?? NONE) numbers.add(number);
    this.addNumbers(names[names.length - 1], numbers);
    const found = [];
    for (const number of [...numbers].sort(ascending)) {
      const pattern = matchList(this.lists[number], names);
      if (pattern >= 0) found.push([number, pattern]);
    }
    return found;
  }

  /** The lists that a folder's tokens lead to, kept since most paths share their folders. */
  numbersBelow(folder, depth) {
    if (!depth) return this.filed["*"].get("") ?? NONE;
    let numbers = this.folders.get(folder);
    if (!numbers) {
      const slash = folder.lastIndexOf("/");
      const found = new Set(this.numbersBelow(folder.slice(0, Math.max(0, slash)), depth - 1));
      for (const number of this.filed.p.get(folder) ?? NONE) found.add(number);
      this.addNumbers(folder.slice(slash + 1), found);
      numbers = [...found];
      this.folders.set(folder, numbers);
    }
    return numbers;
  }

  /** Adds the lists that the tokens of one name lead to. */
  addNumbers(name, numbers) {
    const { s, e, w } = this.filed;
    for (const number of s.get(name) ?? NONE) numbers.add(number);
    let start = 0;
    for (let at = 0; at <= name.length; at += 1) {
      if (at < name.length && !WORD_ENDS.has(name[at])) continue;
      for (const number of w.get(name.slice(start, at)) ?? NONE) numbers.add(number);
      if (name[at] === ".") for (const number of e.get(name.slice(at)) ?? NONE) numbers.add(number);
      start = at + 1;
    }
  }
}

function ascending(one, other) {
  return one - other;
}

function offeredTokens([floating, , blocks]) {
  const tokens = [];
  if (!floating) {
    const wild = blocks[0].findIndex((segment) => typeof segment !== "string");
    const literal = wild < 0 ? blocks[0] : blocks[0].slice(0, wild);
    if (literal.length) tokens.push(`p:${literal.join("/")}`);
  }
  for (const block of blocks) {
    for (const segment of block) {
      if (typeof segment === "string") tokens.push(`s:${segment}`);
      else if (Array.isArray(segment)) addGlobTokens(segment, tokens);
    }
  }
  return tokens.length ? tokens : ["*:"];
}

function addGlobTokens(glob, tokens) {
  const last = glob.at(-1);
  if (typeof last === "string" && last.includes(".")) tokens.push(`e:${last.slice(last.indexOf("."))}`);
  glob.forEach((chunk, number) => {
    if (typeof chunk !== "string") return;
    const words = chunk.split(/[_.-]/);
    // A word at the end of a chunk may go on behind it, unless the name begins or ends there.
    const whole = words.slice(number ? 1 : 0, number === glob.length - 1 ? words.length : -1);
    for (const word of whole) if (word) tokens.push(`w:${word}`);
  });
}
