// Curves with their points marked: over fast memory, over rounds of a search.
//
// series: [{ colour, style, points: [{ x, y, lines, ring }] }]; style: "solid", "dashed" or "dotted"; a point without y
// is infeasible, a cross at the top. level: { value, name }, a dashed line; note: { x, y, name }.
const DASH = { solid: [], dashed: [8, 4], dotted: [2, 4] };

function linesSpec({ series, end, top, axes, legend, level, note }) {
  const xs = [...new Set(series.flatMap(({ points }) => points.map((point) => point.x)))].sort((a, b) => a - b);
  const column = ({ points }) => {
    const at = new Map(points.map((point) => [point.x, point.y]));
    return xs.map((x) => at.get(x) ?? null);
  };
  const all = series.flatMap(({ points, colour }, row) => points.map((point) => ({ ...point, colour, row })));
  const highest = top ?? 1.1 * Math.max(1e-9, level ? level.value : 0, ...all.map((point) => point.y || 0));
  const place = (plot, { x, y, row }) => [
    plot.valToPos(x, "x"),
    y === undefined ? 8 + 12 * row : plot.valToPos(y, "y"),
  ];
  const draw = (plot) => {
    if (level) levelLine(plot, level.value, level.name);
    for (const point of all) drawPoint(plot, point, ...place(plot, point));
    if (note)
      plate(plot, note.name, plot.valToPos(note.x, "x", true) + px(14), plot.valToPos(note.y, "y", true) - px(16));
  };
  return {
    legend,
    plot: (width) => ({
      height: width < 480 ? 280 : 340,
      padding: [8, 18, 0, 0],
      data: [xs, ...series.map(column)],
      scales: { x: { time: false, range: () => [0, 1.03 * end] }, y: { range: () => [0, highest] } },
      axes: axes(width),
      series: series.map(({ colour, style = "solid" }) => ({
        stroke: theme[colour],
        width: 2,
        dash: DASH[style],
        spanGaps: true,
      })),
      draw,
    }),
    items: {
      count: all.length,
      at(plot, i) {
        const [x, y] = place(plot, all[i]);
        return { left: x - 8, top: y - 8, width: 16, height: 16 };
      },
      lines: (i) => all[i].lines,
    },
  };
}

function drawPoint(plot, { y: value, ring, colour }, left, top) {
  const { ctx, bbox } = plot;
  const [x, y] = [bbox.left + px(left), bbox.top + px(top)];
  if (value === undefined) {
    ctx.fillStyle = theme[colour];
    ctx.fillText("✕", x - px(5), y);
    return;
  }
  circle(plot, x, y, 4, theme[colour]);
  if (ring) circle(plot, x, y, 9, null, theme.text);
}
