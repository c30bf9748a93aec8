// Planners beside one another: the time of a step, and its parts. For the results of a comparison, run or simulated.
function resultLines(row, bound) {
  if (row.infeasible) return [words(row.planner), `infeasible: ${row.infeasible}`];
  const { step_ms: spread, slowdown, predicted_slowdown: predicted } = row;
  return [
    words(row.planner),
    spread && `measured: median ${msText(spread.median)}`,
    spread && `middle half ${msText(spread.q1)} to ${msText(spread.q3)}`,
    spread && `all ${msText(spread.min)} to ${msText(spread.max)}`,
    row.predicted_ms && `predicted ${msText(row.predicted_ms)}`,
    (slowdown || predicted) && `${(slowdown || predicted).toFixed(3)} × the step with all in fast memory`,
    row.order_bound_ms > 0 && `bound of its own order ${msText(row.order_bound_ms)}`,
    bound && `certified bound ${msText(bound)}`,
  ].filter(Boolean);
}

function plannerRow(row, bound) {
  const shared = { name: words(row.planner), lines: resultLines(row, bound) };
  if (row.infeasible) return { ...shared, parts: [], end: `✕ infeasible: ${row.infeasible}` };
  const ms = row.step_ms ? row.step_ms.median : row.predicted_ms;
  const slower = row.slowdown || row.predicted_slowdown;
  return {
    ...shared,
    parts: [{ value: ms, colour: "series-0" }],
    spread: row.step_ms,
    marks: [
      row.order_bound_ms > 0 && { value: row.order_bound_ms, colour: "text" },
      row.step_ms && row.predicted_ms && { value: row.predicted_ms, colour: "series-1" },
    ].filter(Boolean),
    end: msText(ms) + (slower ? `, ${slower.toFixed(2)}×` : ""),
  };
}

// The fastest first, then what is infeasible. `shown`: the planner whose certified bound is drawn: others may choose
// other kernels, and so have others.
function plannersSpec(results, shown) {
  const ms = (row) => (row.infeasible ? Infinity : row.step_ms ? row.step_ms.median : row.predicted_ms);
  const ordered = [...results].sort((a, b) => (ms(a) === ms(b) ? 0 : ms(a) - ms(b)));
  const measured = results.some((row) => row.step_ms);
  const of = results.find((row) => row.planner === shown) || {};
  const bound = of[measured ? "scaled_bound_ms" : "lower_bound_ms"] || 0;
  return rowsSpec({
    rows: ordered.map((row) => plannerRow(row, bound)),
    axes: [timeAxis],
    limit: bound ? { value: bound, name: `certified bound ${msText(bound)}` } : null,
    legend: [
      { text: measured ? "measured step, median" : "simulated step", colour: "series-0" },
      measured && { text: "fastest to slowest step, box: middle half", colour: "text", glyph: "┣━┫" },
      measured && { text: "predicted", colour: "series-1", glyph: "┃" },
      { text: "bound of its own order", colour: "text", glyph: "┃" },
      bound && {
        text: measured
          ? "certified bound of the plan shown, scaled to this run"
          : "certified bound: with these kernels no plan in this memory is faster",
        colour: "text",
        line: "dashed",
      },
    ].filter(Boolean),
  });
}

const PARTS = ["computation", "recomputation", "exposed_transfer", "processor_wait", "other"];

function partsRow({ name, parts }) {
  const total = sum(PARTS.map((part) => Math.max(0, parts[part] || 0)));
  const percent = (part) => percentText((parts[part] || 0) / total);
  const hidden = parts.overlapped_transfer || 0;
  return {
    name,
    parts: PARTS.map((part) => ({ value: Math.max(0, parts[part] || 0), colour: colourOf(part), text: percent(part) })),
    thin: { value: hidden, colour: "series-0" },
    end: msText(total),
    lines: [
      `${name}: ${msText(total)}`,
      ...PARTS.map((part) => `${words(part)} ${msText(parts[part] || 0)}, ${percent(part)}`),
      ...(hidden ? [`overlapped transfer ${msText(hidden)}, not in the sum`] : []),
    ],
  };
}

// Parts that add up to the step, stacked; below them, thin, the transfers that took no time because ops ran meanwhile.
// rows: [{ name, parts }]
function breakdownSpec(rows) {
  return rowsSpec({
    rows: rows.map(partsRow),
    axes: [timeAxis],
    legend: [
      ...PARTS.map((part) => ({ text: words(part), colour: colourOf(part) })),
      { text: "overlapped transfer (not in the sum)", colour: "series-0" },
    ],
  });
}

// Measured where it was run, else predicted; both with `predicted`.
function partsOfResults(results, predicted = false) {
  const named = (row, how) => ({ name: `${words(row.planner)}, ${how}`, parts: row[`${how}_parts_ms`] });
  return results
    .flatMap((row) => [named(row, "measured"), (predicted || !row.measured_parts_ms) && named(row, "predicted")])
    .filter((row) => row && row.parts);
}
