// Horizontal bars, a row each: planners, parts of the time, kinds of tensors.
//
// rows: [{ name, parts: [{ value, colour, text }], thin, marks, spread, end, lines }]; parts are stacked; thin: { value,
// colour } is a thin bar below them; marks: [{ value, colour }] are ticks across; spread: { min, q1, q3, max } are
// whiskers and a box; end: text behind the bar. limit: { value, name }, a dashed line across all rows.
const ROW = { pitch: 34, bar: 16 }; // CSS pixels

function rowsSpec({ rows, axes: [values], legend, limit }) {
  const lengthOf = ({ parts, thin, spread, marks = [] }) =>
    Math.max(
      sum(parts.map((part) => part.value)),
      thin ? thin.value : 0,
      spread ? spread.max : 0,
      ...marks.map((mark) => mark.value),
    );
  const longest = Math.max(1e-6, limit ? limit.value : 0, ...rows.map(lengthOf));
  const above = limit ? 20 / ROW.pitch : 0;
  const draw = (plot) => {
    const middle = (i) => plot.valToPos(i, "y", true);
    rows.forEach((row, i) => drawRow(plot, row, middle(i)));
    if (limit) levelLine(plot, limit.value, limit.name, true);
    rows.forEach(
      (row, i) => row.end && plate(plot, row.end, plot.valToPos(lengthOf(row), "x", true) + px(8), middle(i)),
    );
  };
  const labels = (width) => {
    const most = Math.floor((0.36 * width) / 7);
    const shown = rows.map(({ name }) => (name.length > most ? `${name.slice(0, most - 1)}…` : name));
    const size = 14 + 7 * Math.max(...shown.map((name) => name.length));
    return axis({
      size,
      splits: () => rows.map((_, i) => i),
      values: () => shown,
      grid: { show: false },
      ticks: { show: false },
    });
  };
  return {
    legend,
    plot: (width) => ({
      height: 62 + (above + rows.length) * ROW.pitch,
      data: [
        [0, longest],
        [0, rows.length],
      ],
      scales: {
        x: { time: false, range: () => [0, longest * (width < 480 ? 1.5 : 1.2)] },
        y: { range: () => [-0.5 - above, rows.length - 0.5], dir: -1 },
      },
      axes: [values(), labels(width)],
      series: [{ paths: () => null }],
      draw,
    }),
    items: {
      count: rows.length,
      at: (plot, i) => ({
        left: 0,
        top: plot.valToPos(i, "y") - ROW.pitch / 2 + 2,
        width: plot.over.clientWidth,
        height: ROW.pitch - 4,
      }),
      lines: (i) => rows[i].lines,
    },
  };
}

function drawRow(plot, { parts, thin, marks = [], spread }, middle) {
  const { ctx } = plot;
  const x = (value) => plot.valToPos(value, "x", true);
  const top = middle - px(ROW.bar / 2);
  const bar = (from, to, colour, y, height) => {
    ctx.fillStyle = theme[colour];
    ctx.fillRect(x(from), y, Math.max(0, x(to) - x(from)), height);
  };
  let before = 0;
  for (const { value, colour, text } of parts) {
    bar(before, before + value, colour, top, px(ROW.bar));
    ctx.fillStyle = inkOn(theme[colour]);
    if (text && x(before + value) - x(before) > px(40)) ctx.fillText(text, x(before) + px(6), middle);
    before += value;
  }
  if (thin) bar(0, thin.value, thin.colour, top + px(ROW.bar + 2), px(5));
  if (spread) {
    bar(spread.min, spread.max, "text", middle - px(1), px(2));
    bar(spread.q1, spread.q3, "text", middle - px(4), px(8));
  }
  for (const { value, colour } of marks) {
    ctx.fillStyle = theme[colour];
    ctx.fillRect(x(value) - px(1.5), top - px(3), px(3), px(ROW.bar + 6));
  }
}
