// The section of one operation.

const report = JSON.parse(document.getElementById("data").textContent);

function table(head, rows, numbersFrom = 99) {
  const cell = (name, value, i) => element(name, { class: i >= numbersFrom ? "number" : null }, value);
  return element("div", { class: "scroll" }, element("table", {},
    head ? element("thead", {}, element("tr", {}, ...head.map((value, i) => cell("th", value, i)))) : null,
    element("tbody", {}, ...rows.map((row) => element("tr", {},
      ...row.map((value, i) => (i ? cell("td", value, i) : element(head ? "td" : "th", {}, value))))))));
}

const facts = (pairs) => table(null, pairs.map(([title, text]) => [title, element("span", { class: "wrap" }, text)]));

/** What is known of an operation beside its numbers. */
function subject(fingerprint) {
  const nodes = fingerprint.nodes.map(([name, ranks]) => `${name} (${ranks.length})`).join(", ");
  const pairs = [["operation", fingerprint.function], ["message size", fingerprint.bytes == null ? "not known" : `${fingerprint.bytes} B`]];
  for (const key of ["file", "communicator", "root", "datatype", "reduction"]) if (fingerprint[key] != null && fingerprint[key] !== "") pairs.push([key, String(fingerprint[key])]);
  const counts = fingerprint.nodes.map(([, ranks]) => ranks.length);
  if (counts.length) {
    pairs.push(["nodes", String(counts.length)], ["tasks per node", [...new Set(counts)].join(", ")], ["node list", nodes]);
  }
  pairs.push(["ranks", String(fingerprint.ranks)], ["repetitions", String(fingerprint.repetitions)]);
  if (fingerprint.incomplete) pairs.push(["incomplete", `${fingerprint.incomplete}, left out`]);
  if (fingerprint.account) pairs.push(["where the time went", fingerprint.account]);
  const error = fingerprint.clock_error;
  pairs.push(["clock's error", error ? `${time(error.median_ns)} (median), ${time(error.max_ns)} (largest), 95 %, of a time across ranks` : "not known"]);
  return facts(pairs);
}

/** The numbers as text: what is copied. */
function numbers(state) {
  return timed(state).numbers.map(({ name, unit, all, good }) => {
    const text = (estimate) => (estimate ? (unit === "ns" ? time(estimate.value) : plain(estimate.value)) : "");
    const interval = (estimate) => (estimate && estimate.interval ? `${time(estimate.interval[0])} to ${time(estimate.interval[1])}` : "");
    return [name, text(all), interval(all), text(good), interval(good)];
  });
}

function numbersTable(state) {
  const rows = numbers(state);
  const intervals = rows.some((row) => row[2] || row[4]);
  const head = intervals ? ["", "all", "95 % interval", "good", "95 % interval"] : ["", "all", "good"];
  const shown = intervals ? rows : rows.map((row) => [row[0], row[1], row[3]]);
  const exact = () => ["name\tunit\tall\tlow\thigh\tgood\tlow\thigh", ...timed(state).numbers.map(({ name, unit, all, good }) =>
    [name, unit, ...[all, good].flatMap((one) => [one?.value, one?.interval?.[0], one?.interval?.[1]].map((value) => value ?? ""))].join("\t"))].join("\n");
  const button = element("button", { onclick: () => { copy(exact()); button.textContent = "copied"; } }, "copy the numbers");
  return element("div", {}, table(head, shown, 1), element("p", { class: "downloads" }, button));
}

function remarks(state) {
  const lines = timed(state).cuts.map(({ method, warmup_end, class: kind, change_points }) =>
    `${method}: ${warmup_end == null ? "no warm-up" : `the warm-up ends at repetition ${warmup_end}`}${kind ? `; ${kind}` : ""}` +
    (change_points.length ? `; the level changes at ${change_points.join(", ")}` : ""));
  timed(state).modes.forEach(({ at_ns, share, occurs }, i) => lines.push(
    `mode ${i + 1}: ${time(at_ns)}, ${percent(share)} of the good repetitions, its middle half between repetitions ${occurs[0]} and ${occurs[1]}`));
  lines.push(...timed(state).remarks);
  return element("ul", {}, ...lines.map((line) => element("li", {}, line)));
}

/** A part of the page that is built when it comes near, with plots that share a state. */
class LazySection {
  constructor(id, title, state) {
    this.state = state;
    this.body = element("div", {});
    this.node = element("section", { id, class: "fingerprint" }, element("h2", {}, title), this.body);
    this.node.style.minHeight = "60vh";
    this.built = false;
  }

  build() {
    if (this.built) return;
    this.built = true;
    this.node.style.minHeight = "";
    this.fill();
    this.render();
  }

  change() {
    this.plots.forEach((plot) => { plot.zoomed = null; });
    this.render();
  }

  render() {
    if (!this.built) return;
    this.update();
    this.plots.forEach((plot) => plot.render());
  }

  /** A list to choose one of [value, text]. */
  choose(name, values, selected, changed) {
    const list = element("select", { "data-choice": name, onchange: () => { changed(list.value); this.change(); } },
      ...values.map(([value, text]) => element("option", { value, selected: value === selected }, text)));
    return element("label", {}, `${name} `, list);
  }
}

class Section extends LazySection {
  constructor(fingerprint) {
    const first = Math.max(0, fingerprint.times.findIndex(({ time: name }) => name === report.time));
    super(`operation-${fingerprint.operation}`, `${fingerprint.operation}: ${fingerprint.file ? `${fingerprint.file}: ` : ""}${fingerprint.function}${fingerprint.bytes == null ? "" : `, ${fingerprint.bytes} B`}`,
      { fingerprint, time: first, hidden: new Set(), scale: "auto", counter: "slowest" });
    this.numbers = element("div", {});
    this.remarks = element("div", {});
  }

  fill() {
    const { fingerprint } = this.state;
    const plots = [
      runTimePlot("run-time", "Run time per repetition", () => () => true),
      runTimePlot("run-time-good", "Run time per repetition, without first and outliers", ordinary),
      histogramPlot("histogram", "Histogram", (one) => one.histogram),
      histogramPlot("histogram-good", "Histogram, without first and outliers", (one) => one.histogram_good),
      ecdfPlot(), boxPlot(), metricsPlot(), autocorrelationPlot(),
    ];
    if (fingerprint.heat) {
      plots.push(heatPlot("arrival", "Arrival after the first rank", "arrival_ns"), heatPlot("rank-time", "Run time of each rank", "run_time_ns"));
    }
    fingerprint.points.counters.forEach((_, i) => plots.push(...counterPlots(fingerprint, i)));
    this.plots = plots.map((what) => new Plot(what, this.state));
    const chosen = fingerprint.points.chosen;
    this.body.append(element("div", { class: "columns" }, subject(fingerprint), this.numbers), this.remarks, this.controls(),
      chosen ? element("p", { class: "faint" }, `Points: ${chosen}. Numbers, histograms and distribution functions are of all repetitions.`) : "",
      element("div", { class: "plots" }, ...this.plots.map((plot) => plot.figure)), this.downloads());
  }

  controls() {
    const { state } = this;
    const { fingerprint } = state;
    const parts = [this.choose("run time", fingerprint.times.map((one, i) => [String(i), one.time]), String(state.time), (value) => { state.time = Number(value); }),
      this.choose("scale", [["auto", "as it suits"], ["linear", "linear"], ["log", "logarithmic"]], state.scale, (value) => { state.scale = value; })];
    CATEGORIES.forEach((name, i) => {
      const box = element("input", { type: "checkbox", checked: true, "data-category": name, onchange: () => {
        if (box.checked) state.hidden.delete(i); else state.hidden.add(i);
        this.change();
      } });
      parts.push(element("label", {}, box, element("span", { class: "swatch", style: `background: var(--${name})` }), name));
    });
    if (fingerprint.points.counters.length) {
      parts.push(this.choose("counters", [["slowest", "of the slowest rank"], ["largest", "largest of all ranks"], ["sum", "sum of all ranks"]], state.counter, (value) => { state.counter = value; }));
    }
    return element("div", { class: "controls" }, ...parts);
  }

  update() {
    this.numbers.replaceChildren(numbersTable(this.state));
    this.remarks.replaceChildren(remarks(this.state));
  }

  downloads() {
    const { fingerprint } = this.state;
    const name = `operation-${fingerprint.operation}`;
    return element("p", { class: "downloads" },
      element("button", { onclick: () => download(`${name}.csv`, "text/csv", csv(fingerprint)) }, "the points as CSV"), " ",
      element("button", { onclick: () => download(`${name}.json`, "application/json", JSON.stringify(fingerprint)) }, "everything as JSON"));
  }
}

/** The points, one a line. */
function csv(fingerprint) {
  const { points, times } = fingerprint;
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const columns = [["repetition", points.repetition]];
  times.forEach(({ time: name }, t) => {
    columns.push([`${name}_ns`, points.run_time_ns[t]], [`category_${name}`, [...points.category[t]].map((letter) => CATEGORIES[LETTERS.indexOf(letter)])]);
  });
  if (points.slowest.length) columns.push(["longest_on_rank", points.slowest], ["last_in_rank", points.last_in]);
  for (const { name, slowest, largest, sum } of points.counters) columns.push([name, slowest], [`${name} largest`, largest], [`${name} sum`, sum]);
  const lines = [columns.map(([name]) => quote(name)).join(",")];
  points.repetition.forEach((_, i) => lines.push(columns.map(([, values]) => values[i] ?? "").join(",")));
  return lines.join("\n") + "\n";
}
