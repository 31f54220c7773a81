// Leads from a former id's page to today's one, with the place on it that was asked for.

const target = new URL(document.querySelector("link[rel=canonical]").href);
const place = decodeURIComponent(location.hash.slice(1));
// The id itself is the anchor of a page's title, and there it is another one now.
if (place !== document.documentElement.dataset.former) target.hash = location.hash;
location.replace(target);
