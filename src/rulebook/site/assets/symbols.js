// Which definitions a changed line stands in, told from a diff alone as rulebook/symbols.py tells it.
//
// Where a diff shows a whole Python file, the command uses Python's syntax tree; here a scan of its logical lines
// finds the same definitions and documentation strings in files that Python could parse.

import { SPACE, WORD } from "./text.js";

const PYTHON = /\.pyi?$/;
const BRACES = /\.(?:c|cc|cpp|cu|cuh|cxx|h|hh|hip|hpp|m|mm|go|java|kt|php|rs|scala|swift|js|jsx|ts|tsx|bash|sh)$/;
const S = `[${SPACE}]`;
const W = `[${WORD}]`;
const DEFINITION = new RegExp(`^(?:async${S}+)?(def|class)${S}+(${W}+)${S}*[([:]${S}*((?:self|cls)(?!${W}))?`, "u");
const NO_STATEMENT = /^(?:[#@]|[<=>|]{7})/;
const OUTSIDE_STRING = /"{3}|'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|#/g;
const CALLED = new RegExp(`([A-Za-z_$~][${WORD}$:~]*)${S}*(?:<[^<>()]*>${S}*)?\\(`, "gu");
const NAMED = new RegExp(`(?<!${W})(?:class|struct|interface|enum|union|trait|impl|namespace|object|function)${S}+(${W}+)`, "u");
const KEYWORDS = new Set(["catch", "for", "func", "function", "if", "return", "sizeof", "switch", "while"]);
const MAX_PARSED = 1 << 20;

export const isPython = (path) => PYTHON.test(path);

/** A function that says of a side of a change what is known: {names: line → qualified name, docstrings: Set of lines}. */
export function outlineSides(change) {
  const known = {};
  return (side) => (known[side] ??= outlineSide(change, side === "old" ? change.old_path ?? change.path : change.path, side));
}

/** The qualified names of the definitions around a line, outermost first. */
export function enclosing(outline, line) {
  const parts = (outline.names.get(line) || "").split(".").filter(Boolean);
  return parts.map((_, at) => parts.slice(0, at + 1).join("."));
}

function outlineSide(change, path, side) {
  const empty = { names: new Map(), docstrings: new Set() };
  const python = isPython(path);
  if (!python && !BRACES.test(path)) return empty;
  const whole = readWhole(change, side);
  if (whole) {
    const lines = whole.map((text, at) => [at + 1, text]);
    if (!python) return { ...empty, names: new Map(scanBraces(lines, "")) };
    const parsed = whole.join("\n").length <= MAX_PARSED ? parsePython(whole) : null;
    return parsed ?? { ...empty, names: new Map(scanPython(lines, "", true)) };
  }
  const names = new Map();
  for (const hunk of change.hunks ?? []) {
    const lines = hunk.lines.filter((line) => line[side]).map((line) => [line[side], line.text]);
    const scanned = python ? scanPython(lines, hunk.heading, false) : scanBraces(lines, hunk.heading);
    for (const [line, name] of scanned) names.set(line, name);
  }
  return { ...empty, names };
}

function readWhole(change, side) {
  const only = { added: "new", deleted: "old" }[change.status];
  if (side !== only || change.hunks?.length !== 1) return null;
  const [hunk] = change.hunks;
  return hunk[`${side}_start`] === 1 ? hunk.lines.map((line) => line.text.replaceAll("\r", " ")) : null;
}

// --- by indentation ---

function indentOf(text) {
  const bare = text.replace(/^[ \t\f]+/, "");
  let column = 0;
  for (const char of text.slice(0, text.length - bare.length)) {
    if (char === " ") column += 1;
    else if (char === "\t") column += 8 - (column % 8);
  }
  return [column, bare];
}

class OpenBlocks {
  constructor(heading) {
    const seed = DEFINITION.exec(heading.replace(new RegExp(`^${S}+|${S}+$`, "gu"), ""));
    this.blocks = seed ? [{ indent: 0, name: seed[2] }] : [];
    this.vague = seed?.[1] === "def" ? this.blocks[0] : null;
    this.bodyIndent = null;
  }

  get innermost() {
    return this.blocks.at(-1)?.name ?? "";
  }

  close(indent) {
    this.pop(indent);
    if (this.isAtVagueBottom()) this.bodyIndent = Math.min(indent, this.bodyIndent || indent);
  }

  open(indent, name, isMethod) {
    this.pop(indent);
    const body = this.bodyIndent;
    if (this.isAtVagueBottom() && (body === null ? isMethod : indent < body)) this.blocks = [];
    const outer = this.innermost;
    this.blocks.push({ indent, name: outer ? `${outer}.${name}` : name });
    return outer;
  }

  pop(indent) {
    while (this.blocks.length && this.blocks.at(-1).indent >= indent) this.blocks.pop();
  }

  isAtVagueBottom() {
    return this.vague !== null && this.blocks.length > 0 && this.blocks.at(-1) === this.vague;
  }
}

function* scanPython(lines, heading, isWhole) {
  const blocks = new OpenBlocks(heading);
  let waiting = [];
  let decorator = null;
  let quote = "";
  for (const [number, text] of lines) {
    const [indent, bare] = indentOf(text);
    if (quote) {
      yield [number, blocks.innermost];
      quote = openQuote(text, quote);
    } else if (!bare || NO_STATEMENT.test(bare) || (decorator && (indent > decorator[1] || ")]}".includes(bare[0])))) {
      waiting.push(number);
      if (!decorator && bare.startsWith("@")) decorator = [number, indent];
    } else {
      const definition = DEFINITION.exec(bare);
      let outer;
      if (definition) outer = blocks.open(indent, definition[2], Boolean(definition[3] || decorator));
      else {
        if (!")]}".includes(bare[0])) blocks.close(indent);
        outer = blocks.innermost;
      }
      for (const line of waiting) yield [line, decorator && definition && line >= decorator[0] ? blocks.innermost : outer];
      waiting = [];
      decorator = null;
      yield [number, blocks.innermost];
      quote = isWhole ? openQuote(bare, "") : "";
    }
  }
  for (const line of waiting) yield [line, isWhole ? "" : blocks.innermost];
}

function openQuote(text, quote) {
  let at = 0;
  for (;;) {
    const search = quote ? new RegExp(`\\\\.|${quote}`, "g") : new RegExp(OUTSIDE_STRING);
    search.lastIndex = at;
    const found = search.exec(text);
    if (!found || found[0] === "#") return quote;
    if (found[0] === quote) quote = "";
    else if (found[0] === '"""' || found[0] === "'''") quote = found[0];
    at = search.lastIndex;
  }
}

function* scanBraces(lines, heading) {
  let name = findName(heading);
  for (const [number, text] of lines) {
    if (/^[A-Za-z_$]/.test(text)) name = findName(text);
    yield [number, name];
    if (text.startsWith("}")) name = "";
  }
}

function findName(text) {
  if (text.replace(new RegExp(`${S}+$`, "u"), "").endsWith(";")) return "";
  for (const found of text.matchAll(CALLED)) if (!KEYWORDS.has(found[1])) return found[1].replaceAll("::", ".");
  return NAMED.exec(text)?.[1] ?? "";
}

// --- whole files ---

/** Definitions and documentation strings by logical lines, or null where Python could not parse the file. */
function parsePython(lines) {
  const statements = logicalLines(lines);
  if (!statements || !isIndentedWell(statements)) return null;
  const names = new Map();
  const docstrings = new Set();
  const open = [];
  const closed = [];
  let decorator = 0;
  let last = 0;
  let expectsDocstring = true;
  const close = (indent) => {
    while (open.length && open.at(-1).indent >= indent) {
      const scope = open.pop();
      closed.push({ ...scope, last });
    }
  };
  for (const statement of statements) {
    close(statement.indent);
    if (expectsDocstring && statement.docstring) {
      for (let line = statement.docstring[0]; line <= statement.docstring[1]; line += 1) docstrings.add(line);
    }
    expectsDocstring = false;
    const definition = DEFINITION.exec(statement.code);
    if (statement.code.startsWith("@")) decorator ||= statement.first;
    else {
      if (definition) {
        const outer = open.length ? `${open.at(-1).name}.` : "";
        open.push({ indent: statement.indent, first: decorator || statement.first, name: outer + definition[2] });
        expectsDocstring = statement.endsInColon;
      }
      decorator = 0;
    }
    last = statement.last;
  }
  close(-1);
  closed.sort((one, other) => one.first - other.first || other.last - one.last);
  for (const { first, last: end, name } of closed) for (let line = first; line <= end; line += 1) names.set(line, name);
  return { names, docstrings };
}

/** Whether blocks begin after colons and nowhere else, and end where one began ("Indentation", Python's reference). */
function isIndentedWell(statements) {
  const indents = [0];
  let begins = false;
  for (const { indent, endsInColon } of statements) {
    if (begins !== indent > indents.at(-1)) return false;
    if (begins) indents.push(indent);
    while (indents.at(-1) > indent) indents.pop();
    if (indents.at(-1) !== indent) return false;
    begins = endsInColon;
  }
  return !begins;
}

function logicalLines(lines) {
  const statements = [];
  const token = /([A-Za-z]{0,2})("""|'''|"|')|[([{]|[)\]}]|#|\\$|[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*|\S/g;
  let current = null;
  let depth = 0;
  let quote = "";
  for (let number = 1; number <= lines.length; number += 1) {
    const text = lines[number - 1];
    let at = 0;
    let continued = false;
    if (!current && !/^\s*(?:#|$)/.test(text)) {
      const [indent, bare] = indentOf(text);
      current = { first: number, last: number, indent, code: bare, strings: null, onlyStrings: true, end: "" };
    }
    while (at <= text.length) {
      if (quote) {
        const search = new RegExp(`\\\\[\\s\\S]|${quote}`, "g");
        search.lastIndex = at;
        let found = search.exec(text);
        while (found && found[0] !== quote) found = search.exec(text);
        if (!found) {
          if (quote.length === 1 && !text.endsWith("\\")) return null;
          continued = true;
          break;
        }
        at = search.lastIndex;
        quote = "";
        if (current.strings) current.strings[1] = number;
        current.end = "string";
        continue;
      }
      token.lastIndex = at;
      const found = token.exec(text);
      if (!found || found[0] === "#") break;
      at = token.lastIndex;
      if (found[0] === "\\") {
        continued = true;
        break;
      }
      if (found[2]) {
        const plain = /^[ru]?$/i.test(found[1]);
        if (current.onlyStrings && plain && depth === 0) current.strings ??= [number, number];
        else current.onlyStrings = false;
        quote = found[2];
        continue;
      }
      if (found[0] === ";" && current.onlyStrings && current.strings && depth === 0) current.sealed = true;
      else if (!current.sealed) current.onlyStrings = false;
      if ("([{".includes(found[0])) depth += 1;
      else if (")]}".includes(found[0])) depth -= 1;
      if (depth < 0) return null;
      current.end = found[0];
    }
    if (current && !continued && depth === 0 && !quote) {
      current.last = number;
      statements.push({
        ...current,
        docstring: current.strings && current.onlyStrings ? current.strings : null,
        endsInColon: current.end === ":",
      });
      current = null;
    }
  }
  return current || quote || depth ? null : statements;
}
