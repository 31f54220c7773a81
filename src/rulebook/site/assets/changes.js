// What changed: lists of paths and unified diffs, read as rulebook/changes.py reads them; its comments say why.

import { InputError, decodePath, decodeText, head, oneLine } from "./text.js";

const LETTERS = { A: "added", C: "copied", D: "deleted", M: "modified", R: "renamed", T: "modified" };
const STRENGTH = ["deleted", "added", "renamed", "copied", "modified", "binary", "mode", "unknown"];
const QUOTED = '"(?:[^"\\\\]|\\\\[^\\n])*"';
const ESCAPES = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };
const EXTENDED =
  /^(old mode|new mode|mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|similarity index|dissimilarity index|index) ([^\n]+)$/;
const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?([^\n]*)$/;
const COMBINED_HUNK = /^@@@+ ((?:-\d{1,9}(?:,\d{1,9})? )+)\+\d{1,9}(?:,(\d{1,9}))? @@@+[^\n]*$/;
const BINARY = /^Binary files? ([^\n]+) (?:differ|has changed)$/;
const PREFIXES = [["", ""], ["a/", "b/"], ["i/", "w/"], ["c/", "i/"], ["c/", "w/"], ["o/", "w/"], ["1/", "2/"]];
const EMPTY_BLOBS = [
  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
  "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];
const BEGINS = "diff --(?:git|cc|combined) |--- |Index: |Submodule ";
const DIFF = new RegExp(
  "^(?:\\xff\\xfe|\\xfe\\xff)|(?<![^\\n])(?:(?:\\x1b\\[[\\d;]*m)?diff --(?:git|cc|combined) |Index: |--- [^\\n]*\\n\\+\\+\\+ |@@ -\\d" +
    "|Submodule [^\\n]+ (?:[0-9a-f]+\\.{2,3}|contains )|\\* Unmerged path |Only in [^:\\n]+: |Binary files? [^\\n]+ (?:differ|has changed))",
);
const whole = new RegExp(`^${QUOTED}$`);
// Linux's PATH_MAX, in characters as the command counts them.
const MAX_PATH = 4096;
const UNTIDY = /(?:^|\/)\.{0,2}(?:\/|$)/;
const WHOLE = "make the diff again, into a file: git diff BASE...HEAD > change.diff";

/** Whether a pasted text means to be a diff rather than a list of paths. */
export function looksLikeDiff(data) {
  return DIFF.test(data);
}

// --- lists of paths ---

/** A change of which only the paths are known; lines of `git diff --name-status` keep their statuses. */
export function parsePaths(data) {
  const files = new Map();
  for (const [path, oldPath, status] of listEntries(data)) {
    add(files, { path: place(path), old_path: oldPath === null ? null : place(oldPath), status, hunks: null, binary: false });
  }
  const notes = [...files.keys()]
    .filter((path) => path.includes("\\") && !path.includes("/"))
    .map((path) => `${show(path)} holds a backslash, which is part of the name here: folders are separated by '/'.`);
  return { files: [...files.values()], complete: true, notes };
}

function* listEntries(data) {
  if (data.includes("\0")) {
    if (data.includes("\n")) throw new InputError("this is neither a list of paths nor a diff: it holds NUL characters", WHOLE);
    for (const name of data.split("\0")) if (name) yield [decodePath(name), null, "unknown"];
    return;
  }
  const text = data.replace(/^\xef\xbb\xbf/, "").replaceAll("\r\n", "\n").replace(/\r$/, "");
  for (const line of text.split("\n")) {
    if (!line.includes("\t")) {
      if (line) yield [listName(line), null, "unknown"];
      continue;
    }
    const [letter, ...names] = line.split("\t");
    if (/^[CR]\d{1,3}$/.test(letter) && names.length === 2) {
      yield [listName(names[1]), listName(names[0]), LETTERS[letter[0]]];
    } else if (/^[ADMTUX]$/.test(letter) && names.length === 1) {
      yield [listName(names[0]), null, LETTERS[letter] ?? "unknown"];
    } else {
      yield [listName(line), null, "unknown"];
    }
  }
}

function listName(name) {
  return decodePath(unquoteIfQuoted(name));
}

function place(path) {
  if (!path) throw new InputError("an empty path", "name the changed files, relative to the repository's root");
  if (path.length > MAX_PATH && Array.from(path).length > MAX_PATH) {
    throw new InputError(`${show(head(path, 60))}… is longer than ${MAX_PATH} characters`, "no file has such a path");
  }
  const normal = UNTIDY.test(path) ? normalise(path) : path;
  if (/^(?:\/|\.\.\/)/.test(normal) || normal === ".." || /^[A-Za-z]:[\\/]/.test(normal)) {
    const where = path.startsWith("/") ? "an absolute path" : "outside of the repository";
    throw new InputError(`${show(path)} is ${where}`, "paths are relative to the repository's root");
  }
  if (normal === ".") throw new InputError(`${show(path)} is the whole repository, not a changed file`, "name the changed files");
  return normal;
}

/** posixpath.normpath: without `./`, `//` and inner `..`. */
function normalise(path) {
  const slashes = /^\/\/(?!\/)/.test(path) ? "//" : path.startsWith("/") ? "/" : "";
  const names = [];
  for (const name of path.split("/")) {
    if (name === "" || name === ".") continue;
    if (name !== ".." || (!slashes && !names.length) || names.at(-1) === "..") names.push(name);
    else names.pop();
  }
  return slashes + names.join("/") || ".";
}

/** A path for a message: one line, not endless. */
function show(path) {
  return head(oneLine(path), 200);
}

// --- unified diffs ---

/** Reads a unified diff; throws InputError where it is none, cut or damaged. */
export function parseDiff(data) {
  data = clean(data);
  const notes = new Set();
  const files = new Map();
  for (const change of new DiffReader(data).read()) {
    const first = files.get(change.path);
    if (first && !isReplacement(first, change)) {
      notes.add("Some file is changed several times; its line numbers come from several versions.");
    }
    if (change.hunks === null && change.status !== "unknown") {
      notes.add(`${show(change.path)} is shown as a merge (a combined diff), of which only the path is used.`);
    }
    add(files, change);
  }
  if (!files.size && /[^ \t\n\r\v\f]/.test(data)) {
    const hint = "give what 'git diff', 'git show' or 'diff -u' writes; for a merge, 'git show -m --first-parent'";
    throw new InputError("there is no unified diff in this text", hint);
  }
  return { files: [...files.values()], complete: true, notes: [...notes] };
}

function clean(data) {
  if (/^(?:\xff\xfe|\xfe\xff)/.test(data)) {
    const bytes = Uint8Array.from(data, (char) => char.charCodeAt(0));
    const text = new TextDecoder(data[0] === "\xff" ? "utf-16le" : "utf-16be").decode(bytes);
    data = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  }
  data = data.replace(/^\xef\xbb\xbf/, "");
  const header = new RegExp(`(?<![^\\n])(\\x1b\\[[\\d;]*m)?(?:${BEGINS})[^\\n]*`).exec(data);
  if (header?.[1]) throw new InputError("the diff is coloured, which hides where its lines begin", "make it with --no-color");
  if (header?.[0].endsWith("\r")) data = data.replaceAll("\r\n", "\n").replace(/\r$/, "");
  return data;
}

function isReplacement(first, then) {
  return first.status === "deleted" && then.status === "added";
}

function add(files, change) {
  const first = files.get(change.path);
  if (!first) {
    files.set(change.path, change);
    return;
  }
  let status = STRENGTH[Math.min(STRENGTH.indexOf(first.status), STRENGTH.indexOf(change.status))];
  if (isReplacement(first, change)) status = "modified";
  const moved = status === "renamed" || status === "copied";
  files.set(change.path, {
    path: change.path,
    old_path: moved ? first.old_path || change.old_path : null,
    status,
    hunks: first.hunks === null || change.hunks === null ? null : [...first.hunks, ...change.hunks],
    binary: first.binary || change.binary,
  });
}

class DiffReader {
  constructor(data) {
    this.lines = data.split("\n");
    this.endsInLineFeed = !this.lines.at(-1);
    if (this.endsInLineFeed) this.lines.pop();
    this.at = 0;
    this.isPlain = !/(?<![^\n])diff --(?:git|cc|combined) /.test(data);
    this.hasIndex = data.includes("\nindex ");
  }

  *read() {
    let inMessage = false;
    while (!this.hasEnded()) {
      const line = this.peek();
      let section = null;
      if (line.startsWith("diff --git ")) section = this.readGit();
      else if (line.startsWith("diff --cc ") || line.startsWith("diff --combined ")) section = this.readCombined();
      else if (line.startsWith("--- ") && this.peek(1).startsWith("+++ ") && this.peek(2).startsWith("@@ -")) section = this.readPlain();
      else if (line.startsWith("Index: ") && this.peek(1).startsWith("=".repeat(20))) section = this.readIndexed();
      else {
        inMessage = inMessage || line.startsWith("Subject: ");
        section = inMessage ? null : this.readSingleLine();
        this.at += 1;
      }
      if (section) {
        inMessage = false;
        yield section;
      }
    }
  }

  readHunks(path) {
    const hunks = [];
    while (this.peek().startsWith("@@")) hunks.push(this.readHunk(path));
    return hunks;
  }

  readGit() {
    const start = this.at;
    const header = this.take().slice("diff --git ".length);
    const extended = this.readExtended();
    const [old, next] = this.findGitNames(start, header, extended);
    const path = this.decode(next, start);
    let hunks = [];
    let binary = false;
    let mayLackBody = false;
    if (this.skipNames()) hunks = this.readHunks(path);
    else if (BINARY.test(this.peek())) {
      this.at += 1;
      binary = true;
    } else if (this.peek() === "GIT binary patch") {
      this.skipBinaryPatch(path, start);
      binary = true;
    } else mayLackBody = this.mayLackBody(header, extended);
    if (!(hunks.length || binary || mayLackBody)) this.failCut(path, start);
    let status = "modified";
    if (extended.has("copy to")) status = "copied";
    else if (old !== next) status = "renamed";
    else if (extended.has("new file mode")) status = "added";
    else if (extended.has("deleted file mode")) status = "deleted";
    else if (binary) status = "binary";
    else if (extended.has("new mode") && !hunks.length) status = "mode";
    const oldPath = status === "copied" || status === "renamed" ? this.decode(old, start) : null;
    return { path, old_path: oldPath, status, hunks, binary };
  }

  readCombined() {
    const start = this.at;
    const path = this.decode(unquoteIfQuoted(this.take().replace(/^\S+ \S+ /, "")), start);
    const extended = this.readExtended();
    if (!extended.size) this.failCut(path, start);
    this.skipNames();
    while (this.peek().startsWith("@@@")) this.skipCombinedHunk(path, start);
    let status = "modified";
    if (extended.has("new file mode")) status = "added";
    else if (extended.has("deleted file mode")) status = "deleted";
    return { path, old_path: null, status, hunks: null, binary: false };
  }

  readPlain(announced = "") {
    const start = this.at;
    const [old, oldExists] = splitStamp(this.take().slice(4));
    const [next, newExists] = splitStamp(this.take().slice(4));
    const name = findCommonName(old, next) || announced || chooseName(old, next);
    const path = this.decode(normalise(name), start);
    const hunks = this.readHunks(path);
    if (!hunks.length && this.hasEnded()) this.failCut(path, start);
    const status = !oldExists ? "added" : !newExists ? "deleted" : "modified";
    return { path, old_path: null, status, hunks, binary: false };
  }

  readIndexed() {
    const start = this.at;
    const name = this.take().slice("Index: ".length);
    this.at += 1;
    let binary = false;
    while (!this.hasEnded() && !this.peek().startsWith("Index: ") && !this.peek().startsWith("diff --git ")) {
      if (this.peek().startsWith("--- ") && this.peek(1).startsWith("+++ ")) return this.readPlain(name);
      binary = binary || this.peek().startsWith("Cannot display: file marked as a binary type");
      this.at += 1;
    }
    return { path: this.decode(name, start), old_path: null, status: binary ? "binary" : "unknown", hunks: [], binary };
  }

  readSingleLine() {
    const line = this.peek();
    if (HUNK.test(line)) this.fail("a hunk without a file");
    let found = /^Submodule ([^\n]+) (?:[0-9a-f]+\.{2,3}[0-9a-f]+[^\n]*|contains [^\n]+ content)$/.exec(line);
    if (found) {
      const status = line.endsWith("(new submodule)") ? "added" : line.endsWith("(submodule deleted)") ? "deleted" : "modified";
      return { path: this.decode(found[1], this.at), old_path: null, status, hunks: [], binary: false };
    }
    found = /^\* Unmerged path ([^\n]+)$/.exec(line);
    if (found) return { path: this.decode(unquoteIfQuoted(found[1]), this.at), old_path: null, status: "unknown", hunks: null, binary: false };
    if (!this.isPlain) return null;
    found = /^Only in ([^:]+): ([^\n]+)$/.exec(line);
    if (found) {
      const folder = found[1].includes("/") ? found[1].slice(found[1].indexOf("/") + 1) : "";
      const name = found[2].startsWith("/") || !folder ? found[2] : folder.replace(/\/?$/, "/") + found[2];
      return { path: this.decode(normalise(name), this.at), old_path: null, status: "unknown", hunks: null, binary: false };
    }
    found = BINARY.exec(line);
    if (found) return { path: this.decode(findComparedName(found[1]), this.at), old_path: null, status: "binary", hunks: [], binary: true };
    if (line.startsWith("--- ") && !line.endsWith(" ----") && this.lines.length - this.at <= 2) {
      this.failCut(decodePath(splitStamp(line.slice(4))[0]), this.at);
    }
    return null;
  }

  readExtended() {
    const extended = new Map();
    for (let found; (found = EXTENDED.exec(this.peek())); this.at += 1) extended.set(found[1], found[2]);
    return extended;
  }

  findGitNames(start, header, extended) {
    for (const verb of ["rename", "copy"]) {
      if (extended.has(`${verb} from`) && extended.has(`${verb} to`)) {
        return [unquoteIfQuoted(extended.get(`${verb} from`)), unquoteIfQuoted(extended.get(`${verb} to`))];
      }
    }
    const name = findCommonNameInHeader(header);
    if (name !== null) return [name, name];
    if (!(this.peek().startsWith("--- ") && this.peek(1).startsWith("+++ "))) {
      if (this.hasEnded()) this.failCut(decodePath(header), start);
      this.fail(`cannot tell which file this is about: ${show(decodePath(header))}`, start);
    }
    const old = splitStamp(this.peek().slice(4))[0];
    const next = splitStamp(this.peek(1).slice(4))[0];
    return old.startsWith("a/") && next.startsWith("b/") ? [old.slice(2), next.slice(2)] : [old, next];
  }

  skipNames() {
    let found = false;
    while (this.peek().startsWith("--- ")) {
      this.at += 1;
      found = this.peek().startsWith("+++ ");
    }
    this.at += found ? 1 : 0;
    return found;
  }

  mayLackBody(header, extended) {
    const rest = this.lines.length - this.at;
    if (rest === 1 && !this.endsInLineFeed) return false;
    if (rest) return extended.size > 0;
    if (extended.has("index")) {
      const range = extended.get("index").split(" ")[0];
      const at = range.indexOf("..");
      const [old, next] = at < 0 ? [range, ""] : [range.slice(0, at), range.slice(at + 2)];
      const only = /^0*$/.test(old) ? next : /^0*$/.test(next) ? old : "";
      return Boolean(only) && EMPTY_BLOBS.some((empty) => empty.startsWith(only));
    }
    for (const verb of ["rename", "copy"]) {
      if (extended.has(`${verb} to`)) {
        const isWhole = this.endsInLineFeed || agrees(header, extended.get(`${verb} from`) ?? "", extended.get(`${verb} to`));
        return isWhole && (extended.get("similarity index") ?? "100%") === "100%";
      }
    }
    if (extended.has("old mode")) return /^\d{6}$/.test(extended.get("new mode") ?? "");
    return !this.hasIndex && (extended.has("new file mode") || extended.has("deleted file mode"));
  }

  readHunk(path) {
    const start = this.at;
    const header = HUNK.exec(this.take());
    if (!header) this.fail(`this is not the head of a hunk (${show(path)})`, start);
    let [old, oldCount, next, newCount] = header.slice(1, 5).map((number) => (number === undefined ? 1 : Number(number)));
    const hunk = { old_start: old, new_start: next, heading: "", lines: [] };
    const oldEnd = old + oldCount;
    const newEnd = next + newCount;
    while (old < oldEnd || next < newEnd) {
      if (this.hasEnded()) {
        const missing = Math.max(oldEnd - old, newEnd - next);
        this.failCut(path, start, `${missing} more line${missing > 1 ? "s" : ""} should follow`);
      }
      const source = this.peek();
      const mark = source.slice(0, 1);
      const line = { mark, bytes: source.slice(1), old: 0, new: 0 };
      if (mark === "+") line.new = next++;
      else if (mark === "-") line.old = old++;
      else if (mark === " " || mark === "" || mark === "\r") {
        line.mark = " ";
        line.old = old++;
        line.new = next++;
      } else if (mark === "\\") {
        this.at += 1;
        continue;
      } else this.fail(`a hunk of ${show(path)}, begun at line ${start + 1}, should go on here`);
      line.text = decodeText(line.bytes).replace(/\r$/, "");
      delete line.bytes;
      hunk.lines.push(line);
      this.at += 1;
    }
    if (this.peek().startsWith("\\")) this.at += 1;
    if (old > oldEnd || next > newEnd || this.goesOn()) {
      this.fail(`a hunk of ${show(path)}, begun at line ${start + 1}, has more lines than its head says`);
    }
    hunk.heading = decodeText(header[5]).replace(/\r$/, "");
    return hunk;
  }

  goesOn() {
    const line = this.peek();
    if (!line.startsWith("-")) return line.startsWith("+");
    const isSignature = line.replace(/[ \t\n\r\v\f]+$/, "") === "--";
    return !isSignature && !(line.startsWith("--- ") && this.peek(1).startsWith("+++ "));
  }

  skipCombinedHunk(path, start) {
    const header = COMBINED_HUNK.exec(this.peek());
    if (!header) this.fail(`this is not the head of a hunk (${show(path)})`);
    this.at += 1;
    let left = header[1].trim().split(/ +/).map((part) => Number(part.split(",")[1] || 1));
    let newLeft = Number(header[2] || 1);
    while (newLeft > 0 || left.some((count) => count > 0)) {
      if (this.hasEnded()) this.failCut(path, start);
      const columns = this.take().slice(0, left.length);
      if (columns.startsWith("\\")) continue;
      const removed = columns.includes("-");
      if (!removed) newLeft -= 1;
      const present = removed ? "-" : " ";
      left = left.map((count, at) => count - ([present, ""].includes(columns.slice(at, at + 1)) ? 1 : 0));
    }
    if (this.peek().startsWith("\\")) this.at += 1;
  }

  skipBinaryPatch(path, start) {
    this.at += 1;
    let blocks = 0;
    while (/^(?:literal|delta) \d+$/.test(this.peek())) {
      while (this.peek()) this.at += 1;
      if (!this.hasEnded()) blocks += 1;
      this.at += 1;
    }
    if (!blocks) this.failCut(path, start);
  }

  hasEnded() {
    return this.at >= this.lines.length;
  }

  peek(ahead = 0) {
    return this.lines[this.at + ahead] ?? "";
  }

  take() {
    const line = this.peek();
    this.at += 1;
    return line;
  }

  decode(name, at) {
    const path = decodePath(name);
    if (!path || /^(?:\/|\.\.\/)/.test(path) || path.includes("/../") || path === "." || path === "..") {
      this.fail(`${show(path) || "no name"} is not in the repository`, at);
    }
    return path;
  }

  fail(why, at = this.at) {
    throw new InputError(`the diff is damaged at line ${at + 1}: ${why}`, WHOLE);
  }

  failCut(path, start, why = "more should follow") {
    throw new InputError(
      `the diff is cut after line ${this.lines.length}, in what it says from line ${start + 1} on about ${show(path)}: ${why}`,
      WHOLE,
    );
  }
}

function unquoteIfQuoted(name) {
  if (!whole.test(name)) return name;
  return name.slice(1, -1).replace(/\\([0-3][0-7]{2}|[^\n])/g, (_, escaped) =>
    escaped.length === 3 ? String.fromCharCode(parseInt(escaped, 8)) : ESCAPES[escaped] ?? escaped,
  );
}

function* splits(text, separator) {
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + 1)) {
    yield [text.slice(0, at), text.slice(at + separator.length)];
  }
}

function findCommonName(old, next) {
  if (old === next) return old;
  const rest = (name) => (name.includes("/") ? name.slice(name.indexOf("/") + 1) : "");
  return rest(old) && rest(old) === rest(next) ? rest(old) : null;
}

function findCommonNameInHeader(header) {
  const found = header.includes('"') ? new RegExp(`^(${QUOTED}|[^"]*) (${QUOTED}|[^"]*)$`).exec(header) : null;
  if (found) return findCommonName(unquoteIfQuoted(found[1]), unquoteIfQuoted(found[2]));
  const middle = Math.floor(header.length / 2);
  if (header[middle] === " ") {
    const name = findCommonName(header.slice(0, middle), header.slice(middle + 1));
    if (name !== null) return name;
  }
  if (header.length < 20000) {
    for (const [old, next] of splits(header, " ")) {
      const name = findCommonName(old, next);
      if (name !== null) return name;
    }
  }
  return null;
}

function findComparedName(names) {
  for (const [old, next] of splits(names, " and ")) {
    const name = findCommonName(old, next);
    if (name !== null) return name;
    if (old === "/dev/null" || next === "/dev/null") return chooseName(old, next);
  }
  return names;
}

function agrees(header, old, next) {
  const put = (prefix, name) => (name.startsWith('"') ? `"${prefix}${name.slice(1)}` : prefix + name);
  return PREFIXES.some(([a, b]) => `${put(a, old)} ${put(b, next)}` === header);
}

function splitStamp(text) {
  const found = new RegExp(`^${QUOTED}`).exec(text);
  const tab = text.indexOf("\t");
  let name = tab < 0 ? text : text.slice(0, tab);
  let stamp = tab < 0 ? "" : text.slice(tab + 1);
  if (found) {
    name = unquoteIfQuoted(found[0]);
    stamp = text.slice(found[0].length + 1);
  }
  const isAbsent = name === "/dev/null" || stamp.startsWith("(nonexistent)") || stamp.startsWith("(revision 0)") || isEpoch(stamp);
  return [name, !isAbsent];
}

function isEpoch(stamp) {
  const found = /^(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([+-])(\d\d)(\d\d)/.exec(stamp);
  if (!found) return false;
  const offset = Number(found[5]) * 60 + Number(found[6]);
  const minutes = Number(found[2]) * 60 + Number(found[3]) - (found[4] === "+" ? offset : -offset);
  return minutes === (found[1].startsWith("1969") ? 24 * 60 : 0);
}

function chooseName(old, next) {
  if (old === "/dev/null") return next.replace(/^b\//, "");
  if (next === "/dev/null") return old.replace(/^a\//, "");
  return next.startsWith(old) ? old : next;
}
