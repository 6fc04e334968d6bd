// One plot: its axes, zooming and hovering. What is drawn inside comes from plots.js.

const MARGIN = { left: 62, right: 14, top: 10, bottom: 40 };
const tip = document.getElementById("tip");

/** Labels of some of the rows, each of which is of one rank or of several: about so many. */
function rowTicks(rows, wanted) {
  const step = Math.max(1, Math.ceil(rows.length / Math.max(wanted, 1)));
  return rows.flatMap(([first, last], row) => (row % step ? [] : [[row, first === last ? String(first) : `${first}\u2013${last}`]]));
}

class Plot {
  /**
   * what: { name, title, x, y, draw, hover, wide, height }
   * x, y: { label, kind, range(state) -> [low, high] or null, logarithmic(state), categories: [names] }
   * draw(pen, state); hover(place, pen, state) -> text or null.
   */
  constructor(what, state) {
    this.what = what;
    this.state = state;
    this.zoomed = null;
    this.canvas = element("canvas", { "aria-label": what.title, "data-plot": what.name });
    if (what.height) this.canvas.style.height = what.height + "px";
    const reset = element("button", { title: "the whole range", onclick: () => this.zoom(null) }, "reset");
    const save = element("button", { title: "as a picture", onclick: () => this.save() }, "png");
    this.figure = element("figure", { class: what.wide ? "wide" : "" },
      element("figcaption", {}, element("h3", {}, what.title), element("span", {}, reset, save)), this.canvas);
    this.listen();
  }

  listen() {
    const canvas = this.canvas;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      from = this.at(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const to = this.at(event);
      if (!this.pen) return;
      if (from) {
        this.render();
        this.box(from, to);
      } else if (!this.waiting) {
        this.waiting = requestAnimationFrame(() => {
          this.waiting = null;
          this.tell(to, event);
        });
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const to = this.at(event);
      const start = from;
      from = null;
      if (start && this.pen && Math.abs(to[0] - start[0]) > 6 && Math.abs(to[1] - start[1]) > 6) this.zoomTo(start, to);
      else this.render();
    });
    canvas.addEventListener("pointercancel", () => { from = null; this.render(); });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("dblclick", () => this.zoom(null));
  }

  at(event) {
    const place = this.canvas.getBoundingClientRect();
    return [event.clientX - place.left, event.clientY - place.top];
  }

  box(from, to) {
    const { context, colours } = this.pen;
    context.strokeStyle = colours.ink;
    context.setLineDash([4, 3]);
    context.strokeRect(from[0], from[1], to[0] - from[0], to[1] - from[1]);
    context.setLineDash([]);
  }

  zoomTo(a, b) {
    const { x, y } = this.pen;
    const sorted = (axis, i) => [axis.value(a[i]), axis.value(b[i])].sort((p, q) => p - q);
    this.zoom([sorted(x, 0), sorted(y, 1)]);
  }

  zoom(ranges) {
    this.zoomed = ranges;
    this.render();
  }

  tell(place, event) {
    const pen = this.pen;
    const inside = place[0] >= pen.x.start - 5 && place[0] <= pen.x.end + 5;
    const text = inside && this.what.hover ? this.what.hover(place, pen, this.state) : null;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const beyond = event.clientX + tip.offsetWidth + 20 > innerWidth;
    tip.style.left = (beyond ? event.clientX - tip.offsetWidth - 14 : event.clientX + 14) + "px";
    tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 4) + "px";
  }

  render() {
    const size = this.canvas.getBoundingClientRect();
    if (size.width < 50) return;
    // Paper shows more than a screen.
    const ratio = document.documentElement.classList.contains("printing") ? 3 : devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const colours = palette();
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, size.width, size.height);
    context.font = "11px system-ui, sans-serif";
    const { x, y } = this.what;
    const ranges = this.zoomed || [x.range(this.state), y.range(this.state)];
    const right = this.what.margin || MARGIN.right;
    const left = y.categories ? 74 : MARGIN.left;
    if (!ranges[0] || !ranges[1]) {
      context.fillStyle = colours.faint;
      context.textAlign = "center";
      context.fillText("nothing to show", size.width / 2, size.height / 2);
      this.pen = null;
      return;
    }
    const logarithmic = (axis) => (axis.logarithmic ? axis.logarithmic(this.state) : false);
    const across = new Axis(ranges[0], [left, size.width - right], x.kind, logarithmic(x));
    const up = new Axis(ranges[1], [size.height - MARGIN.bottom, MARGIN.top], y.kind, logarithmic(y));
    this.pen = { context, colours, x: across, y: up, size };
    this.axes();
    context.save();
    context.beginPath();
    context.rect(across.start, up.end, across.end - across.start, up.start - up.end);
    context.clip();
    this.what.draw(this.pen, this.state);
    context.restore();
    if (this.what.after) this.what.after(this.pen, this.state);
  }

  axes() {
    const { context, colours, x, y } = this.pen;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    const line = (x1, y1, x2, y2) => {
      context.beginPath();
      context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
      context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
      context.stroke();
    };
    const ticks = (axis, what, wanted) => what.categories ? what.categories.map((name, i) => [i, name])
      : what.rows ? rowTicks(what.rows(this.state), wanted) : axis.ticks(wanted);
    for (const [value, label] of ticks(x, this.what.x, (x.end - x.start) / 75)) {
      const place = x.place(value);
      context.strokeStyle = colours.line;
      line(place, y.start, place, y.end);
      context.fillStyle = colours.ink;
      context.textAlign = "center";
      context.fillText(label, place, y.start + 11);
    }
    for (const [value, label] of ticks(y, this.what.y, (y.start - y.end) / 38)) {
      const place = y.place(value);
      if (place > y.start + 1 || place < y.end - 1) continue;
      context.strokeStyle = colours.line;
      if (!this.what.y.categories) line(x.start, place, x.end, place);
      context.fillStyle = colours.ink;
      context.textAlign = "right";
      context.fillText(label, x.start - 6, place);
    }
    context.strokeStyle = colours.faint;
    context.strokeRect(x.start + 0.5, y.end + 0.5, x.end - x.start, y.start - y.end);
    const name = (what, axis) => (axis.unit ? `${what.label}, ${axis.unit}` : what.label);
    context.fillStyle = colours.faint;
    context.textAlign = "center";
    context.fillText(name(this.what.x, x), (x.start + x.end) / 2, y.start + 28);
    context.save();
    context.translate(11, (y.start + y.end) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(name(this.what.y, y), 0, 0);
    context.restore();
  }

  save() {
    const link = element("a", { href: this.canvas.toDataURL("image/png"), download: this.what.name + ".png" });
    link.click();
  }
}
