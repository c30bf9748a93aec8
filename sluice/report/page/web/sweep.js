// Curves over the share of fast memory, for the models and planners of a sweep.
function curveName(models, model, planner) {
  return `${models.length > 1 ? `${model.model} b${model.batch}, ` : ""}${words(planner)}`;
}

function pointLines(models, model, point) {
  const { measured, smallest_feasible_bytes: least, price } = point;
  const one = model.fast_only_predicted_ms;
  const what = point.infeasible
    ? [`infeasible: ${point.infeasible}`, least && `fits from ${bytesText(least)}`]
    : [
        `step ${msText(point.predicted_ms)}, ${point.predicted_slowdown.toFixed(3)} × all in fast memory`,
        measured && `measured ${msText(measured.step_ms)}, ${measured.slowdown.toFixed(3)} ×`,
        point.bound_slowdown > 0 && `bound ${msText(point.bound_slowdown * one)}, ${point.bound_slowdown.toFixed(3)} ×`,
        `${bytesText(point.bytes_in)} moved in, ${bytesText(point.bytes_out)} out`,
        price && `${percentText(price.performance)} of the performance for ${percentText(price.cost)} of the price`,
        price && price.cheapest && "the cheapest that is fast enough",
        point.knee && "the knee: less memory costs more from here",
      ];
  const name = curveName(models, model, point.planner);
  return [`${name} in ${bytesText(point.budget_bytes)} (${percentText(point.share)})`, ...what].filter(Boolean);
}

// A curve for each model and planner, in the colour that is theirs in every chart: of value(point, model), where there
// is one. `ring`: which points are ringed.
function sweptSeries(models, value, { style = "solid", ring = () => false, crosses = false } = {}) {
  const curves = models.flatMap((model) =>
    [...new Set(model.points.map((point) => point.planner))].map((planner) => ({ model, planner })),
  );
  return curves.map(({ model, planner }, i) => ({
    name: curveName(models, model, planner),
    colour: `series-${[0, 4, 2, 5, 1, 3, 6, 7][i % 8]}`,
    style,
    points: model.points
      .filter((point) => point.planner === planner)
      .map((point) => ({
        x: point.share,
        y: point.infeasible ? undefined : (value(point, model) ?? null),
        ring: ring(point),
        lines: pointLines(models, model, point),
      }))
      .filter(({ y }) => (y === undefined ? crosses : y !== null)),
  }));
}

// Shares of everything; of one model bytes, too.
function sharesAxis(models, width) {
  const [whole, few] = [models[0].fast_only_bytes, width < 480];
  return axis({
    label: "fast memory, share of what the step takes",
    size: models.length > 1 ? 30 : 50,
    splits: () => (few ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.2, 0.4, 0.6, 0.8, 1]),
    values: (plot, shares) =>
      shares.map((at) => percentText(at) + (models.length > 1 ? "" : `\n${bytesText(at * whole)}`)),
  });
}

function sweptSpec(models, series, { axis: values, legend = [], ...more }) {
  const drawn = series.filter(({ points }) => points.length);
  const names = new Map(drawn.map(({ name, colour }) => [name, { text: name, colour, line: "solid" }]));
  return linesSpec({
    series: drawn,
    end: 1,
    axes: (width) => [sharesAxis(models, width), values],
    legend: [...names.values(), ...legend],
    ...more,
  });
}

// Step time: predicted, measured and the bound. In ms where one model is shown, else over fast-only's step.
function slowdownSpec(models) {
  const inMs = models.length === 1;
  const unit = (model) => (inMs ? model.fast_only_predicted_ms : 1);
  const measured = sweptSeries(models, (point, model) => point.measured && point.measured.slowdown * unit(model), {
    style: "dashed",
  });
  const bounds = sweptSeries(models, (point, model) => point.bound_slowdown && point.bound_slowdown * unit(model), {
    style: "dotted",
  });
  const predicted = sweptSeries(models, (point, model) => point.predicted_slowdown * unit(model), {
    ring: (point) => point.knee,
    crosses: true,
  });
  const points = models.flatMap((model) => model.points);
  const knee =
    inMs &&
    (points.find((point) => point.knee && point.planner === (report.plan || {}).planner) ||
      points.find((point) => point.knee));
  return sweptSpec(models, [...predicted, ...measured, ...bounds], {
    axis: axis({ label: inMs ? "step, ms" : "step, × all in fast memory", size: 52 }),
    level: { value: unit(models[0]), name: "all in fast memory" },
    note: knee && {
      x: knee.share,
      y: knee.predicted_ms,
      name: `knee of ${words(knee.planner)}: ${bytesText(knee.budget_bytes)}`,
    },
    legend: [
      measured.some((one) => one.points.length) && { text: "measured", line: "dashed" },
      bounds.some((one) => one.points.length) && {
        text: "bound: with these kernels no plan in this memory is faster",
        line: "dotted",
      },
      points.some((point) => point.knee) && { text: "knee", glyph: "◯" },
      points.some((point) => point.infeasible) && { text: "infeasible", glyph: "✕" },
    ].filter(Boolean),
  });
}
