// What all plots share: uPlot's options in the page's colours and sizes. The page has its own legend, tooltip and keys.
function plotFont(size = 12) {
  return `${size * theme.scale}px system-ui, sans-serif`;
}

function axisOptions(more) {
  const k = theme.scale;
  return {
    stroke: theme.text,
    font: plotFont(),
    labelFont: plotFont(),
    gap: 5 * k,
    space: 44 * k,
    labelGap: 2 * k,
    labelSize: 18 * k,
    grid: { stroke: theme.line, width: k },
    ticks: { stroke: theme.line, width: k, size: 5 * k },
    ...more,
  };
}

function timeAxis() {
  return axisOptions({
    side: 2,
    label: "ms",
    size: 28 * theme.scale,
    space: 70 * theme.scale,
    values: (plot, splits) => splits.map((at) => Number(at.toPrecision(10)).toString()),
  });
}

function timeScale() {
  return { time: false, range: () => [range.from, range.to] };
}

// Axes of bytes: ticks at powers of two.
const BYTES_AXIS = 66; // CSS pixels of its width
const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

function bytesAxis(more) {
  return axisOptions({
    size: BYTES_AXIS * theme.scale,
    incrs: BYTE_STEPS,
    space: 34 * theme.scale,
    values: (plot, splits) => splits.map(bytesText),
    ...more,
  });
}

function makePlot(frame, { width, height, data, synced = false, padding = [8, 10, 0, 0], ...options }) {
  const k = theme.scale;
  const still = () => null; // the library's own gestures are replaced by the page's
  frame.figure.dataset.height = height;
  return new uPlot(
    {
      width: width * k,
      height: height * k,
      legend: { show: false },
      padding: padding.map((side) => side * k),
      cursor: {
        x: synced,
        y: false,
        points: { show: false },
        drag: { x: false, y: false, setScale: false, click: still },
        bind: { dblclick: still, mousedown: still, mouseup: still },
        ...(synced ? { sync: { key: "step", scales: ["x", null], setSeries: false } } : {}),
      },
      ...options,
    },
    data,
    frame.host,
  );
}

// A dashed line across the plot, upright or level, with a seam of the page's colour, so that it is seen over bars, and
// its name on a plate.
function namedLevel(
  plot,
  value,
  name,
  { dash = [6, 4], colour = theme.text, upright = false, right = false, at = 0 } = {},
) {
  const { ctx, bbox } = plot;
  const where = Math.round(plot.valToPos(value, upright ? "x" : "y", true)) + 0.5;
  const stroke = (style, width, pattern) => {
    ctx.strokeStyle = style;
    ctx.lineWidth = px(width);
    ctx.setLineDash(pattern.map(px));
    ctx.beginPath();
    ctx.moveTo(upright ? where : bbox.left, upright ? bbox.top : where);
    ctx.lineTo(upright ? where : bbox.left + bbox.width, upright ? bbox.top + bbox.height : where);
    ctx.stroke();
  };
  ctx.save();
  stroke(theme.page, 4, []);
  stroke(colour, 1.5, dash);
  ctx.restore();
  if (!name) return;
  if (upright) plate(plot, name, where, bbox.top + px(8) + at, "center");
  else
    plate(plot, name, right ? bbox.left + bbox.width - px(8) : bbox.left + px(8), where + at, right ? "right" : "left");
}

// Text on a plate of the page's colour, kept within the plot: legible over anything.
function plate(plot, text, x, y, align = "left", colour = theme.text) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = canvasFont(12);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const width = ctx.measureText(text).width;
  const wanted = align === "center" ? x - width / 2 : align === "right" ? x - width : x;
  const left = Math.max(bbox.left + px(3), Math.min(wanted, bbox.left + bbox.width - width - px(3)));
  const top = Math.max(bbox.top + px(8), Math.min(y, bbox.top + bbox.height - px(8)));
  ctx.globalAlpha = 0.9;
  ctx.fillStyle = theme.page;
  ctx.fillRect(left - px(3), top - px(8), width + px(6), px(16));
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour;
  ctx.fillText(text, left, top + px(0.5));
  ctx.restore();
}

// Text cut to a width, with an ellipsis in the middle: names begin with a layer and end with what is done.
function fitted(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  const cut = (kept) => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
  let low = 0;
  let high = text.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(cut(middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? cut(low) : "";
}
