// Two fingerprints over each other: A in the colour of the good ones, B in that of the outliers, dashed where it is a line.

const SIDES = ["A", "B"];
const SIDE_COLOUR = ["good", "outlier"];
const SIDE_DASH = [[], [6, 3]];

/** The run time that is looked at, on a side. */
const timedOf = (state, side) => state.pair.sides[side].times.find(({ time: name }) => name === state.pair.distances[state.time].time);
const both = (of) => [0, 1].map(of);
const far = (range) => !!range && range[0] > 0 && range[1] / range[0] > FAR;

function legend(pen) {
  const { context, colours, x, y } = pen;
  context.fillStyle = colours.paper;
  context.fillRect(x.end - 62, y.end + 3, 58, 32);
  SIDES.forEach((name, side) => {
    const middle = y.end + 12 + 14 * side;
    context.fillStyle = colours.ink;
    context.textAlign = "right";
    context.fillText(name, x.end - 40, middle);
    context.strokeStyle = colours[SIDE_COLOUR[side]];
    context.lineWidth = 2;
    context.setLineDash(SIDE_DASH[side]);
    context.beginPath();
    context.moveTo(x.end - 34, middle);
    context.lineTo(x.end - 8, middle);
    context.stroke();
    context.setLineDash([]);
  });
}

function ecdfOverlay(key, name, title) {
  const all = (state) => extent(both((side) => timedOf(state, side)[key].at_ns).flat());
  return {
    name, title,
    x: { label: "run time", kind: "time", range: all, logarithmic: (state) => far(all(state)) },
    y: { label: "share that takes no longer", kind: "share", range: () => [0, 1.02] },
    draw(pen, state) {
      both((side) => timedOf(state, side)[key]).forEach((ecdf, side) => {
        const across = [], up = [];
        ecdf.at_ns.forEach((value, i) => {
          across.push(value, value);
          up.push(i ? ecdf.share[i - 1] : 0, ecdf.share[i]);
        });
        polyline(pen, across, up, pen.colours[SIDE_COLOUR[side]], SIDE_DASH[side], 1.8);
      });
    },
    after: legend,
    hover(place, pen, state) {
      const at = pen.x.value(place[0]);
      const share = ({ at_ns, share }) => { const i = at_ns.findLastIndex((value) => value <= at); return percent(i < 0 ? 0 : share[i]); };
      return time(at) + both((side) => `\n${SIDES[side]}: ${share(timedOf(state, side)[key])}`).join("");
    },
  };
}

/** Shares of the repetitions for each µs, since the bins of the two sides differ. */
function densityOverlay() {
  const outline = (state, side) => {
    const histogram = timedOf(state, side).histogram_good;
    const bins = binsOf(histogram).sort((p, q) => p[0] - q[0]);
    const count = bins.reduce((sum, [, , counts]) => sum + counts.reduce((a, b) => a + b), 0);
    return bins.map(([from, to, counts]) => [from, to, counts.reduce((a, b) => a + b) / count / (to - from) * 1e3]);
  };
  const all = (state) => extent(both((side) => outline(state, side)).flat().flatMap(([from, to]) => [from, to]));
  return {
    name: "density", title: "Distribution without first and outliers",
    x: { label: "run time", kind: "time", range: all, logarithmic: (state) => far(all(state)) },
    y: { label: "share for each µs", kind: "share", range: (state) => {
      const found = extent(both((side) => outline(state, side)).flat().map(([, , share]) => share));
      return found && [0, found[1] * 1.05];
    } },
    draw(pen, state) {
      both((side) => outline(state, side)).forEach((bins, side) => {
        const across = [], up = [];
        let end = null;
        for (const [from, to, share] of bins) {
          if (end !== null && from > end * (1 + 1e-9)) { across.push(end, from); up.push(0, 0); }
          if (end === null) { across.push(from); up.push(0); }
          across.push(from, to);
          up.push(share, share);
          end = to;
        }
        if (end !== null) { across.push(end); up.push(0); }
        polyline(pen, across, up, pen.colours[SIDE_COLOUR[side]], SIDE_DASH[side], 1.5);
      });
    },
    after: legend,
    hover(place, pen, state) {
      const at = pen.x.value(place[0]);
      const share = (side) => { const bin = outline(state, side).find(([from, to]) => at >= from && at < to); return bin ? bin[2].toPrecision(3) : "0"; };
      return time(at) + both((side) => `\n${SIDES[side]}: ${share(side)} per µs`).join("");
    },
  };
}

function runTimeOverlay() {
  const points = (state, side) => {
    const { sides } = state.pair;
    return [sides[side].points.repetition, sides[side].points.run_time_ns[sides[side].times.indexOf(timedOf(state, side))]];
  };
  const values = (state, part) => both((side) => points(state, side)[part]).flat();
  const logarithmic = (state) => far(extent(values(state, 1)));
  return {
    name: "run-time", title: "Run time per repetition", wide: true,
    x: { label: "repetition", kind: "count", range: (state) => extent(values(state, 0)) },
    y: { label: "run time", kind: "time", logarithmic, range: (state) => {
      const found = extent(values(state, 1));
      return found && [found[0] / 1.05, found[1] * 1.05];
    } },
    draw(pen, state) {
      // The smaller marks on top.
      [1, 0].forEach((side) => {
        const [across, up] = points(state, side);
        const { context, colours, x, y } = pen;
        context.fillStyle = context.strokeStyle = colours[SIDE_COLOUR[side]];
        context.globalAlpha = 0.7;
        across.forEach((value, i) => mark(context, side ? 1 : 3, x.place(value), y.place(up[i])));
        context.globalAlpha = 1;
      });
    },
    after: legend,
    hover(place, pen, state) {
      let best = null, least = NEAR * NEAR;
      both((side) => points(state, side)).forEach(([across, up], side) => across.forEach((value, i) => {
        const [dx, dy] = [pen.x.place(value) - place[0], pen.y.place(up[i]) - place[1]];
        if (dx * dx + dy * dy < least) [best, least] = [[side, value, up[i]], dx * dx + dy * dy];
      }));
      return best && `${SIDES[best[0]]}, repetition ${best[1]}: ${time(best[2])}`;
    },
  };
}

function distanceText({ wasserstein_ns, relative, kolmogorov_smirnov }) {
  const ofMedian = relative == null ? "" : ` (${percent(relative)} of A's median)`;
  return wasserstein_ns == null ? "not known" : `${time(wasserstein_ns)}${ofMedian} by Wasserstein, ${kolmogorov_smirnov.toFixed(4)} by Kolmogorov and Smirnov`;
}

class PairSection extends LazySection {
  constructor(pair, number) {
    const first = Math.max(0, pair.distances.findIndex(({ time: name }) => name === report.time));
    super(`pair-${number}`, pair.operation_key, { pair, time: first });
    this.text = element("div", {});
  }

  fill() {
    const { pair, time: first } = this.state;
    this.plots = [runTimeOverlay(), densityOverlay(), ecdfOverlay("ecdf", "ecdf", "Distribution function"),
      ecdfOverlay("ecdf_good", "ecdf-good", "Distribution function of the good repetitions")].map((what) => new Plot(what, this.state));
    const controls = element("div", { class: "controls" }, this.choose("run time",
      pair.distances.map((one, i) => [String(i), one.time]), String(first), (value) => { this.state.time = Number(value); }));
    this.body.append(this.text, controls, element("div", { class: "plots" }, ...this.plots.map((plot) => plot.figure)));
  }

  update() {
    const distance = this.state.pair.distances[this.state.time];
    const [a, b] = both((side) => timedOf(this.state, side).numbers);
    const text = (number, key) => { const one = number && number[key]; return one ? (number.unit === "ns" ? time(one.value) : plain(one.value)) : ""; };
    const rows = a.map((number, i) => [number.name, text(number, "all"), text(b[i], "all"), text(number, "good"), text(b[i], "good")]);
    this.text.replaceChildren(facts([["verdict", distance.words.join("; ")], ["distance", distanceText(distance)]]),
      table(["", "A, all", "B, all", "A, good", "B, good"], rows, 1));
  }
}

function pairOverview() {
  const rows = report.pairs.map((pair, number) => {
    const distance = pair.distances.find(({ time: name }) => name === report.time) || pair.distances[0];
    return [element("a", { href: `#pair-${number}` }, pair.operation_key), distance.verdict, distanceText(distance)];
  });
  return element("section", { id: "overview" }, element("h2", {}, "All operations of both"), table(["operation", "verdict", "distance of the good repetitions"], rows));
}
