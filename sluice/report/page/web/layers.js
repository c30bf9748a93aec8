// Layers stacked on one another: bytes of several kinds over time or over ops, a level, the peak.
//
// xs: where anything changes, ascending; each value holds until the next, the last until `end`. layers: [{ name, colour,
// values }]. peak: { x, y, name }. over(plot, stacked): draws more; stacked[layer][i] is its upper edge.
function layersSpec({ xs, end, layers, level, peak, axes, lines, over = () => {}, legend = [], time = false }) {
  const ms = [...xs, end];
  let below = xs.map(() => 0);
  const stacked = layers.map(({ values }) => (below = below.map((sum, i) => sum + values[i])));
  const topOf = Math.max(1, peak.y);
  const levelSeen = level && level.value > 0 && level.value < 2 * topOf;
  const top = levelSeen ? 1.12 * Math.max(topOf, level.value) : 1.2 * topOf;
  const upperFirst = layers.map((_, i) => layers.length - 1 - i);
  const draw = (plot) => {
    over(plot, stacked);
    if (levelSeen) levelLine(plot, level.value, level.name);
    else if (level) plate(plot, `${level.name}, above the chart ↑`, plot.bbox.left + px(8), plot.bbox.top + px(16));
    drawPeak(plot, peak, levelSeen && level.value);
  };
  return {
    time,
    legend: [...upperFirst.map((i) => ({ text: layers[i].name, colour: layers[i].colour })), ...legend],
    plot: (width) => ({
      height: width < 480 ? 220 : 260,
      data: [ms, ...upperFirst.map((i) => [...stacked[i], stacked[i][xs.length - 1]])],
      scales: {
        x: { time: false, range: () => (time ? [range.from, range.to] : [0, end]) },
        y: { range: () => [0, top] },
      },
      axes,
      series: upperFirst.map((i) => ({
        paths: uPlot.paths.stepped({ align: 1 }),
        fill: theme[layers[i].colour],
        width: 0,
      })),
      draw,
    }),
    items: {
      count: xs.length,
      at(plot, i) {
        const left = plot.valToPos(ms[i], "x");
        return { left, top: 0, width: plot.valToPos(ms[i + 1], "x") - left, height: plot.over.clientHeight };
      },
      lines: (i) => lines(i, stacked[layers.length - 1][i]),
    },
  };
}

// Named beside it, or below the level's line where it would cover that one's name.
function drawPeak(plot, { x: at, y: value, name }, level) {
  const x = plot.valToPos(at, "x", true);
  const y = plot.valToPos(value, "y", true);
  const { left, width } = plot.bbox;
  if (x < left || x > left + width) return;
  circle(plot, x, y, 5, theme.page, theme.text);
  const line = level ? plot.valToPos(level, "y", true) : -Infinity;
  const leftHalf = x < left + width / 2;
  plate(
    plot,
    name,
    x + px(leftHalf ? 14 : -14),
    Math.abs(y - line) < px(17) ? line + px(18) : y,
    leftHalf ? "left" : "right",
  );
}
