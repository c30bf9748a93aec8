// Where the time of a step goes: parts that add up to it, stacked; below them, thin, the transfers that took no time
// because ops ran meanwhile. This step first, then each planner's whose parts are known.
function breakdownRows() {
  const rows = report.step.parts_ms ? [{ name: "this step", parts: report.step.parts_ms, measured: false }] : [];
  for (const row of report.comparison ? report.comparison.results : []) {
    const parts = row.measured_parts_ms || row.predicted_parts_ms;
    if (parts) rows.push({ name: words(row.planner), parts, measured: Boolean(row.measured_parts_ms) });
  }
  return rows;
}

const OVERLAPPED = "overlapped_transfer";

function stackedParts(rows) {
  return [...new Set(rows.flatMap((row) => Object.keys(row.parts)))].filter((part) => part !== OVERLAPPED);
}

function sumOf(row) {
  return Object.entries(row.parts).reduce((sum, [part, ms]) => sum + (part === OVERLAPPED ? 0 : Math.max(0, ms)), 0);
}

function drawBreakdown() {
  const rows = breakdownRows();
  if (!rows.length) return;
  const parts = stackedParts(rows).sort((a, b) => PART_ORDER.indexOf(a) - PART_ORDER.indexOf(b));
  const frame = openFrame("chart-breakdown", {
    make: (made, width) => {
      fillLegend(
        made.legend,
        [...parts, OVERLAPPED].map((part, i) => ({ sample: fillSample(lookOf(part, i)), text: partText(part) })),
      );
      made.items = rowItems(
        made,
        rows.length,
        (row) => breakdownLines(rows[row], parts),
        (row) => sumOf(rows[row]),
      );
      return rowPlot(made, width, {
        names: rows.map((row) => row.name),
        top: 1.04 * Math.max(1e-6, ...rows.map(sumOf)),
        draw: (plot, middleOf) => rows.forEach((row, i) => drawParts(plot, row, parts, middleOf(i))),
      });
    },
  });
  if (frame) frame.figure.dataset.points = rows.length;
}

const PART_ORDER = ["computation", "recomputation", "exposed_transfer", "processor_wait", "other"];

function partText(part) {
  return part === OVERLAPPED ? "overlapped transfer (not in the sum)" : words(part);
}

function drawParts(plot, row, parts, middle) {
  const { ctx } = plot;
  const x = (ms) => plot.valToPos(ms, "x", true);
  const top = middle - px(ROW.bar / 2 + 2);
  let before = 0;
  parts.forEach((part, i) => {
    const ms = Math.max(0, row.parts[part] || 0);
    const look = lookOf(part, i);
    const width = x(before + ms) - x(before);
    ctx.fillStyle = fillOf(ctx, look);
    ctx.fillRect(x(before), top, Math.max(0, width - px(1)), px(ROW.bar));
    drawShare(ctx, look, `${((100 * ms) / sumOf(row)).toFixed(0)} %`, x(before), top, width);
    before += ms;
  });
  if (row.parts[OVERLAPPED] > 0) {
    ctx.fillStyle = fillOf(ctx, lookOf(OVERLAPPED, 0));
    ctx.fillRect(x(0), top + px(ROW.bar + 2), x(row.parts[OVERLAPPED]) - x(0), px(5));
  }
}

function drawShare(ctx, look, text, left, top, width) {
  const wide = ctx.measureText(text).width + px(6);
  if (width < wide + px(6)) return;
  ctx.fillStyle = look.colour;
  ctx.fillRect(left + (width - wide) / 2, top + px(1), wide, px(ROW.bar - 2));
  ctx.fillStyle = inkOn(look.colour);
  ctx.fillText(text, left + (width - wide) / 2 + px(3), top + px(ROW.bar / 2));
}

function breakdownLines(row, parts) {
  const total = sumOf(row);
  const how = row.measured === undefined ? "" : row.measured ? ", measured" : ", predicted";
  const lines = [`${row.name}: ${msText(total)}${how}`];
  for (const part of parts) {
    const ms = row.parts[part] || 0;
    lines.push(`${words(part)} ${msText(ms)}, ${threeDigits((100 * ms) / total)} %`);
  }
  if (row.parts[OVERLAPPED] > 0) lines.push(`overlapped transfer ${msText(row.parts[OVERLAPPED])}, not in the sum`);
  return lines;
}
