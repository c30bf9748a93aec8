// Highlighted tensors in a memory chart: a strip along the top while they are in the tier, and their bytes within their
// role's layer, as tall as they are.
function staysIn(memory) {
  // By name: tiers that hold nothing have no chart.
  const tier = report.machine.tiers.findIndex((one) => one.name === memory.tier);
  return highlightedTensors().flatMap((index) => {
    const tensor = report.tensors[index];
    return tensor.places
      .filter((place) => place[0] === tier)
      .map(([, from, to]) => ({ role: tensor.role, bytes: tensor.bytes, from, to }));
  });
}

// Bytes of these stays in each interval between two instants.
function bytesByInterval(stays, ms) {
  const bytes = new Float64Array(ms.length);
  for (const { from, to, bytes: size } of stays) {
    const end = Math.max(lowerBound(ms, to), lowerBound(ms, from) + 1);
    for (let i = lowerBound(ms, from); i < end && i < ms.length; ++i) bytes[i] += size;
  }
  return bytes;
}

function drawTensorsInMemory(plot, memory, layers) {
  const stays = staysIn(memory);
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = theme.text;
  for (const role of new Set(stays.map((stay) => stay.role))) {
    const order = memory.roles.indexOf(role);
    if (order >= 0)
      drawInLayer(
        plot,
        layers,
        order,
        bytesByInterval(
          stays.filter((stay) => stay.role === role),
          layers.ms,
        ),
      );
  }
  for (const { from, to } of stays) {
    const left = plot.valToPos(from, "x", true);
    ctx.fillRect(left, bbox.top, Math.max(px(2), plot.valToPos(to, "x", true) - left), px(5));
  }
  ctx.restore();
}

function drawInLayer(plot, layers, order, bytes) {
  const { ctx } = plot;
  const first = Math.max(0, lowerBound(layers.ms, range.from) - 1);
  for (let i = first; i + 1 < layers.ms.length && layers.ms[i] < range.to; ++i) {
    if (!bytes[i]) continue;
    const base = order ? layers.stacked[order - 1][i] : 0;
    const left = Math.round(plot.valToPos(layers.ms[i], "x", true));
    const right = Math.round(plot.valToPos(layers.ms[i + 1], "x", true));
    const bottom = plot.valToPos(base, "y", true);
    const tall = Math.max(px(2), bottom - plot.valToPos(base + bytes[i], "y", true));
    ctx.fillRect(left, bottom - tall, Math.max(1, right - left), tall);
  }
}
