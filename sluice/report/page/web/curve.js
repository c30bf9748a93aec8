// Step time over fast memory: a curve for each planner, with marks of its own; the bound dashed; knees ringed; what is
// infeasible as crosses along the top.
const MARKS = [
  (path, x, y, r) => path.arc(x, y, r, 0, 2 * Math.PI),
  (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  (path, x, y, r) => polygon(path, x, y, 1.3 * r, 3),
  (path, x, y, r) => polygon(path, x, y, 1.3 * r, 4),
  (path, x, y, r) => polygon(path, x, y, 1.2 * r, 5),
  (path, x, y, r) => polygon(path, x, y, 1.3 * r, 3, Math.PI),
];
const DASHES = [[], [8, 3], [3, 3], [10, 3, 3, 3], [1, 3]];

function polygon(path, x, y, radius, corners, turned = 0) {
  for (let i = 0; i < corners; ++i) {
    const angle = turned - Math.PI / 2 + (2 * Math.PI * i) / corners;
    path[i ? "lineTo" : "moveTo"](x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  path.closePath();
}

// The points of a model as aligned columns by budget, one for each planner, and the bound's. What keeps all in fast
// memory whatever the budget is a line of its own.
function curveOf(model) {
  const planners = [...new Set(model.points.map((point) => point.planner))].filter(
    (planner) => planner !== "fast-only",
  );
  const budgets = [...new Set(model.points.map((point) => point.budget_bytes))].sort((a, b) => a - b);
  const at = new Map(model.points.map((point) => [`${point.planner} ${point.budget_bytes}`, point]));
  const pointsOf = (planner) => budgets.map((budget) => at.get(`${planner} ${budget}`));
  const bound = budgets.map((budget) => {
    const bounds = model.points
      .filter((point) => point.budget_bytes === budget && point.bound_slowdown > 0)
      .map((point) => point.bound_slowdown);
    return bounds.length ? Math.min(...bounds) * model.fast_only_predicted_ms : null;
  });
  return { model, planners, budgets, columns: planners.map(pointsOf), bound };
}

function drawCurve() {
  const curve = curveOf(report.sweep.models[0]);
  const items = curve.columns.flatMap((column, planner) =>
    column.flatMap((point) => (point ? [{ point, planner }] : [])),
  );
  if (!items.length) return;
  const frame = openFrame("chart-curve", {
    make: (made, width) => {
      curveLegend(made, curve);
      made.items = curveItems(made, curve, items);
      return curvePlot(made, width, curve);
    },
  });
  if (frame) frame.figure.dataset.points = items.length;
}

function plannerColour(planner) {
  return theme.series[[0, 4, 2, 5, 1, 3, 6, 7][planner % 8]];
}

function curveAxes(width, whole) {
  const shares = width < 480 ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.2, 0.4, 0.6, 0.8, 1];
  return [
    axisOptions({
      label: "fast memory, share of what the step takes",
      size: 44 * theme.scale,
      splits: () => shares.map((share) => share * whole),
      values: (plot, splits) => splits.map((bytes) => `${Math.round((100 * bytes) / whole)} %\n${bytesText(bytes)}`),
    }),
    axisOptions({ label: "step, ms", size: 52 * theme.scale }),
  ];
}

function curveSeries(curve) {
  const line = (stroke, width, dash) => ({
    stroke,
    width: width * theme.scale,
    dash: dash.map((on) => on * theme.scale),
    spanGaps: true,
    points: { show: false },
  });
  const lines = curve.planners.map((_, i) => line(plannerColour(i), 2, DASHES[i % DASHES.length]));
  return [{}, ...lines, line(theme.text, 1.5, [6, 4])];
}

function curvePlot(frame, width, curve) {
  const ms = curve.columns.map((column) =>
    column.map((point) => (point && !point.infeasible ? point.predicted_ms : null)),
  );
  const top = 1.1 * Math.max(1e-6, curve.model.fast_only_predicted_ms, ...ms.flat().map((value) => value || 0));
  const whole = curve.model.fast_only_bytes;
  const end = Math.max(curve.budgets[curve.budgets.length - 1], whole) * 1.03;
  return makePlot(frame, {
    width,
    height: width < 480 ? 280 : 340,
    data: [curve.budgets, ...ms, curve.bound],
    padding: [8, 18, 0, 0],
    scales: { x: { time: false, range: () => [0, end] }, y: { range: () => [0, top] } },
    axes: curveAxes(width, whole),
    series: curveSeries(curve),
    hooks: { draw: [(plot) => drawCurveMarks(plot, curve)] },
  });
}

function drawCurveMarks(plot, curve) {
  const { ctx } = plot;
  ctx.save();
  ctx.setLineDash([]);
  namedLevel(plot, curve.model.fast_only_predicted_ms, "all in fast memory", {
    dash: [1, 3],
    colour: theme.muted,
    at: px(12),
  });
  curve.columns.forEach((column, planner) => {
    for (const point of column) {
      if (!point) continue;
      const x = plot.valToPos(point.budget_bytes, "x", true);
      if (point.infeasible) drawCross(ctx, x, plot.bbox.top + px(8 + 12 * planner), plannerColour(planner));
      else drawMark(ctx, planner, x, plot.valToPos(point.predicted_ms, "y", true), point.knee);
    }
  });
  drawKneeName(plot, curve);
  ctx.restore();
}

function drawMark(ctx, planner, x, y, knee) {
  ctx.beginPath();
  MARKS[planner % MARKS.length](ctx, x, y, px(4));
  ctx.fillStyle = plannerColour(planner);
  ctx.fill();
  if (!knee) return;
  ctx.beginPath();
  ctx.arc(x, y, px(9), 0, 2 * Math.PI);
  ctx.lineWidth = px(2);
  ctx.strokeStyle = theme.text;
  ctx.stroke();
}

function drawCross(ctx, x, y, colour) {
  const r = px(4);
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x - r, y + r);
  ctx.lineTo(x + r, y - r);
  ctx.lineWidth = px(2);
  ctx.strokeStyle = colour;
  ctx.stroke();
}

// The knee of the planner whose plan is shown, or the first, by name: others are ringed, and said by their tooltips.
function drawKneeName(plot, curve) {
  const knees = curve.model.points.filter((point) => point.knee);
  const knee = knees.find((point) => point.planner === report.plan.planner) || knees[0];
  if (!knee) return;
  plate(
    plot,
    `knee of ${words(knee.planner)}: ${bytesText(knee.budget_bytes)}`,
    plot.valToPos(knee.budget_bytes, "x", true) + px(14),
    plot.valToPos(knee.predicted_ms, "y", true) - px(16),
  );
}

function curveLegend(frame, curve) {
  const entries = curve.planners.map((planner, i) => ({
    sample: lineSample(plannerColour(i), DASHES[i % DASHES.length], (context, x, y) =>
      drawMark(context, i, x, y, false),
    ),
    text: words(planner),
  }));
  if (curve.bound.some((ms) => ms !== null))
    entries.push({ sample: lineSample(theme.text, [6, 4]), text: "bound: with these kernels no plan in this memory is faster" });
  if (curve.model.points.some((point) => point.knee))
    entries.push({
      sample: sampleOf((context, width, height) => {
        context.strokeStyle = theme.text;
        context.lineWidth = px(1.5);
        context.beginPath();
        context.arc(width / 2, height / 2, px(5), 0, 2 * Math.PI);
        context.stroke();
      }),
      text: "knee",
    });
  if (curve.model.points.some((point) => point.infeasible)) {
    entries.push({
      sample: sampleOf((context, width, height) => drawCross(context, width / 2, height / 2, theme.text)),
      text: "infeasible",
    });
  }
  fillLegend(frame.legend, entries);
}

function curveLines(curve, { point }) {
  const where = `${words(point.planner)} in ${bytesText(point.budget_bytes)} (${threeDigits(100 * point.share)} %)`;
  if (point.infeasible) {
    const least = point.smallest_feasible_bytes;
    return [where, `infeasible: ${point.infeasible}`, ...(least ? [`fits from ${bytesText(least)}`] : [])];
  }
  const lines = [
    where,
    `step ${msText(point.predicted_ms)}, ${point.predicted_slowdown.toFixed(3)} × all in fast memory`,
  ];
  if (point.bound_slowdown > 0)
    lines.push(`bound ${msText(point.bound_slowdown * curve.model.fast_only_predicted_ms)}`);
  if (point.knee) lines.push("the knee: more memory brings less from here");
  return lines;
}

// Left and right along a curve, up and down from curve to curve.
function curveItems(frame, curve, items) {
  const place = ({ point, planner }) => ({
    x: frame.plot.valToPos(point.budget_bytes, "x"),
    y: point.infeasible ? 8 + 12 * planner : frame.plot.valToPos(point.predicted_ms, "y"),
  });
  return {
    find(left, top) {
      const away = items.map((item) => Math.hypot(place(item).x - left, place(item).y - top));
      const nearest = away.indexOf(Math.min(...away));
      return away[nearest] < 30 ? nearest : -1;
    },
    at(item) {
      const { x, y } = place(items[item]);
      return { left: x - 7, top: y - 7, width: 14, height: 14, lines: curveLines(curve, items[item]) };
    },
    step(item, key) {
      if (item < 0 || (key !== "ArrowUp" && key !== "ArrowDown")) return stepThrough(item, key, items.length);
      const wanted = items[item].planner + (key === "ArrowUp" ? -1 : 1);
      const next = items.findIndex(
        (other) => other.planner === wanted && other.point.budget_bytes >= items[item].point.budget_bytes,
      );
      return next < 0 ? item : next;
    },
  };
}
