// Leads from a former id's page to today's one, with the place on it that was asked for.

const target = new URL(document.querySelector("link[rel=canonical]").href);
const { former } = document.documentElement.dataset;
// The id itself is the anchor of a page's title, and there it is another one now.
const isTitle = [`#${former}`, `#${encodeURIComponent(former)}`].includes(location.hash);
if (!isTitle) target.hash = location.hash;
location.replace(target);
