// From values to places and back.

/** An axis over [from, to] in the places [start, end]. kind: "time" (ns), "count" or "share". */
class Axis {
  constructor(range, places, kind, logarithmic) {
    let [from, to] = range;
    this.logarithmic = logarithmic && to > 0;
    if (this.logarithmic && from <= 0) from = to / 1e6;
    if (!(to > from)) [from, to] = this.logarithmic ? [from / 1.1, from * 1.1] : [from - 0.5, from + 0.5];
    [this.from, this.to] = [from, to];
    [this.start, this.end] = places;
    this.kind = kind;
    const most = Math.max(Math.abs(from), Math.abs(to));
    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    [this.per, this.unit] = kind === "time" ? units.find(([per]) => most >= per) || [1, "ns"] : [1, ""];
  }

  place(value) {
    const share = this.logarithmic ? Math.log(value / this.from) / Math.log(this.to / this.from)
      : (value - this.from) / (this.to - this.from);
    return this.start + share * (this.end - this.start);
  }

  value(place) {
    const share = (place - this.start) / (this.end - this.start);
    return this.logarithmic ? this.from * Math.pow(this.to / this.from, share) : this.from + share * (this.to - this.from);
  }

  /** Values with their labels, at round numbers, about so many. */
  ticks(wanted) {
    const [from, to] = [this.from / this.per, this.to / this.per];
    if (this.logarithmic && to / from > 8) return this.decades(from, to, wanted);
    const rough = (to - from) / wanted;
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    let step = power * [1, 2, 5, 10].find((digit) => digit * power >= rough * 0.999);
    if (this.kind === "count") step = Math.max(step, to - from < 1 ? step : 1);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const ticks = [];
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to * (1 + 1e-12) + 1e-300; n++) {
      ticks.push([n * step * this.per, this.label(n * step, digits)]);
    }
    return ticks;
  }

  decades(from, to, wanted) {
    const count = Math.log10(to / from);
    const digits = count > wanted ? [1] : count > wanted / 3 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
      for (const digit of digits) {
        const value = digit * Math.pow(10, power);
        if (value >= from && value <= to) ticks.push([value * this.per, this.label(value, Math.max(0, -power))]);
      }
    }
    return ticks;
  }

  label(value, digits) {
    if (this.kind === "share") return value.toFixed(Math.max(digits, 1));
    const size = Math.abs(value);
    if (size >= 1e9) return Number((value / 1e9).toPrecision(4)) + " G";
    if (size >= 1e6) return Number((value / 1e6).toPrecision(6)) + " M";
    return value.toFixed(digits).replace("-", "\u2212");
  }
}
