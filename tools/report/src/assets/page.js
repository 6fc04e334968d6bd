// Values under the pointer, and zooming. A figure holds the SVG of a plot and, as JSON, its axes and the values of its layers.

const tip = document.getElementById("tip");
/** So near a point must be to be shown, in units of the picture. */
const NEAR = 14;
/** A drag of less is no zoom, in units of the picture. */
const SHORTEST = 6;

/** A time in the unit that suits it, four digits. */
function time(ns) {
  const size = Math.abs(ns);
  if (size < 0.1) return Number(ns.toPrecision(3)) + " ns";
  const [value, unit] = size < 999.95 ? [ns, "ns"] : size < 999.95e3 ? [ns / 1e3, "µs"]
    : size < 999.95e6 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return value.toFixed(Math.abs(value) < 9.9995 ? 3 : Math.abs(value) < 99.995 ? 2 : 1) + " " + unit;
}

function format(kind, value) {
  if (value == null) return "";
  if (kind === "time") return time(value);
  if (kind === "text") return value;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

/** From values to places in the picture and back; a zoom multiplies and moves the places. */
class Axis {
  constructor(data) {
    Object.assign(this, data);
    this.reset();
  }

  reset() { [this.scale, this.shift] = [1, 0]; }

  place(value) {
    const share = this.log ? Math.log(value / this.from) / Math.log(this.to / this.from) : (value - this.from) / (this.to - this.from);
    return (this.start + share * (this.end - this.start)) * this.scale + this.shift;
  }

  value(place) {
    const share = ((place - this.shift) / this.scale - this.start) / (this.end - this.start);
    return this.log ? this.from * Math.pow(this.to / this.from, share) : this.from + share * (this.to - this.from);
  }

  /** Shows the places from one to another over the whole axis. */
  zoom(one, other) {
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    const [start, end] = [Math.min(this.start, this.end), Math.max(this.start, this.end)];
    const scale = (end - start) / (high - low);
    this.scale *= scale;
    this.shift = (this.shift - low) * scale + start;
  }

  /** Places with labels at round numbers, about so many; nothing for names. */
  ticks(wanted) {
    if (this.kind === "names") return null;
    const ends = [this.value(this.start), this.value(this.end)];
    const most = Math.max(...ends.map(Math.abs));
    const [per, unit] = this.kind !== "time" ? [1, ""] : [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]].find(([size]) => most >= size) ?? [1, " ns"];
    const [from, to] = ends.map((value) => value / per);
    const label = (value, digits) => value.toFixed(digits).replace("-", "\u2212") + unit;
    const found = [];
    if (this.log && to / from > 8) {
      for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
        for (const digit of Math.log10(to / from) > wanted / 2 ? [1] : [1, 2, 5]) {
          const value = digit * Math.pow(10, power);
          if (value >= from && value <= to) found.push([this.place(value * per), label(value, Math.max(0, -power))]);
        }
      }
      return found;
    }
    const rough = (to - from) / wanted;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    let step = power * [1, 2, 5, 10].find((digit) => digit * power >= rough * 0.999);
    if (this.kind === "count") step = Math.max(step, 1);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to * (1 + 1e-12); n++) found.push([this.place(n * step * per), label(n * step, digits)]);
    return found;
  }
}

/** A figure with its values. They are read when the pointer first comes to it. */
class Plot {
  constructor(figure) {
    this.figure = figure;
    this.svg = figure.querySelector("svg");
    const data = JSON.parse(figure.querySelector("script").textContent);
    if (!data) return;
    [this.x, this.y, this.layers] = [new Axis(data.x), new Axis(data.y), data.layers];
    this.marks = [...this.svg.querySelectorAll("g[clip-path] > *")].map((node) => {
      const layer = this.layers[node.dataset.layer];
      const path = layer?.rows ? node.getAttribute("d") : null;
      // The place of a point is an absolute move; all else of its shape is relative.
      const points = path?.match(/M[-\d.]+ [-\d.]+/g)?.map((text) => text.slice(1).split(" ").map(Number));
      return { node, layer, path, points };
    });
    const table = figure.closest(".body")?.querySelector(":scope > script");
    this.table = table ? JSON.parse(table.textContent) : [];
    this.ticks = [...this.svg.querySelectorAll(".tick")];
    this.grid = this.svg.querySelector(".grid");
    this.plainGrid = this.grid?.getAttribute("d");
  }

  /** The place of an event in the picture. */
  place(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [place.x, place.y];
  }

  has([x, y]) {
    return x >= this.x.start && x <= this.x.end && y >= Math.min(this.y.start, this.y.end) && y <= Math.max(this.y.start, this.y.end);
  }

  /** The text for a place; null where there is nothing. */
  text(place) {
    const lines = this.point(place) ?? this.values(place);
    return lines?.length ? lines.join("\n") : null;
  }

  /** The nearest point, with all that is known of it. */
  point(place) {
    let [best, least] = [null, NEAR * NEAR];
    for (const { node, layer, points } of this.marks) {
      if (!points || getComputedStyle(node).display === "none") continue;
      points.forEach(([x, y], i) => {
        const [dx, dy] = [x * this.x.scale + this.x.shift - place[0], y * this.y.scale + this.y.shift - place[1]];
        if (dx * dx + dy * dy < least) [best, least] = [{ layer, row: layer.rows[i], x, y }, dx * dx + dy * dy];
      });
    }
    if (!best) return null;
    if (best.row != null) return [best.layer.name, ...this.table.map(([name, kind, values]) => `${name}: ${format(kind, values[best.row])}`)];
    const value = (axis, place) => format(axis.kind, axis.kind === "count" ? Math.round(axis.value(place)) : axis.value(place));
    const moved = (axis, place) => place * axis.scale + axis.shift;
    return [best.layer.name, `${this.x.label}: ${value(this.x, moved(this.x, best.x))}`, `${this.y.label}: ${value(this.y, moved(this.y, best.y))}`];
  }

  /** The values of lines, bars, boxes and cells. */
  values(place) {
    const [x, y] = [this.x.value(place[0]), this.y.value(place[1])];
    const row = Math.round(y);
    const lines = [];
    let head = `${this.x.label}: ${format(this.x.kind, this.x.kind === "count" ? Math.round(x) : x)}`;
    this.marks.forEach(({ node, layer: of }, i) => {
      const layer = of ?? (node.localName === "image" ? this.layers.find((one) => one?.maps) : null);
      if (!layer || getComputedStyle(node).display === "none") return;
      if (layer.line) {
        const i = layer.line[0].findLastIndex((value) => value <= x);
        if (i >= 0) lines.push(`${layer.name}: ${format(this.y.kind, layer.line[1][i])}`);
      } else if (layer.bars) {
        const bar = layer.bars.findLast(([from, to, low]) => x >= from && x < to && (!layer.names || low === row));
        if (!bar) return;
        if (layer.names) lines.splice(0, 1, `rank ${layer.names[row]}: ${layer.name}, ${time(bar[1] - bar[0])}`);
        else lines.push(`${layer.name}: ${format(this.y.kind, bar[2] < 0 ? bar[2] : bar[3] - bar[2])}`);
        if (!layer.names && this.x.kind === "time") head = `${time(bar[0])} to ${time(bar[1])}`;
      } else if (layer.values && layer.row === row) {
        [head] = [layer.name];
        lines.push(...layer.values.map(([name, value]) => `${name}: ${format(this.x.kind, value)}`));
      } else if (layer.maps) {
        const column = Math.min(layer.edges.findLastIndex((edge) => edge <= x), layer.edges.length - 2);
        if (column < 0 || layer.names[row] == null) return;
        const [from, to] = [layer.edges[column], layer.edges[column + 1]];
        const columns = this.x.kind === "time" ? `from ${time(from)}` : to - from > 1 ? `repetitions ${from} to ${to - 1}` : `repetition ${from}`;
        head = `rank ${layer.names[row]}, ${columns}`;
        const cell = (value, kind) => (kind === "share" ? `${(100 * value).toFixed(1)} %` : format(kind, value));
        lines.push(...layer.maps.filter(([, , map]) => map[row][column]).map(([name, kind, map]) => `${name}: ${cell(map[row][column], kind)}`));
      }
    });
    return lines.length ? [head, ...lines] : null;
  }

  zoom(one, other) {
    this.x.zoom(one[0], other[0]);
    if (this.y.kind !== "names") this.y.zoom(one[1], other[1]);
    this.move();
    if (this.button) return;
    this.button = document.createElement("button");
    this.button.textContent = "the whole range";
    this.button.addEventListener("click", () => this.reset());
    this.figure.append(this.button);
  }

  reset() {
    this.x.reset();
    this.y.reset();
    this.move();
    this.button?.remove();
    this.button = null;
  }

  /** Moves marks, grid and labels to where the axes have them now. */
  move() {
    const { x, y } = this;
    for (const { node, path } of this.marks) {
      if (path) node.setAttribute("d", path.replace(/M([-\d.]+) ([-\d.]+)/g, (_, px, py) => `M${(px * x.scale + x.shift).toFixed(1)} ${(py * y.scale + y.shift).toFixed(1)}`));
      else node.setAttribute("transform", `translate(${x.shift} ${y.shift}) scale(${x.scale} ${y.scale})`);
    }
    const isWhole = x.scale === 1 && y.scale === 1;
    this.svg.querySelectorAll(".tick.zoomed").forEach((node) => node.remove());
    this.ticks.forEach((node) => { node.style.display = isWhole || (y.kind === "names" && node.getAttribute("text-anchor") === "end") ? "" : "none"; });
    if (isWhole) { this.grid.setAttribute("d", this.plainGrid); return; }
    let grid = "";
    const label = (text, like, [px, py]) => {
      const node = this.ticks.find((tick) => tick.getAttribute("text-anchor") === like)?.cloneNode();
      if (!node) return;
      node.setAttribute("x", px);
      node.setAttribute("y", py);
      node.classList.add("zoomed");
      node.style.display = "";
      node.textContent = text;
      this.svg.append(node);
    };
    const [top, bottom] = [Math.min(y.start, y.end), Math.max(y.start, y.end)];
    for (const [place, text] of x.ticks((x.end - x.start) / 75) ?? []) {
      grid += `M${place} ${top}V${bottom}`;
      label(text, "middle", [place, bottom + 14]);
    }
    for (const [place, text] of y.ticks((bottom - top) / 38) ?? []) {
      grid += `M${x.start} ${place}H${x.end}`;
      label(text, "end", [x.start - 6, place + 3.8]);
    }
    this.grid.setAttribute("d", grid);
  }
}

const plots = new WeakMap();
let drag = null;

function plotOf(event) {
  const figure = event.target.closest?.("figure");
  if (!figure) return null;
  if (!plots.has(figure)) plots.set(figure, new Plot(figure));
  const plot = plots.get(figure);
  return plot.layers ? plot : null;
}

document.addEventListener("pointermove", (event) => {
  const plot = drag?.plot ?? plotOf(event);
  const place = plot?.place(event);
  if (drag) {
    const [a, b] = [drag.from, place];
    for (const [key, value] of [["x", Math.min(a[0], b[0])], ["y", Math.min(a[1], b[1])], ["width", Math.abs(a[0] - b[0])], ["height", Math.abs(a[1] - b[1])]]) drag.box.setAttribute(key, value);
    return;
  }
  const text = plot?.has(place) ? plot.text(place) : null;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.min(event.clientX + 14, innerWidth - width - 8) + "px";
  tip.style.top = Math.max(4, event.clientY + 14 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 14) + "px";
});

document.addEventListener("pointerdown", (event) => {
  const plot = event.pointerType === "mouse" && event.button === 0 && event.target.localName !== "button" ? plotOf(event) : null;
  const from = plot?.place(event);
  if (!plot?.has(from)) return;
  const box = document.createElementNS(plot.svg.namespaceURI, "rect");
  box.setAttribute("class", "zoom");
  plot.svg.append(box);
  drag = { plot, from, box };
  tip.hidden = true;
  event.preventDefault();
});

document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { plot, from, box } = drag;
  drag = null;
  box.remove();
  const to = plot.place(event);
  if (Math.abs(to[0] - from[0]) > SHORTEST && Math.abs(to[1] - from[1]) > SHORTEST) plot.zoom(from, to);
});

document.addEventListener("dblclick", (event) => plotOf(event)?.reset());

/** A plot that has the focus: + zooms in, arrows move what is shown, Escape or - shows all again. */
document.addEventListener("keydown", (event) => {
  const plot = event.target.localName === "figure" && !event.ctrlKey && !event.metaKey ? plotOf(event) : null;
  if (!plot) return;
  const { x, y } = plot;
  const [w, h] = [(x.end - x.start) / 4, (y.end - y.start) / 4];
  const moves = { ArrowLeft: [-w, 0], ArrowRight: [w, 0], ArrowUp: [0, h], ArrowDown: [0, -h] };
  if (event.key === "+") plot.zoom([x.start + w, y.start + h], [x.end - w, y.end - h]);
  else if (event.key === "-" || event.key === "Escape") plot.reset();
  else if (plot.button && moves[event.key]) {
    const [dx, dy] = moves[event.key];
    plot.zoom([x.start + dx, y.start + dy], [x.end + dx, y.end + dy]);
  } else return;
  event.preventDefault();
});
