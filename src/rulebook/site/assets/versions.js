// The selector of versions, in the theme's form. `versions.json` is what `mike` writes at the root of all versions.

const version = document.querySelector('meta[name="rulebook:version"]').content;
const zh = document.documentElement.lang.startsWith("zh");
const settings = JSON.parse(document.getElementById("__config").textContent);
const base = new URL(`${settings.base.replace(/\/$/, "")}/`, location.href);
const root = version ? new URL("../", base) : base;
const newest = { version: "", title: zh ? "最新" : "newest", home: root };

/** The same page of another version, else the home page in the same language, else the home page. */
async function counterpart(home) {
  const answer = await fetch(new URL("sitemap.xml", home));
  if (!answer.ok) return home;
  const map = new DOMParser().parseFromString(await answer.text(), "application/xml");
  const places = [...map.getElementsByTagName("loc")].map((place) => new URL(place.textContent.trim()).pathname);
  // The map has the address that the site was built for, which need not be the one that it is read at.
  const start = places.reduce((shortest, place) => (place.length < shortest.length ? place : shortest), places[0] ?? "/");
  const here = location.pathname.slice(base.pathname.length);
  const found = [here, zh ? "zh/" : ""].find((place) => places.includes(start + place));
  const target = new URL(found ?? "", home);
  if (found === here) target.hash = location.hash;
  return target;
}

function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

function item({ title, home }) {
  const link = element("a", "md-version__link", title);
  link.href = home.href;
  link.addEventListener("click", async (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    const target = await counterpart(home).catch(() => home);
    location.assign(target.href);
  });
  return element("li", "md-version__item", link);
}

const answer = await fetch(new URL("versions.json", root));
const published = (answer.ok ? await answer.json() : [])
  .filter((known) => !known.properties?.hidden)
  .map((known) => ({ ...known, home: new URL(`${encodeURIComponent(known.version)}/`, root) }));
if (published.length > 0) {
  const known = [newest, ...published];
  const current = known.find((one) => one.version === version)?.title ?? version;
  const button = element("button", "md-version__current", current);
  button.setAttribute("aria-label", `${settings.translations["select.version"]}: ${current}`);
  const list = element("ul", "md-version__list", ...known.map(item));
  document.querySelector(".md-header__topic").append(element("div", "md-version", button, list));
}
