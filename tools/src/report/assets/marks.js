// What several plots draw: points by category, lines, cuts, and the counts in the corner.

/** The good ones first, so that what is out of the ordinary lies on top. */
const ORDER = [3, 1, 2, 0];
/** So near a point must be to be told of, pixels. */
const NEAR = 14;

/** The run time definition that is looked at. */
const timed = (state) => state.fingerprint.times[state.time];
const categoryAt = (state, i) => LETTERS.indexOf(state.fingerprint.points.category[state.time][i]);
const runTimes = (state) => state.fingerprint.points.run_time_ns[state.time];
const visible = (state, i) => !state.hidden.has(categoryAt(state, i));

/** The range of the values of the points that are shown and wanted, with room around. */
function rangeOf(state, values, wanted = () => true, logarithmic = false) {
  const found = extent(values.filter((_, i) => visible(state, i) && wanted(i)));
  if (!found) return null;
  const [low, high] = found;
  if (logarithmic && low > 0) return [low / Math.pow(high / low, 0.04) / 1.02, high * Math.pow(high / low, 0.04) * 1.02];
  const room = (high - low) * 0.04 || Math.abs(high) * 0.02 || 1;
  return [low - room, high + room];
}

/** A mark for each category, to be told apart also in grey. */
function mark(context, category, x, y) {
  context.beginPath();
  if (category === 3) {
    context.fillRect(x - 1, y - 1, 2, 2);
  } else if (category === 1) {
    context.moveTo(x, y - 3); context.lineTo(x + 3, y + 2.5); context.lineTo(x - 3, y + 2.5); context.fill();
  } else if (category === 2) {
    context.moveTo(x - 2.5, y - 2.5); context.lineTo(x + 2.5, y + 2.5);
    context.moveTo(x - 2.5, y + 2.5); context.lineTo(x + 2.5, y - 2.5); context.stroke();
  } else {
    context.moveTo(x, y - 4.5); context.lineTo(x + 4.5, y); context.lineTo(x, y + 4.5); context.lineTo(x - 4.5, y); context.fill();
  }
}

/** The points with these values that are shown and wanted. */
function scatter(pen, state, across, up, wanted = () => true) {
  const { context, colours, x, y } = pen;
  context.lineWidth = 1.3;
  for (const category of ORDER) {
    if (state.hidden.has(category)) continue;
    context.fillStyle = context.strokeStyle = colours[CATEGORIES[category]];
    for (let i = 0; i < across.length; i++) {
      if (categoryAt(state, i) !== category || !wanted(i) || across[i] == null || up[i] == null) continue;
      const [px, py] = [x.place(across[i]), y.place(up[i])];
      if (px < x.start - 5 || px > x.end + 5 || py < y.end - 5 || py > y.start + 5) continue;
      mark(context, category, px, py);
    }
  }
}

/** The point nearest to a place, or -1. */
function nearest(place, pen, state, across, up, wanted = () => true) {
  let best = -1, least = NEAR * NEAR;
  for (let i = 0; i < across.length; i++) {
    if (!visible(state, i) || !wanted(i) || across[i] == null || up[i] == null) continue;
    const [dx, dy] = [pen.x.place(across[i]) - place[0], pen.y.place(up[i]) - place[1]];
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

/** Everything that is known of a repetition. */
function describe(state, i) {
  const { points, times } = state.fingerprint;
  const lines = [`repetition ${points.repetition[i]}: ${CATEGORIES[categoryAt(state, i)]}`];
  times.forEach((one, t) => lines.push(`${one.time}: ${time(points.run_time_ns[t][i])}`));
  if (points.slowest.length) lines.push(`longest on rank ${points.slowest[i]}, last to come was rank ${points.last_in[i]}`);
  for (const counter of points.counters) {
    lines.push(`${counter.name}: ${plain(counter.slowest[i])} on that rank, at most ${plain(counter.largest[i])}`);
  }
  return lines.join("\n");
}

function polyline(pen, across, up, colour, dash = [], width = 1.4) {
  const { context, x, y } = pen;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.setLineDash(dash);
  context.beginPath();
  across.forEach((value, i) => {
    if (up[i] == null) return;
    if (i) context.lineTo(x.place(value), y.place(up[i])); else context.moveTo(x.place(value), y.place(up[i]));
  });
  context.stroke();
  context.setLineDash([]);
}

/** The end of the warm-up by each rule, and changes of the level. */
function cuts(pen, state) {
  const { context, colours, x, y } = pen;
  timed(state).cuts.forEach((cut, number) => {
    const vertical = (repetition, dash, label) => {
      const place = x.place(repetition);
      if (place < x.start || place > x.end) return;
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.2;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(place, y.start);
      context.lineTo(place, y.end);
      context.stroke();
      context.setLineDash([]);
      if (!label) return;
      context.fillStyle = colours.ink;
      context.textAlign = place > (x.start + x.end) / 2 ? "right" : "left";
      context.fillText(label, place + (context.textAlign === "left" ? 4 : -4), y.end + 9 + 13 * number);
    };
    const dash = number ? [2, 3] : [7, 3];
    if (cut.warmup_end != null) vertical(cut.warmup_end, dash, `${cut.method}: w = ${cut.warmup_end}`);
    for (const change of cut.change_points) if (change !== cut.warmup_end) vertical(change, [1, 4]);
  });
}

/** How many repetitions each category has, as bars in the corner. */
function inset(pen, state) {
  const { context, colours, x, y } = pen;
  const shown = [0, 1, 2, 3].filter((category) => !state.hidden.has(category) && timed(state).counts[category] > 0);
  const most = Math.max(...shown.map((category) => timed(state).counts[category]));
  const [width, row] = [112, 12];
  const [left, top] = [x.end - width - 6, y.end + 6];
  context.globalAlpha = 0.85;
  context.fillStyle = colours.paper;
  context.fillRect(left, top, width, shown.length * row + 6);
  context.globalAlpha = 1;
  context.font = "9px system-ui, sans-serif";
  shown.forEach((category, place) => {
    const middle = top + 3 + row * (place + 0.5);
    const count = timed(state).counts[category];
    context.fillStyle = colours[CATEGORIES[category]];
    context.fillRect(left + 40, middle - 4, Math.max(1, 30 * count / most), 8);
    context.fillStyle = colours.ink;
    context.textAlign = "right";
    context.fillText(CATEGORIES[category], left + 37, middle);
    context.textAlign = "left";
    context.fillText(String(count), left + 73, middle);
  });
  context.strokeStyle = colours.line;
  context.strokeRect(left + 0.5, top + 0.5, width, shown.length * row + 6);
  context.font = "11px system-ui, sans-serif";
}
