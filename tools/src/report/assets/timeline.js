// Ranks against wall time: the whole run, or the calls around a repetition.

const DOING = [["waiting", "waiting for other ranks", "--warmup"], ["off_processor", "off the processor", "--outlier"],
  ["communicating", "communicating", "--good"], [null, "computing, or not recorded", "--line"]];
const LETTER_OF = { w: 0, o: 1, c: 2 };

function timelinePlot() {
  const shown = ({ timeline, detail }) => (detail < 0 ? timeline : timeline.details[detail]);
  const rows = (state) => (state.detail < 0 ? state.timeline.ranks : shown(state).ranks.map((rank) => [rank, rank]));
  const colour = (i) => getComputedStyle(document.documentElement).getPropertyValue(DOING[i][2]).trim();
  const label = ([first, last]) => (first === last ? `rank ${first}` : `ranks ${first} to ${last}`);
  const band = (pen, row) => {
    const [bottom, top] = [pen.y.place(row - 0.42), pen.y.place(row + 0.42)];
    return [top, bottom];
  };
  return {
    name: "timeline", title: "What the ranks did when", wide: true, height: 300,
    x: { label: "time", kind: "time", range: (state) => [0, shown(state).to_ns - shown(state).from_ns] },
    y: { label: "rank", kind: "count", range: (state) => [-0.5, rows(state).length - 0.5], rows },
    draw(pen, state) {
      const { context, x } = pen;
      const colours = DOING.map((_, i) => colour(i));
      const length = shown(state).to_ns - shown(state).from_ns;
      rows(state).forEach((_, row) => {
        const [top, bottom] = band(pen, row);
        context.fillStyle = colours[3];
        context.fillRect(x.place(0), top, x.place(length) - x.place(0), bottom - top);
        if (state.detail >= 0) return;
        const columns = state.timeline.waiting[row].length;
        for (let column = 0; column < columns; column++) {
          const [left, right] = [x.place(column / columns * length), x.place((column + 1) / columns * length)];
          let base = bottom;
          for (const i of [2, 0, 1]) {
            const height = state.timeline[DOING[i][0]][row][column] / 1000 * (bottom - top);
            context.fillStyle = colours[i];
            context.fillRect(left, base - height, right - left + 0.4, height);
            base -= height;
          }
        }
      });
      if (state.detail < 0) return;
      for (const [row, from, to, doing] of shown(state).bars) {
        const [top, bottom] = band(pen, row);
        context.fillStyle = colours[LETTER_OF[doing]];
        context.fillRect(x.place(from), top, Math.max(x.place(to) - x.place(from), 0.7), bottom - top);
      }
    },
    hover(place, pen, state) {
      const [at, row] = [pen.x.value(place[0]), Math.round(pen.y.value(place[1]))];
      const of = rows(state)[row];
      if (!of) return null;
      if (state.detail >= 0) {
        const bar = shown(state).bars.findLast(([rank, from, to]) => rank === row && at >= from && at < to);
        return `${label(of)}, ${time(at)}\n${bar ? `${DOING[LETTER_OF[bar[3]]][1]}, ${time(bar[2] - bar[1])}` : DOING[3][1]}`;
      }
      const { timeline } = state;
      const columns = timeline.waiting[row].length;
      const column = Math.floor(at / (timeline.to_ns - timeline.from_ns) * columns);
      if (column < 0 || column >= columns) return null;
      const shares = DOING.slice(0, 3).map(([key, name]) => [name, timeline[key][row][column]]);
      const lines = shares.filter(([, share]) => share).map(([name, share]) => `${percent(share / 1000)} ${name}`);
      return [`${label(of)}, ${time(at)}`, ...lines].join("\n");
    },
  };
}

/** The timeline of a run, behind the summary. */
class TimelineSection extends LazySection {
  constructor(timeline) {
    super("timeline", "Timeline", { timeline, detail: -1 });
    this.node.classList.remove("fingerprint");
  }

  fill() {
    const plot = new Plot(timelinePlot(), this.state);
    this.plots = [plot];
    const choices = [["-1", "the whole run"], ...this.state.timeline.details.map(({ title }, i) => [String(i), title])];
    const legend = element("span", { class: "legend" }, ...DOING.map(([, name, colour]) =>
      element("span", {}, element("span", { class: "swatch", style: `background: var(${colour})` }), name)));
    this.body.append(element("p", {}, this.choose("show", choices, "-1", (value) => { this.state.detail = Number(value); })),
      legend, plot.figure,
      element("p", { class: "faint" }, "In a call a rank waits first; when in the rest of it, or between two calls, it was off its processor is not recorded."));
  }

  update() {}
}
