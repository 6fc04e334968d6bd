// The plots of a fingerprint: each a function from the fingerprint to what Plot wants to know.

const REPETITION = (state) => {
  const found = extent(state.fingerprint.points.repetition);
  return found && [found[0] - (found[1] - found[0]) * 0.01, found[1] + (found[1] - found[0]) * 0.01];
};
const ordinary = (state) => (i) => { const category = categoryAt(state, i); return category === 1 || category === 3; };
/** As with the histograms: what spans more than this is drawn over its logarithm. */
const FAR = 10;

function runTimePlot(name, title, wantedOf) {
  const far = (state) => {
    const found = extent(runTimes(state).filter((_, i) => visible(state, i) && wantedOf(state)(i)));
    return !!found && (state.scale === "log" || state.scale === "auto" && found[0] > 0 && found[1] / found[0] > FAR);
  };
  return {
    name, title, wide: name === "run-time",
    x: { label: "repetition", kind: "count", range: REPETITION },
    y: { label: "run time", kind: "time", logarithmic: far, range: (state) => rangeOf(state, runTimes(state), wantedOf(state), far(state)) },
    draw(pen, state) {
      scatter(pen, state, state.fingerprint.points.repetition, runTimes(state), wantedOf(state));
      cuts(pen, state);
    },
    after: inset,
    hover(place, pen, state) {
      const i = nearest(place, pen, state, state.fingerprint.points.repetition, runTimes(state), wantedOf(state));
      return i < 0 ? null : describe(state, i);
    },
  };
}

/** Bins, as many together as make some 120 of what is seen: [from, to, counts of the four]. */
function binsOf(histogram, range) {
  const edge = (bin) => histogram.logarithmic
    ? histogram.from_ns * Math.pow(histogram.to_ns / histogram.from_ns, bin / histogram.bins)
    : histogram.from_ns + (histogram.to_ns - histogram.from_ns) * bin / histogram.bins;
  const position = (value) => histogram.logarithmic ? Math.log(Math.max(value, 1e-9)) : value;
  const whole = position(histogram.to_ns) - position(histogram.from_ns) || 1;
  const share = range ? (position(range[1]) - position(range[0])) / whole : 1;
  const together = share > 0.6 ? 4 : share > 0.3 ? 2 : 1;
  const merged = new Map();
  for (const [bin, ...counts] of histogram.counts) {
    const group = Math.floor(bin / together);
    const sum = merged.get(group) || [0, 0, 0, 0];
    merged.set(group, sum.map((value, i) => value + counts[i]));
  }
  return [...merged].map(([group, counts]) => [edge(group * together), edge((group + 1) * together), counts]);
}

function histogramPlot(name, title, of) {
  const total = (state, counts) => counts.reduce((sum, count, i) => sum + (state.hidden.has(i) ? 0 : count), 0);
  return {
    name, title,
    x: {
      label: "run time", kind: "time", logarithmic: (state) => of(timed(state)).logarithmic,
      range: (state) => { const { counts, from_ns, to_ns } = of(timed(state)); return counts.length ? [from_ns, to_ns] : null; },
    },
    y: {
      label: "repetitions", kind: "count",
      range: (state) => [0, 1.05 * Math.max(1, ...binsOf(of(timed(state))).map(([, , counts]) => total(state, counts)))],
    },
    draw(pen, state) {
      const { context, colours, x, y } = pen;
      for (const [from, to, counts] of binsOf(of(timed(state)), [x.from, x.to])) {
        let below = 0;
        for (const category of ORDER) {
          if (state.hidden.has(category) || !counts[category]) continue;
          context.fillStyle = colours[CATEGORIES[category]];
          const [left, right] = [x.place(from), x.place(to)];
          const [bottom, top] = [y.place(below), y.place(below + counts[category])];
          context.fillRect(left, Math.min(top, bottom - 1), Math.max(right - left - 0.5, 1), Math.max(bottom - top, 1));
          below += counts[category];
        }
      }
    },
    hover(place, pen, state) {
      const at = pen.x.value(place[0]);
      const bin = binsOf(of(timed(state)), [pen.x.from, pen.x.to]).find(([from, to]) => at >= from && at < to);
      if (!bin) return null;
      const counts = bin[2].map((count, i) => (count ? `\n${CATEGORIES[i]}: ${count}` : "")).join("");
      return `${time(bin[0])} to ${time(bin[1])}${counts}`;
    },
  };
}

function ecdfPlot() {
  const both = (state) => [timed(state).ecdf, timed(state).ecdf_good];
  return {
    name: "ecdf", title: "Distribution function (dashed: good)",
    x: {
      label: "run time", kind: "time", range: (state) => extent(timed(state).ecdf.at_ns),
      logarithmic: (state) => { const found = extent(timed(state).ecdf.at_ns); return !!found && found[0] > 0 && found[1] / found[0] > FAR; },
    },
    y: { label: "share that takes no longer", kind: "share", range: () => [0, 1.02] },
    draw(pen, state) {
      both(state).forEach((ecdf, good) => {
        const across = [], up = [];
        ecdf.at_ns.forEach((value, i) => {
          across.push(value, value);
          up.push(i ? ecdf.share[i - 1] : 0, ecdf.share[i]);
        });
        polyline(pen, across, up, pen.colours[good ? "good" : "all"], good ? [6, 3] : [], 1.8);
      });
    },
    hover(place, pen, state) {
      const at = pen.x.value(place[0]);
      const share = ({ at_ns, share }) => { const i = at_ns.findLastIndex((value) => value <= at); return i < 0 ? 0 : share[i]; };
      const [all, good] = both(state);
      return `${time(at)}\nall: ${percent(share(all))}` + (good.at_ns.length ? `\ngood: ${percent(share(good))}` : "");
    },
  };
}

function boxPlot() {
  // The first name stands at the top, which is the greatest value.
  const names = ["all", ...CATEGORIES].reverse();
  const boxes = (state) => timed(state).boxes.filter(({ of }) => of === "all" || !state.hidden.has(CATEGORIES.indexOf(of)));
  return {
    name: "box", title: "Box plot by category",
    x: {
      label: "run time", kind: "time",
      range: (state) => { const found = extent(boxes(state).flatMap(({ min, max }) => [min, max])); return found && [found[0] / 1.02, found[1] * 1.02]; },
      logarithmic: (state) => { const found = extent(boxes(state).flatMap(({ min, max }) => [min, max])); return !!found && found[0] > 0 && found[1] / found[0] > FAR; },
    },
    y: { label: "", kind: "count", categories: names, range: () => [-0.5, names.length - 0.5] },
    draw(pen, state) {
      const { context, colours, x, y } = pen;
      context.lineWidth = 1.4;
      for (const box of boxes(state)) {
        const middle = y.place(names.indexOf(box.of));
        context.strokeStyle = context.fillStyle = colours[box.of];
        const [low, lower, median, upper, high] = ["low", "lower", "median", "upper", "high"].map((key) => x.place(box[key]));
        context.strokeRect(lower, middle - 9, Math.max(upper - lower, 1), 18);
        context.beginPath();
        for (const [from, to] of [[low, lower], [upper, high]]) { context.moveTo(from, middle); context.lineTo(to, middle); }
        for (const end of [low, high]) { context.moveTo(end, middle - 5); context.lineTo(end, middle + 5); }
        context.stroke();
        context.fillRect(median - 1.5, middle - 9, 3, 18);
        for (const end of [box.min, box.max]) mark(context, 2, x.place(end), middle);
      }
    },
    hover(place, pen, state) {
      const name = names[Math.round(pen.y.value(place[1]))];
      const box = boxes(state).find(({ of }) => of === name);
      if (!box) return null;
      const of = (key) => `\n${key === "lower" ? "25 %" : key === "upper" ? "75 %" : key}: ${time(box[key])}`;
      return `${name}: ${box.count} repetitions` + ["min", "lower", "median", "upper", "max"].map(of).join("");
    },
  };
}

function autocorrelationPlot() {
  const of = (state) => timed(state).autocorrelation;
  return {
    name: "autocorrelation", title: "Autocorrelation of the good repetitions",
    x: { label: "lag, repetitions", kind: "count", range: (state) => (of(state).at_lag.length ? [0, of(state).at_lag.length + 1] : null) },
    y: { label: "autocorrelation", kind: "share", range: (state) => {
      const found = extent([...of(state).at_lag, -1.5 * of(state).band, 1.5 * of(state).band]) || [-1, 1];
      return [Math.min(found[0] * 1.1, -0.1), Math.max(found[1] * 1.1, 0.1)];
    } },
    draw(pen, state) {
      const { context, colours, x, y } = pen;
      const { at_lag, band } = of(state);
      context.globalAlpha = 0.35;
      context.fillStyle = colours.line;
      context.fillRect(x.start, y.place(band), x.end - x.start, y.place(-band) - y.place(band));
      context.globalAlpha = 1;
      context.fillStyle = colours.good;
      at_lag.forEach((value, i) => {
        const [top, zero] = [y.place(value), y.place(0)];
        context.fillRect(x.place(i + 1) - 1.5, Math.min(top, zero), 3, Math.abs(top - zero) || 1);
      });
    },
    hover(place, pen, state) {
      const lag = Math.round(pen.x.value(place[0]));
      const value = of(state).at_lag[lag - 1];
      return value == null ? null : `lag ${lag}: ${value.toFixed(3)}\nindependent ones lie within ±${of(state).band.toFixed(3)}`;
    },
  };
}

const METRICS = [["cumulative_minimum", "good", []], ["cumulative_mean", "outlier", [6, 3]], ["cumulative_median", "warmup", []],
  ["running_mean", "first", [6, 3]], ["running_median", "all", []]];

function metricsPlot() {
  const values = (state) => METRICS.flatMap(([name]) => timed(state).metrics[name]);
  const logarithmic = (state) => { const found = extent(values(state)); return !!found && found[0] > 0 && found[1] / found[0] > 3; };
  return {
    name: "metrics", title: "Metrics along the repetitions",
    x: { label: "repetition", kind: "count", range: REPETITION },
    y: { label: "run time", kind: "time", logarithmic, range: (state) => { const found = extent(values(state)); return found && [found[0] / 1.02, found[1] * 1.02]; } },
    draw(pen, state) {
      const { context, colours, x, y } = pen;
      METRICS.forEach(([name, colour, dash], row) => {
        const metrics = timed(state).metrics;
        polyline(pen, metrics.repetition, metrics[name], colours[colour], dash);
        const [right, middle] = [x.end - 8, y.end + 12 + 14 * row];
        context.fillStyle = colours.ink;
        context.textAlign = "right";
        context.fillText(name.replace("_", " "), right - 34, middle);
        context.strokeStyle = colours[colour];
        context.setLineDash(dash);
        context.beginPath();
        context.moveTo(right - 28, middle);
        context.lineTo(right, middle);
        context.stroke();
        context.setLineDash([]);
      });
      cuts(pen, state);
    },
    hover(place, pen, state) {
      const metrics = timed(state).metrics;
      const at = pen.x.value(place[0]);
      const i = metrics.repetition.findLastIndex((value) => value <= at);
      if (i < 0) return null;
      return `repetition ${metrics.repetition[i]}` + METRICS.map(([name]) => `\n${name.replace("_", " ")}: ${time(metrics[name][i])}`).join("");
    },
  };
}

function counterPlots(fingerprint, index) {
  const name = fingerprint.points.counters[index].name;
  const values = (state) => state.fingerprint.points.counters[index][state.counter];
  const slug = name.replace(/[^A-Za-z0-9]+/g, "-");
  const kind = fingerprint.points.counters[index].unit === "ns" ? "time" : "count";
  const logarithmic = (state) => state.scale === "log";
  const against = (other, label, otherKind, range, title, suffix) => ({
    name: `counter-${slug}${suffix}`, title,
    x: otherKind === "count" ? { label, kind: "count", range } : { label: name, kind, range: (state) => rangeOf(state, values(state)) },
    y: otherKind === "count" ? { label: name, kind, range: (state) => rangeOf(state, values(state)) }
      : { label, kind: "time", range: (state) => rangeOf(state, runTimes(state), undefined, logarithmic(state)), logarithmic },
    draw(pen, state) {
      const [across, up] = otherKind === "count" ? [other(state), values(state)] : [values(state), runTimes(state)];
      scatter(pen, state, across, up);
      if (otherKind === "count") cuts(pen, state);
    },
    after: inset,
    hover(place, pen, state) {
      const [across, up] = otherKind === "count" ? [other(state), values(state)] : [values(state), runTimes(state)];
      const i = nearest(place, pen, state, across, up);
      return i < 0 ? null : describe(state, i);
    },
  });
  return [
    against(runTimes, "run time", "time", null, `${name} against run time`, ""),
    against((state) => state.fingerprint.points.repetition, "repetition", "count", REPETITION, `${name} per repetition`, "-repetition"),
  ];
}
