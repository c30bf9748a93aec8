// Step time of each planner, the fastest first: the median as a bar, the spread as whiskers, what was predicted, the
// bound of its own order, and the certified bound, below which no plan can be. What is infeasible is named.
function plannerRows() {
  const { executed, results } = report.comparison;
  const rows = results
    .filter((row) => !row.infeasible)
    .map((row) => {
      const measured = row.step_ms;
      return {
        ...row,
        measured,
        ms: measured ? measured.median : row.predicted_ms,
        end: measured ? measured.max : row.predicted_ms,
      };
    });
  rows.sort((a, b) => a.ms - b.ms);
  // Of the plan that is shown, with its kernels; other planners may choose others.
  const shown = results.find((row) => row.planner === report.plan.planner);
  const bound = (shown && (executed ? shown.scaled_bound_ms : shown.lower_bound_ms)) || 0;
  return { rows: [...rows, ...results.filter((row) => row.infeasible)], feasible: rows.length, bound };
}

function drawPlanners() {
  const { rows, feasible, bound } = plannerRows();
  if (!rows.length) return;
  const frame = openFrame("chart-planners", {
    make: (made, width) => {
      plannerLegend(made, rows, bound);
      made.items = rowItems(
        made,
        rows.length,
        (row) => plannerLines(rows[row], bound),
        (row) => rows[row].end || 0,
      );
      return plannerPlot(made, width, rows, feasible, bound);
    },
  });
  if (frame) frame.figure.dataset.points = rows.length;
}

function plannerPlot(frame, width, rows, feasible, bound) {
  const longest = Math.max(
    1e-6,
    bound,
    ...rows.slice(0, feasible).map((row) => Math.max(row.end, row.predicted_ms || 0)),
  );
  return rowPlot(frame, width, {
    names: rows.map((row) => words(row.planner)),
    top: longest * (width < 480 ? 1.5 : 1.2),
    above: bound ? 20 : 0,
    draw: (plot, middleOf) => {
      rows.forEach((row, i) =>
        row.infeasible ? drawInfeasible(plot, row, middleOf(i)) : drawPlanner(plot, row, middleOf(i)),
      );
      if (bound) namedLevel(plot, bound, `certified bound ${msText(bound)}`, { upright: true });
      rows.slice(0, feasible).forEach((row, i) => drawPlannerValue(plot, row, middleOf(i)));
    },
  });
}

function drawPlanner(plot, row, middle) {
  const { ctx } = plot;
  const x = (ms) => plot.valToPos(ms, "x", true);
  const tall = px(ROW.bar);
  ctx.fillStyle = fillOf(ctx, lookOf(row.measured ? "parameter" : "overlapped_transfer", 0));
  ctx.fillRect(x(0), middle - tall / 2, x(row.ms) - x(0), tall);
  ctx.fillStyle = ctx.strokeStyle = theme.text;
  if (row.measured) drawWhisker(ctx, x, row.measured, middle);
  if (row.order_bound_ms > 0) {
    ctx.fillStyle = theme.page;
    ctx.fillRect(x(row.order_bound_ms) - px(2.5), middle - tall / 2, px(5), tall);
    ctx.fillStyle = theme.text;
    ctx.fillRect(x(row.order_bound_ms) - px(1), middle - tall / 2 - px(4), px(2), tall + px(8));
  }
  if (row.measured && row.predicted_ms) drawDiamond(ctx, x(row.predicted_ms), middle);
}

function drawPlannerValue(plot, row, middle) {
  const slower = row.slowdown || row.predicted_slowdown;
  const end = Math.max(row.end, row.predicted_ms || 0, row.order_bound_ms || 0);
  plate(
    plot,
    msText(row.ms) + (slower ? `, ${slower.toFixed(2)}×` : ""),
    plot.valToPos(end, "x", true) + px(8),
    middle,
  );
}

function drawWhisker(ctx, x, spread, middle) {
  ctx.lineWidth = px(1.5);
  ctx.beginPath();
  ctx.moveTo(x(spread.min), middle);
  ctx.lineTo(x(spread.max), middle);
  for (const end of [spread.min, spread.max]) {
    ctx.moveTo(x(end), middle - px(5));
    ctx.lineTo(x(end), middle + px(5));
  }
  ctx.stroke();
  ctx.save();
  ctx.fillStyle = theme.page;
  ctx.fillRect(x(spread.q1), middle - px(3.5), Math.max(px(2), x(spread.q3) - x(spread.q1)), px(7));
  ctx.restore();
  ctx.strokeRect(x(spread.q1), middle - px(3.5), Math.max(px(2), x(spread.q3) - x(spread.q1)), px(7));
}

function drawDiamond(ctx, x, y) {
  const size = px(5);
  ctx.save();
  ctx.beginPath();
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.lineTo(x - size, y);
  ctx.closePath();
  ctx.fillStyle = theme.series[1];
  ctx.fill();
  ctx.lineWidth = px(1.25);
  ctx.stroke();
  ctx.restore();
}

function drawInfeasible(plot, row, middle) {
  const { ctx, bbox } = plot;
  ctx.fillStyle = theme.text;
  ctx.fillText(fitted(ctx, `✕ infeasible: ${row.infeasible}`, bbox.width - px(12)), bbox.left + px(6), middle);
}

function plannerLegend(frame, rows, bound) {
  const measured = rows.some((row) => row.measured);
  const tick = (context, x, y) => context.fillRect(x - px(1), y - px(6), px(2), px(12));
  const entries = [
    {
      sample: fillSample(lookOf(measured ? "parameter" : "overlapped_transfer", 0)),
      text: measured ? "measured step, median" : "simulated step",
    },
  ];
  if (measured) entries.push({ sample: lineSample(theme.text, []), text: "fastest to slowest step, box: middle half" });
  if (measured)
    entries.push({
      sample: sampleOf((context, width, height) => {
        context.strokeStyle = theme.text;
        drawDiamond(context, width / 2, height / 2);
      }),
      text: "predicted",
    });
  if (rows.some((row) => row.order_bound_ms > 0)) {
    entries.push({
      sample: sampleOf((context, width, height) => {
        context.fillStyle = theme.text;
        tick(context, width / 2, height / 2);
      }),
      text: "bound of its own order",
    });
  }
  if (bound)
    entries.push({
      sample: lineSample(theme.text, [6, 4]),
      text: measured
        ? "certified bound of the plan shown, scaled to this run"
        : "certified bound: with these kernels no plan in this memory is faster",
    });
  fillLegend(frame.legend, entries);
}

function plannerLines(row, bound) {
  if (row.infeasible) return [words(row.planner), `infeasible: ${row.infeasible}`];
  const lines = [words(row.planner)];
  const spread = row.measured;
  if (spread) {
    lines.push(
      `measured: median ${msText(spread.median)}`,
      `middle half ${msText(spread.q1)} to ${msText(spread.q3)}`,
      `all ${msText(spread.min)} to ${msText(spread.max)}`,
    );
  }
  if (row.predicted_ms) lines.push(`predicted ${msText(row.predicted_ms)}`);
  const slower = row.slowdown || row.predicted_slowdown;
  if (slower) lines.push(`${slower.toFixed(3)} × the step with all in fast memory`);
  if (row.order_bound_ms > 0) lines.push(`bound of its own order ${msText(row.order_bound_ms)}`);
  if (bound) lines.push(`certified bound ${msText(bound)}`);
  return lines;
}
