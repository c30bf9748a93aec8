// Memory of one tier over the step: roles stacked, the budget as a line, the peak marked, highlighted tensors in their
// place.
function stackRoles(memory, length) {
  const ms = [...memory.ms, length];
  const stacked = [];
  let below = new Array(memory.ms.length).fill(0);
  for (const bytes of memory.bytes) {
    below = below.map((sum, i) => sum + bytes[i]);
    stacked.push([...below, below[below.length - 1]]);
  }
  return { ms, stacked, total: stacked[stacked.length - 1] };
}

// The budget is in view unless it is far above all that is there.
function memoryTop(memory) {
  const peak = Math.max(memory.peak.bytes, 1);
  return memory.budget_bytes > 0 && memory.budget_bytes < 2 * peak
    ? 1.12 * Math.max(peak, memory.budget_bytes)
    : 1.2 * peak;
}

function drawMemory(memory, index) {
  const layers = stackRoles(memory, range.length);
  const looks = () => memory.roles.map((role, i) => lookOf(role, i));
  const frame = openFrame(`chart-memory-${index}`, {
    time: true,
    make: (made, width) => {
      memoryLegend(made, memory, looks());
      made.items = memoryItems(made, memory, layers);
      return memoryPlot(made, width, memory, layers, looks());
    },
  });
  if (!frame) return;
  addTimeTools(frame);
  frame.figure.dataset.points = memory.ms.length;
  onHighlight(() => refreshSoon(frame));
}

function memoryPlot(frame, width, memory, layers, looks) {
  const top = memoryTop(memory);
  const upperFirst = layers.stacked.map((_, i) => i).reverse();
  return makePlot(frame, {
    width,
    height: width < 480 ? 220 : 260,
    synced: true,
    data: [layers.ms, ...upperFirst.map((i) => layers.stacked[i])],
    scales: { x: timeScale(), y: { range: () => [0, top] } },
    axes: [timeAxis(), bytesAxis()],
    series: [
      {},
      ...upperFirst.map((i) => ({
        paths: uPlot.paths.stepped({ align: 1 }),
        points: { show: false },
        width: theme.scale * 0.75,
        stroke: i === layers.stacked.length - 1 ? theme.text : null,
        fill: (plot) => fillOf(plot.ctx, looks[i]),
      })),
    ],
    hooks: {
      draw: [
        (plot) => {
          drawBudget(plot, memory, top);
          drawPeak(plot, memory, top);
          drawTensorsInMemory(plot, memory, layers);
        },
      ],
    },
  });
}

function drawBudget(plot, memory, top) {
  if (!memory.budget_bytes) return;
  const name = `budget ${bytesText(memory.budget_bytes)}`;
  const right = memory.peak.ms < range.from + 0.45 * (range.to - range.from); // the peak's name is at the left
  if (memory.budget_bytes <= top) namedLevel(plot, memory.budget_bytes, name, { right });
  else plate(plot, `${name}, above the chart ↑`, plot.bbox.left + px(8), plot.bbox.top + px(16));
}

// The peak's name stands beside it, or below the budget's line where it would cover that one's name.
function drawPeak(plot, memory, top) {
  const { ms, bytes } = memory.peak;
  if (ms < range.from || ms > range.to) return;
  const x = plot.valToPos(ms, "x", true);
  const y = plot.valToPos(bytes, "y", true);
  const { ctx } = plot;
  ctx.save();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.arc(x, y, px(5), 0, 2 * Math.PI);
  ctx.fillStyle = theme.page;
  ctx.fill();
  ctx.lineWidth = px(2);
  ctx.strokeStyle = theme.text;
  ctx.stroke();
  ctx.restore();
  const leftHalf = x < plot.bbox.left + plot.bbox.width / 2;
  const budget = memory.budget_bytes <= top ? plot.valToPos(memory.budget_bytes, "y", true) : plot.bbox.top + px(16);
  const beside = Math.abs(y - budget) < px(17) ? budget + px(18) : y;
  plate(plot, `peak ${bytesText(bytes)}`, leftHalf ? x + px(14) : x - px(14), beside, leftHalf ? "left" : "right");
}

function memoryLegend(frame, memory, looks) {
  const entries = memory.roles
    .map((role, i) => ({ sample: fillSample(looks[i]), text: words(role) }))
    .filter((_, i) => memory.bytes[i].some((bytes) => bytes > 0));
  if (memory.budget_bytes) entries.push({ sample: lineSample(theme.text, [6, 4]), text: "budget" });
  fillLegend(frame.legend, entries.reverse());
}

function memoryLines(memory, layers, i) {
  const total = layers.total[i];
  const share = memory.budget_bytes ? ` of ${bytesText(memory.budget_bytes)}` : "";
  const lines = [
    `${bytesText(total)}${share} in ${memory.tier}${memory.emulated ? " (emulated)" : ""}`,
    `from ${msText(layers.ms[i])} to ${msText(layers.ms[i + 1])}`,
  ];
  for (let role = memory.roles.length - 1; role >= 0; --role) {
    if (memory.bytes[role][i]) lines.push(`${words(memory.roles[role])} ${bytesText(memory.bytes[role][i])}`);
  }
  if (memory.peak.bytes && total >= memory.peak.bytes)
    lines.push(`the peak${memory.peak.op ? `, while ${memory.peak.op} runs` : ""}`);
  return lines;
}

// The cursor is on one instant after another at which the contents change.
function memoryItems(frame, memory, layers) {
  const last = memory.ms.length - 1;
  const x = (ms) => frame.plot.valToPos(ms, "x");
  return {
    find: (left) => Math.max(0, Math.min(last, lowerBound(layers.ms, frame.plot.posToVal(left, "x") + 1e-9) - 1)),
    at(i) {
      const left = x(layers.ms[i]);
      return {
        left,
        top: frame.plot.valToPos(layers.total[i], "y"),
        width: x(layers.ms[i + 1]) - left,
        height: 2,
        lines: memoryLines(memory, layers, i),
      };
    },
    step(i, key) {
      if (key === "Home") return 0;
      if (key === "End") return last;
      if (i < 0) return this.find(0);
      return Math.max(0, Math.min(last, i + (key === "ArrowLeft" || key === "ArrowDown" ? -1 : 1)));
    },
    instant: (i) => layers.ms[i],
    reveal: (i) => revealNow(frame, layers.ms[i], layers.ms[i + 1]),
  };
}
