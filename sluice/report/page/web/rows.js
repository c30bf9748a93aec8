// Horizontal bars, one row each, with names at the left: planners, and parts of the time.
const ROW = { pitch: 34, bar: 16 }; // CSS pixels

// Names, cut where they are too wide, and the CSS pixels that they take.
function fittedNames(names, most) {
  const measure = element("canvas").getContext("2d");
  measure.font = plotFont();
  const longest = Math.max(...names.map((name) => measure.measureText(name).width)) / theme.scale;
  const room = Math.min(longest + 4, most);
  return { room, shown: names.map((name) => fitted(measure, name, room * theme.scale)) };
}

// x is in ms from 0 to `top`. draw(plot, middleOf): middleOf(row) is the row's canvas y.
function rowPlot(frame, width, { names, top, draw, above = 0 }) {
  const { room, shown } = fittedNames(names, 0.36 * width);
  const space = above / ROW.pitch;
  return makePlot(frame, {
    width,
    height: 20 + 46 + above + names.length * ROW.pitch,
    data: [
      [0, top],
      [0, names.length],
    ],
    scales: {
      x: { time: false, range: () => [0, top] },
      y: { range: () => [-0.5 - space, names.length - 0.5], dir: -1 },
    },
    axes: [
      timeAxis(),
      axisOptions({
        size: (room + 12) * theme.scale,
        splits: () => names.map((_, i) => i),
        values: () => shown,
        grid: { show: false },
        ticks: { show: false },
      }),
    ],
    series: [{}, { show: true, paths: () => null, points: { show: false } }],
    hooks: {
      draw: [
        (plot) => {
          plot.ctx.save();
          plot.ctx.font = canvasFont(12);
          plot.ctx.textBaseline = "middle";
          plot.ctx.textAlign = "left";
          plot.ctx.setLineDash([]);
          draw(plot, (row) => plot.valToPos(row, "y", true));
          plot.ctx.restore();
        },
      ],
    },
  });
}

// Items that are a row each, found and stepped through in their order.
function rowItems(frame, count, lines, end) {
  const middle = (row) => frame.plot.valToPos(row, "y");
  return {
    find(left, top) {
      const row = Math.round(frame.plot.posToVal(top, "y"));
      return row >= 0 && row < count ? row : -1;
    },
    at: (row) => ({
      left: 0,
      top: middle(row) - ROW.bar / 2,
      width: Math.max(20, frame.plot.valToPos(end(row), "x")),
      height: ROW.bar,
      lines: lines(row),
    }),
    step: (row, key) => stepThrough(row, key, count),
  };
}

function stepThrough(item, key, count) {
  if (key === "Home" || item < 0) return 0;
  if (key === "End") return count - 1;
  return Math.max(0, Math.min(count - 1, item + (key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1)));
}
