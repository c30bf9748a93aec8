// The pages of commands other than `report`: each draws what its own document (`--json`) has, in charts of its own.
const bytesValues = () => bytesAxis({ size: 28, space: 70 });
const countValues = () => axis({ size: 28, space: 70 });

function addChart(title, spec) {
  if (!spec.items.count) return;
  const id = `chart-${charts.length}`;
  const figure = element("figure", { class: "chart", tabindex: "0", "aria-label": title, id });
  document.getElementById("numbers").before(element("section", {}, [element("h2", { text: title }), figure]));
  openChart(figure, spec);
}

function drawSweepPage({ models }) {
  const swept = models.filter((model) => model.points.length);
  const found = models.filter((model) => model.no_loss.length);
  if (found.length) addChart("Fast memory without loss", noLossSpec(found));
  if (!swept.length) return;
  addChart("Step time over fast memory", slowdownSpec(swept));
  const curves = (title, value, more, options) =>
    addChart(title, sweptSpec(swept, sweptSeries(swept, value, options), more));
  const byPrice = ({ price }) => price && price.performance / price.cost;
  curves(
    "Performance per price",
    (point) => (Number.isFinite(byPrice(point)) ? byPrice(point) : null),
    {
      axis: axis({ label: "over fast memory for everything", size: 52 }),
      level: { value: 1, name: "above: slow memory is worth its price" },
      legend: [{ text: "the cheapest that is fast enough", glyph: "◯" }],
    },
    { ring: ({ price }) => price && price.cheapest },
  );
  const share = (part) => (point) => point.fast_operands && 100 * point.fast_operands[part];
  const percent = { axis: axis({ label: "% of their bytes", size: 52 }), top: 105 };
  curves("Inputs of ops in fast memory", share("inputs"), percent);
  curves("Outputs of ops in fast memory", share("outputs"), percent);
  const moved = swept.flatMap(({ points }) => points.flatMap((point) => [point.bytes_in || 0, point.bytes_out || 0]));
  const bytes = { axis: bytesAxis(), top: 1.1 * Math.max(1, ...moved) }; // both directions have one scale
  curves("Moved into fast memory a step", (point) => point.bytes_in, bytes);
  curves("Moved out of fast memory a step", (point) => point.bytes_out, bytes);
}

// The smallest budget of each planner beside everything.
function noLossSpec(models) {
  const bar = (name, bytes, colour, end) => ({
    name,
    parts: [{ value: bytes, colour }],
    end: end || bytesText(bytes),
    lines: [name, end || bytesText(bytes)],
  });
  return rowsSpec({
    rows: models.flatMap(({ model, batch, fast_only_bytes: whole, no_loss: found }) => [
      bar(`${model} b${batch}, everything`, whole, "series-7"),
      ...found.map((point) =>
        bar(words(point.planner), point.infeasible ? 0 : point.budget_bytes, "series-0", point.infeasible),
      ),
    ]),
    axes: [bytesValues],
    legend: [
      { text: "everything", colour: "series-7" },
      { text: `at most ${percentText(models[0].no_loss[0].allowed_loss)} slower`, colour: "series-0" },
    ],
  });
}

// Stacked bars: kinds are [{ name, colour, of(row) }]; `thin` is one that stands below them.
function stackedSpec(rows, nameOf, kinds, text, values, thin) {
  const all = [...kinds, ...(thin ? [thin] : [])];
  return rowsSpec({
    rows: rows.map((row) => ({
      name: nameOf(row),
      parts: kinds.map(({ colour, of }) => ({ value: of(row), colour })),
      thin: thin && { value: thin.of(row), colour: thin.colour },
      end: text(sum(kinds.map(({ of }) => of(row)))),
      lines: [nameOf(row), ...all.map(({ name, of }) => `${name}: ${text(of(row))}`)],
    })),
    axes: [values],
    legend: all.map(({ name, colour }) => ({ text: name, colour })),
  });
}

function drawCharacterizePage(found) {
  const bySize = (of) => [
    { name: "small (below 4 KiB)", colour: "series-1", of: ({ small }) => small[of] },
    { name: "large", colour: "series-0", of: ({ large }) => large[of] },
  ];
  const layers = (row) => row.layers;
  const heat = (row) => `${row.accesses_a_page} accesses a page`;
  addChart("Live bytes over the step", liveSpec(found));
  addChart(
    "Tensors by the layers they live",
    stackedSpec(found.lifetimes, layers, bySize("tensors"), String, countValues),
  );
  addChart("Their bytes", stackedSpec(found.lifetimes, layers, bySize("bytes"), bytesText, bytesValues));
  const counted = found.hot_and_cold ? "accesses" : "uses";
  const uses = [{ name: counted, colour: "series-0", of: (row) => row[counted] }];
  addChart(
    "Layers from a tensor's use before to its use",
    stackedSpec(found.distances, layers, uses, String, countValues),
  );
  if (!found.hot_and_cold) return;
  const hot = [{ name: "all tensors of the step", colour: "series-0", of: (row) => row.bytes }];
  const live = { name: "live at once, at most", colour: "series-1", of: (row) => row.peak_bytes };
  addChart("Hot and cold tensors", stackedSpec(found.hot_and_cold, heat, hot, bytesText, bytesValues, live));
  const pages = found.false_sharing.by_heat.map(({ accesses_a_page: name }, i) => ({
    name: `on pages with ${name} accesses`,
    colour: `series-${[0, 1, 4][i]}`,
    of: (row) => row.tensor_bytes_by_heat_of_page[i],
  }));
  addChart(
    "Where tensors of each heat lie",
    stackedSpec(found.false_sharing.by_heat, heat, pages, bytesText, bytesValues),
  );
}

function liveSpec({ live, bound }) {
  const kinds = [live.persistent, live.long_lived, live.short_lived];
  const names = ["persistent", "other long-lived", "short-lived"];
  const ops = live.persistent.map((_, op) => op);
  const total = (op) => sum(kinds.map((bytes) => bytes[op]));
  const at = ops.find((op) => total(op) === live.peak_bytes) ?? 0;
  return layersSpec({
    xs: ops,
    end: ops.length,
    layers: kinds.map((values, i) => ({ name: names[i], colour: `series-${[0, 1, 2][i]}`, values })),
    level: { value: bound.bytes, name: `lower bound on fast memory, ${bytesText(bound.bytes)}` },
    peak: { x: at, y: live.peak_bytes, name: `peak ${bytesText(live.peak_bytes)}: ${live.peak_op}` },
    axes: [axis({ label: "ops of the step, in order", size: 28, space: 70 }), bytesAxis()],
    lines: (op, bytes) => [
      `op ${op}: ${bytesText(bytes)}`,
      ...names.map((name, i) => `${name} ${bytesText(kinds[i][op])}`),
    ],
  });
}

function drawComparePage({ results }) {
  addChart("Step time of planners", plannersSpec(results, "joint"));
  addChart("Where the time of a step goes", breakdownSpec(partsOfResults(results, true)));
}

// The rounds of a search in which anything has room.
function drawPlanPage({ convergence, planner }) {
  const rounds = convergence.flatMap((round, i) => (round.feasible ? [{ ...round, at: i + 1 }] : []));
  const series = ["worst", "average", "best"].map((name, i) => ({
    name,
    colour: `series-${[1, 2, 0][i]}`,
    points: rounds.map((round) => {
      const ms = round[`${name}_ms`];
      return { x: round.at, y: ms, lines: [`round ${round.at}: ${name} ${msText(ms)}`, `${round.feasible} with room`] };
    }),
  }));
  addChart(
    `How the search of ${words(planner)} converged`,
    linesSpec({
      series,
      end: convergence.length,
      axes: () => [
        axis({ label: "round of the search", size: 28 }),
        axis({ label: "step as the search estimates it, ms", size: 60 }),
      ],
      legend: series.map(({ name, colour }) => ({ text: name, colour, line: "solid" })),
    }),
  );
}

function drawAllocatePage({ boxes, height, lower_bound: bound }) {
  const first = Math.min(...boxes.map((box) => box.lower));
  const end = Math.max(...boxes.map((box) => box.upper)) - first;
  addChart(
    "Offsets over time",
    boxesSpec({
      boxes: boxes.map(({ id, lower, upper, offset, size }, i) => ({
        begin: lower - first,
        end: upper - first,
        low: offset,
        high: offset + size,
        colour: `series-${i % 8}`,
        name: id,
        lines: () => [id, `${size} bytes at ${offset}`, `from ${lower} to ${upper}`],
      })),
      end,
      top: 1.05 * Math.max(height, bound),
      height: 400,
      axes: [axis({ label: "time", size: 28, space: 70 }), bytesAxis({ size: 80 })],
      level: { value: bound, name: "bound" },
      legend: [{ text: "bound: nothing is lower", line: "dashed" }],
    }),
  );
}
