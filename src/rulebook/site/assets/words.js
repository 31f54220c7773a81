// The page's words, in its language.

/** A function that says one of the words with values filled in; the first value decides between one and several. */
export function speaker(words, lang) {
  const numbers = new Intl.NumberFormat(lang);
  return (key, ...values) => {
    const [one, many = one] = words[key].split("|");
    const text = values[0] === 1 ? one : many;
    return text.replace(/\{(\d)\}/g, (_, at) => (typeof values[at] === "number" ? numbers.format(values[at]) : values[at]));
  };
}
