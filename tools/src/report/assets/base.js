// Small helpers: elements, numbers as people read them, and the four categories.

const CATEGORIES = ["first", "warmup", "outlier", "good"];
const LETTERS = "fwog";

/** An element with attributes and children; a function as attribute `onX` listens. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/** A time in the unit that suits it, four digits; three below 0.1 ns. */
function time(ns) {
  if (ns == null || !isFinite(ns)) return "";
  const size = Math.abs(ns);
  if (size < 0.1) return Number(ns.toPrecision(3)) + " ns";
  const [value, unit] = size < 999.95 ? [ns, "ns"] : size < 999.95e3 ? [ns / 1e3, "µs"]
    : size < 999.95e6 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return value.toFixed(Math.abs(value) < 9.9995 ? 3 : Math.abs(value) < 99.995 ? 2 : 1) + " " + unit;
}

/** A plain number, six digits. */
function plain(value) {
  if (value == null || !isFinite(value)) return "";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

const percent = (share) => (100 * share).toFixed(1) + " %";

/** The colours of the page as it looks at the moment. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue("--" + name).trim();
  return Object.fromEntries(["paper", "ink", "faint", "line", "all", ...CATEGORIES].map((name) => [name, of(name)]));
}

/** The least and the greatest of the finite ones; null where there is none. */
function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value == null || !isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/** Offers a text as a file. */
function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Puts a text on the clipboard, also in a page opened from a file. */
function copy(text) {
  const area = element("textarea", { style: "position:fixed;opacity:0" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
