// Text as Python sees it. Bytes are kept in strings of one character a byte, so that expressions can work on them.

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const WORD = "\\p{L}\\p{N}_";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const GAPS = new RegExp(`[${SPACE}]+`, "gu");

// The first unit of UTF-16 from which on the order of units is not that of code points.
const BEYOND = 0xd800;

/** What keeps a question from being answered; the message and the hint are for people. */
export class InputError extends Error {
  constructor(message, hint = "") {
    super(message);
    this.hint = hint;
  }
}

/** The bytes of a pasted text, or of a file, as a string of one character a byte. */
export function toBytes(input) {
  if (typeof input === "string") {
    if (/^[\x00-\x7f]*$/.test(input)) return input;
    input = new TextEncoder().encode(input);
  }
  const parts = [];
  for (let at = 0; at < input.length; at += 0x8000) {
    parts.push(String.fromCharCode.apply(null, input.subarray(at, at + 0x8000)));
  }
  return parts.join("");
}

function fromBytes(bytes) {
  return Uint8Array.from(bytes, (char) => char.charCodeAt(0));
}

/** A line of a diff: bytes that are no UTF-8 become U+FFFD. */
export function decodeText(bytes) {
  return /^[\x00-\x7f]*$/.test(bytes) ? bytes : lossy.decode(fromBytes(bytes));
}

/** A path: bytes that are no UTF-8 become lone surrogates, as in PEP 383. */
export function decodePath(bytes) {
  if (/^[\x00-\x7f]*$/.test(bytes)) return bytes;
  const data = fromBytes(bytes);
  try {
    return utf8.decode(data);
  } catch {
    let text = "";
    for (let at = 0; at < data.length; ) {
      const length = [1, 2, 3, 4].find((size) => isWhole(data.subarray(at, at + size), size));
      if (length) text += utf8.decode(data.subarray(at, at + length));
      else text += String.fromCharCode(0xdc00 + data[at]);
      at += length || 1;
    }
    return text;
  }
}

function isWhole(data, size) {
  if (data.length < size) return false;
  try {
    return Array.from(utf8.decode(data)).length === 1;
  } catch {
    return false;
  }
}

// The same characters as in rulebook/render/safe.py.
const INVISIBLE =
  "\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff\\u{e0000}-\\u{e007f}";
const HARMFUL = new RegExp(`[\\x00-\\x1f${INVISIBLE}]`, "gu");
const HARMFUL_IN_JSON = new RegExp(`[\\x00-\\x08\\x0b-\\x1f${INVISIBLE}]`, "gu");
const NAMED = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Text for one line: controls, marks that turn the direction of writing and the like are shown as escapes. */
export function oneLine(text) {
  return text.replace(HARMFUL, (char) => {
    let code = char.codePointAt(0);
    // A byte of a name that is no UTF-8 (PEP 383).
    if (code >= 0xdc80 && code <= 0xdcff) code -= 0xdc00;
    const [letter, width] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return NAMED[char] ?? `\\${letter}${code.toString(16).padStart(width, "0")}`;
  });
}

/** JSON as the command writes it, byte for byte. */
export function toJson(data) {
  const text = JSON.stringify(data, null, 2).replaceAll("##[", "##\\u005b");
  const escape = (char) => Array.from(char.split(""), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  return `${text.replace(HARMFUL_IN_JSON, escape)}\n`;
}

export function strip(text) {
  return text.replace(ENDS, "");
}

/** The words of a line with one blank between each two. */
export function squeeze(text) {
  return strip(text).replace(GAPS, " ");
}

/** The first characters of a text, by code points. */
export function head(text, count) {
  return text.length <= count ? text : Array.from(text).slice(0, count).join("");
}

export function escapeRegExp(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

/** Orders texts by code points, numbers by size and lists by their first difference. */
export function compare(one, other) {
  if (Array.isArray(one)) {
    for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
      const order = compare(one[at], other[at]);
      if (order) return order;
    }
    return one.length - other.length;
  }
  if (typeof one === "string") return compareTexts(one, other);
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Orders texts by code points, as Python does. */
export function compareTexts(one, other) {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  if (at === end) return one.length - other.length;
  const [first, second] = [one.charCodeAt(at), other.charCodeAt(at)];
  if (first >= BEYOND && second >= BEYOND) return compare(points(one), points(other));
  return first - second;
}

function points(text) {
  return Array.from(text, (char) => char.codePointAt(0));
}
