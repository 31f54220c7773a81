// Text as Python sees it. Bytes are kept in strings of one character a byte, so that expressions can work on them.

export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const WORD = "\\p{L}\\p{N}_";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const GAPS = new RegExp(`[${SPACE}]+`, "gu");

// Where the order of UTF-16 units is not that of code points.
const BEYOND = /[\ud800-\uffff]/;

/** What keeps a question from being answered; the message is for people. */
export class InputError extends Error {}

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
  if (one === other) return 0;
  if (typeof one === "string" && BEYOND.test(one) && BEYOND.test(other)) return compare(points(one), points(other));
  return one < other ? -1 : 1;
}

function points(text) {
  return Array.from(text, (char) => char.codePointAt(0));
}
