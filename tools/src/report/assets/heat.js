// Maps of rank by repetition. The colours grow lighter or darker in one direction only, so that they can be read in grey.

/** Viridis at nine places (Smith and van der Walt, public domain): even in lightness, also for the colour-blind. */
const HEAT = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"]
  .map((colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)));

function heatColour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (HEAT.length - 1);
  const below = Math.min(Math.floor(place), HEAT.length - 2);
  const part = HEAT[below].map((value, i) => Math.round(value + (HEAT[below + 1][i] - value) * (place - below)));
  return `rgb(${part.join(",")})`;
}

function heatPlot(name, title, key) {
  const map = (state) => state.fingerprint.heat;
  const range = (state) => {
    const found = extent(map(state)[key].flat());
    return found && [Math.max(found[0], 1), Math.max(found[1], 2)];
  };
  const share = (value, [low, high]) => Math.log(Math.max(value, low) / low) / (Math.log(high / low) || 1);
  const ranks = ([first, last]) => (first === last ? `rank ${first}` : `ranks ${first} to ${last}`);
  return {
    name, title, margin: 78,
    x: { label: "repetition", kind: "count", range: (state) => [map(state).repetitions[0], map(state).repetitions.at(-1) + 1] },
    y: {
      label: "rank", kind: "count",
      range: (state) => [map(state).ranks[0][0] - 0.5, map(state).ranks.at(-1)[1] + 0.5],
    },
    draw(pen, state) {
      const { context, x, y } = pen;
      const { repetitions } = map(state);
      const limits = range(state);
      map(state).ranks.forEach(([first, last], row) => {
        const [top, bottom] = [y.place(last + 0.5), y.place(first - 0.5)];
        map(state)[key][row].forEach((value, column) => {
          if (value == null) return;
          const end = column + 1 === repetitions.length - 1 ? repetitions[column + 1] + 1 : repetitions[column + 1];
          const [left, right] = [x.place(repetitions[column]), x.place(end)];
          context.fillStyle = heatColour(share(value, limits));
          context.fillRect(left, top, right - left + 0.6, bottom - top + 0.6);
        });
      });
    },
    after(pen, state) {
      const { context, colours, x, y } = pen;
      const limits = range(state);
      const left = x.end + 10;
      for (let place = y.end; place < y.start; place++) {
        context.fillStyle = heatColour((y.start - place) / (y.start - y.end));
        context.fillRect(left, place, 10, 1.5);
      }
      const bar = new Axis(limits, [y.start, y.end], "time", true);
      context.fillStyle = colours.ink;
      context.textAlign = "left";
      for (const [value, label] of bar.ticks(5)) context.fillText(`${label} ${bar.unit}`, left + 13, bar.place(value));
    },
    hover(place, pen, state) {
      const [at, rank] = [pen.x.value(place[0]), pen.y.value(place[1])];
      const { repetitions, ranks: rows } = map(state);
      const row = rows.findIndex(([first, last]) => rank >= first - 0.5 && rank < last + 0.5);
      const column = Math.min(repetitions.findLastIndex((first) => first <= at), repetitions.length - 2);
      if (row < 0 || column < 0) return null;
      const last = column + 2 === repetitions.length ? repetitions[column + 1] : repetitions[column + 1] - 1;
      const which = repetitions[column] === last ? `repetition ${last}` : `repetitions ${repetitions[column]} to ${last}`;
      return `${ranks(rows[row])}, ${which}\nat most ${time(map(state)[key][row][column])}`;
    },
  };
}
