// The page: where the time went, all operations, a section for each, and what the run was.

const runs = report.runs || [report.run];

/** What a run was, and what the tracer cost. */
function runFacts(run) {
  const parts = [element("h3", {}, "The run"), facts(run.facts)];
  if (run.tracer.length) parts.push(element("h3", {}, "What the tracer itself cost"), facts(run.tracer));
  if (Object.keys(run.factors).length) parts.push(element("details", {}, element("summary", {}, "everything recorded about the run"), facts(Object.entries(run.factors))));
  return parts;
}

function header() {
  const parts = [element("h1", {}, document.title),
    element("p", { class: "faint" }, `${report.generator}; categories by ${report.method}`)];
  if (!report.complete) parts.push(element("p", { class: "notice" }, "This trace is incomplete: what a rank did not finish or keep is counted and left out."));
  parts.push(...report.notes.map((note) => element("p", { class: "notice" }, note)));
  runs.forEach((run, side) => {
    if (!run.summary.length) return;
    if (report.runs) parts.push(element("h3", {}, `${"AB"[side]}: ${report.names[side]}`));
    parts.push(element("ul", { class: "answer" }, ...run.summary.map((line) => element("li", {}, line))));
  });
  return element("header", {}, ...parts);
}

/** What is known of the run, or of both. */
function footer() {
  const parts = [];
  runs.forEach((run, side) => {
    if (!report.runs) parts.push(...runFacts(run));
    else parts.push(element("details", {}, element("summary", {}, `${"AB"[side]}: ${report.names[side]}`), ...runFacts(run)));
  });
  return element("footer", {}, ...parts);
}

function overview() {
  const optional = (value) => (value == null ? "" : String(value));
  const head = ["operation", "function", "communicator", "bytes", "root", "ranks", "repetitions", "incomplete", "median", "95 %", "end of warm-up", ...CATEGORIES];
  const rows = report.overview.map((row) => [
    row.shown ? element("a", { href: `#operation-${row.operation}` }, String(row.operation)) : String(row.operation),
    row.function, row.communicator, optional(row.bytes), optional(row.root), String(row.ranks), String(row.repetitions),
    row.incomplete ? String(row.incomplete) : "", time(row.median_ns), time(row.p95_ns), optional(row.warmup_end), ...row.counts.map(String)]);
  return element("section", { id: "overview", class: "overview" }, element("h2", {}, "All operations"), table(head, rows, 3));
}

const sections = report.pairs ? report.pairs.map((pair, number) => new PairSection(pair, number))
  : report.fingerprints.map((fingerprint) => new Section(fingerprint));
const timelines = !report.pairs && report.run.timeline ? [new TimelineSection(report.run.timeline)] : [];
const lazy = [...timelines, ...sections];
document.getElementById("report").append(header(), ...timelines.map(({ node }) => node), report.pairs ? pairOverview() : overview(),
  ...sections.map(({ node }) => node), footer());

// A section is built when it comes near: a hundred of them at once would keep the browser busy.
const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) lazy.find(({ node }) => node === target).build();
}, { rootMargin: "800px" });
lazy.forEach(({ node }) => near.observe(node));

const renderAll = () => lazy.forEach((section) => section.render());
let resizing = null;
addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(renderAll, 80); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", renderAll);
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  lazy.forEach((section) => section.build());
  renderAll();
});
addEventListener("afterprint", () => { document.documentElement.classList.remove("printing"); renderAll(); });
