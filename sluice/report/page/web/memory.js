// Memory of one tier over the step: roles stacked, the budget as a line, the peak marked, highlighted tensors in their
// place.
function memorySpec(memory) {
  const { roles, ms, bytes, budget_bytes: budget, tier, peak } = memory;
  const staysOf = (index) => {
    const { role, bytes: size, places } = report.tensors[index];
    const number = report.machine.tiers.findIndex((one) => one.name === tier); // tiers that hold nothing have no chart
    return places.filter((place) => place[0] === number).map(([, from, to]) => ({ role, size, from, to }));
  };
  const budgetText = budget ? ` of ${bytesText(budget)}` : "";
  return layersSpec({
    time: true,
    xs: ms,
    end: range.length,
    layers: roles.map((role, i) => ({ name: words(role), colour: colourOf(role, i), values: bytes[i] })),
    level: budget ? { value: budget, name: `budget ${bytesText(budget)}` } : null,
    peak: { x: peak.ms, y: peak.bytes, name: `peak ${bytesText(peak.bytes)}` },
    axes: [timeAxis(), bytesAxis()],
    over: (plot, stacked) => drawStays(plot, memory, stacked, highlightedTensors().flatMap(staysOf)),
    lines: (i, total) => [
      `${bytesText(total)}${budgetText} in ${tier}${memory.emulated ? " (emulated)" : ""}`,
      `from ${msText(ms[i])} to ${msText(ms[i + 1] ?? range.length)}`,
      ...roles
        .map((role, r) => bytes[r][i] && `${words(role)} ${bytesText(bytes[r][i])}`)
        .filter(Boolean)
        .reverse(),
      ...(total && total >= peak.bytes ? [`the peak${peak.op ? `, while ${peak.op} runs` : ""}`] : []),
    ],
  });
}

// Highlighted tensors: a strip along the top while they are in the tier, and their bytes at the bottom of their role's
// layer, as tall as they are.
function drawStays(plot, { roles, ms }, stacked, stays) {
  const { ctx, bbox } = plot;
  const x = (at) => plot.valToPos(at, "x", true);
  const y = (value) => plot.valToPos(value, "y", true);
  ctx.fillStyle = theme.text;
  for (const { from, to } of stays) ctx.fillRect(x(from), bbox.top, Math.max(px(2), x(to) - x(from)), px(5));
  if (!stays.length) return;
  for (let i = 0; i < ms.length; ++i) {
    const end = ms[i + 1] ?? range.length;
    if (end < range.from || ms[i] > range.to) continue;
    roles.forEach((role, layer) => {
      const there = stays.filter((stay) => stay.role === role && stay.from <= ms[i] && stay.to > ms[i]);
      if (!there.length) return;
      const base = layer ? stacked[layer - 1][i] : 0;
      const bottom = y(base);
      const tall = Math.max(px(2), bottom - y(base + sum(there.map((stay) => stay.size))));
      ctx.fillRect(x(ms[i]), bottom - tall, Math.max(1, x(end) - x(ms[i])), tall);
    });
  }
}
