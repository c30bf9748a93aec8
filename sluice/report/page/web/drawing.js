// What charts draw with: axes for uPlot, and shapes and labels in the pixels of a plot's canvas.
function px(css) {
  return css * uPlot.pxRatio;
}

const FONT = "12px system-ui, sans-serif";

function axis(more = {}) {
  const lines = { stroke: () => theme.line, width: 1 };
  return { stroke: () => theme.text, font: FONT, labelFont: FONT, labelSize: 18, grid: lines, ticks: lines, ...more };
}

function timeAxis() {
  return axis({
    label: "ms",
    size: 28,
    values: (plot, splits) => splits.map((at) => String(Number(at.toPrecision(10)))),
  });
}

// Ticks at powers of two.
function bytesAxis(more) {
  const incrs = Array.from({ length: 50 }, (_, power) => 2 ** power);
  return axis({ size: 66, incrs, values: (plot, splits) => splits.map(bytesText), ...more });
}

function drawClipped(plot, draw) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.setLineDash([]);
  ctx.font = `${px(12)}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  draw(plot);
  ctx.restore();
}

function circle(plot, x, y, radius, fill, stroke) {
  const { ctx } = plot;
  ctx.beginPath();
  ctx.arc(x, y, px(radius), 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.strokeStyle = stroke;
  ctx.lineWidth = px(2);
  if (fill) ctx.fill();
  if (stroke) ctx.stroke();
}

// Text on a plate of the page's colour, kept within the plot: legible over anything. `align`: where (x, y) is in it.
function plate(plot, text, x, y, align = "left") {
  const { ctx, bbox } = plot;
  const width = ctx.measureText(text).width;
  const wanted = x - { left: 0, center: width / 2, right: width }[align];
  const left = Math.max(bbox.left + px(3), Math.min(wanted, bbox.left + bbox.width - width - px(3)));
  const top = Math.max(bbox.top + px(8), Math.min(y, bbox.top + bbox.height - px(8)));
  ctx.fillStyle = theme.page;
  ctx.fillRect(left - px(3), top - px(8), width + px(6), px(16));
  ctx.fillStyle = theme.text;
  ctx.fillText(text, left, top);
}

// A dashed line across the plot with its name: level, at the left, or upright, at the top.
function levelLine(plot, value, name, upright = false) {
  const { ctx, bbox } = plot;
  const at = Math.round(plot.valToPos(value, upright ? "x" : "y", true)) + 0.5;
  ctx.save();
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = px(1.5);
  ctx.setLineDash([px(6), px(4)]);
  ctx.beginPath();
  ctx.moveTo(upright ? at : bbox.left, upright ? bbox.top : at);
  ctx.lineTo(upright ? at : bbox.left + bbox.width, upright ? bbox.top + bbox.height : at);
  ctx.stroke();
  ctx.restore();
  if (upright) plate(plot, name, at, bbox.top + px(9), "center");
  else plate(plot, name, bbox.left + px(8), at);
}

// Text cut to a width in canvas pixels; empty where nothing of it would be legible.
function cut(ctx, text, width) {
  const kept = Math.floor((text.length * width) / Math.max(1, ctx.measureText(text).width));
  if (kept >= text.length) return text;
  return kept > 3 ? `${text.slice(0, kept - 1)}…` : "";
}
