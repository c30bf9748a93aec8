// Draws the lanes of the timeline: only bars in view; those under a pixel together, as the kind that takes most of it,
// the paler the less of the pixel is busy.
const LANE = { label: 16, bar: 22, gap: 8 }; // CSS pixels
const TIER = { label: 16, bar: 8, gap: 6 };

const lanePitch = LANE.label + LANE.bar + LANE.gap;
const tierPitch = TIER.label + TIER.bar + TIER.gap;

function laneTop(lane) {
  return 2 + lane * lanePitch + LANE.label;
}

function tierTop(lanes, tier) {
  return 6 + lanes * lanePitch + tier * tierPitch + TIER.label;
}

// What is under a pixel wide, gathered by columns of pixels: how much of each column each kind takes.
function columnsOf(kinds, byKind) {
  const shares = new Map(); // of this column and the next
  const put = (column, kind, share) => {
    if (!shares.has(column)) shares.set(column, new Array(kinds).fill(0));
    shares.get(column)[kind] += share;
  };
  return {
    add(left, width, kind) {
      const column = Math.floor(left);
      this.flush(column);
      const after = Math.max(0, left + width - column - 1);
      put(column, kind, Math.max(width - after, 0.02));
      if (after > 0) put(column + 1, kind, after);
    },
    flush(before) {
      for (const [column, parts] of shares) {
        if (column >= before) continue;
        const taken = parts.reduce((sum, part) => sum + part, 0);
        byKind[parts.indexOf(Math.max(...parts))].push([column, 1, -1, Math.min(1, Math.max(0.25, taken))]);
        shares.delete(column);
      }
    },
  };
}

// Rectangles [x, width, bar, busy] of a lane by kind, in canvas pixels; of a column, no bar but how much of it is busy.
function gatherLane(plot, index, lane, kinds) {
  const byKind = Array.from({ length: kinds }, () => []);
  const columns = columnsOf(kinds, byKind);
  const { left: begin, width: total } = plot.bbox;
  const perMs = total / (range.to - range.from);
  const x = (ms) => begin + (ms - range.from) * perMs;
  const [first, end] = barsBetween(lane, range.from, range.to);
  for (let position = first; position < end; ++position) {
    const bar = lane.bars[position];
    const left = Math.max(x(index.begin_ms[bar]), begin - 2);
    const width = Math.min(x(index.end_ms[bar]), begin + total + 2) - left;
    if (width >= 1) byKind[index.kind[bar]].push([left, width, bar, 1]);
    else columns.add(left, width, index.kind[bar]);
  }
  columns.flush(Infinity);
  return byKind;
}

function drawLane(plot, index, lane, top, looks, chosen) {
  const { ctx } = plot;
  const height = px(LANE.bar);
  const dim = chosen.size > 0;
  gatherLane(plot, index, lane, looks.length).forEach((bars, kind) => {
    ctx.fillStyle = fillOf(ctx, looks[kind]);
    for (const [left, width, , busy] of bars) {
      ctx.globalAlpha = dim ? 0.3 * busy : busy;
      ctx.fillRect(left, top, width > px(3) ? width - px(1) : width, height);
    }
    ctx.globalAlpha = 1;
    if (!dim)
      for (const [left, width, bar] of bars)
        if (bar >= 0) drawBarName(ctx, looks[kind], index.name[bar], left, top, width);
  });
}

// A name in its bar, on a plate of the bar's plain colour.
function drawBarName(ctx, look, name, left, top, width) {
  if (width < px(64)) return;
  const text = fitted(ctx, name, width - px(10));
  ctx.fillStyle = look.colour;
  ctx.fillRect(left + px(2), top + px(3), ctx.measureText(text).width + px(6), px(LANE.bar - 6));
  ctx.fillStyle = inkOn(look.colour);
  ctx.fillText(text, left + px(5), top + px(LANE.bar / 2 + 0.5));
}

// Bars of highlighted tensors: in full, outlined, with a wedge above that is seen however narrow they are.
function drawChosen(plot, index, looks, chosen) {
  const { ctx, bbox } = plot;
  const perMs = bbox.width / (range.to - range.from);
  ctx.lineWidth = px(1.5);
  for (const bar of chosen) {
    if (index.end_ms[bar] < range.from || index.begin_ms[bar] > range.to) continue;
    const left = bbox.left + (index.begin_ms[bar] - range.from) * perMs;
    const width = Math.max(px(3), (index.end_ms[bar] - index.begin_ms[bar]) * perMs);
    const top = bbox.top + px(laneTop(index.lane[bar]));
    const look = looks[index.kind[bar]];
    ctx.fillStyle = fillOf(ctx, look);
    ctx.fillRect(left, top, width, px(LANE.bar));
    drawBarName(
      ctx,
      look,
      index.name[bar],
      Math.max(left, bbox.left),
      top,
      Math.min(width, bbox.left + bbox.width - left),
    );
    ctx.strokeStyle = ctx.fillStyle = theme.text;
    ctx.strokeRect(left, top, width, px(LANE.bar));
    const middle = left + width / 2;
    ctx.beginPath();
    ctx.moveTo(middle, top - px(1));
    ctx.lineTo(middle - px(4), top - px(7));
    ctx.lineTo(middle + px(4), top - px(7));
    ctx.fill();
  }
}

// Where highlighted tensors are: a strip for each tier.
function drawPlaces(plot, lanes) {
  const { ctx, bbox } = plot;
  const perMs = bbox.width / (range.to - range.from);
  report.memory.forEach((memory, tier) => {
    const top = bbox.top + px(tierTop(lanes, tier));
    ctx.fillStyle = theme.line;
    ctx.fillRect(bbox.left, top + px(TIER.bar / 2 - 0.5), bbox.width, px(1));
    ctx.fillStyle = theme.text;
    for (const { from, to } of staysIn(memory)) {
      ctx.fillRect(bbox.left + (from - range.from) * perMs, top, Math.max(px(2), (to - from) * perMs), px(TIER.bar));
    }
  });
}

function drawLaneNames(plot, lanes) {
  const { ctx, bbox } = plot;
  const name = (text, top, emulated) => {
    ctx.fillText(text + (emulated ? " (emulated)" : ""), bbox.left + px(2), bbox.top + px(top - 7));
  };
  ctx.font = canvasFont(12, "600");
  ctx.fillStyle = theme.text;
  lanes.forEach((lane, i) => name(lane.name, laneTop(i), lane.emulated));
  ctx.font = canvasFont(12);
  ctx.fillStyle = theme.muted;
  report.memory.forEach((memory, tier) =>
    name(`highlighted tensors in ${memory.tier}`, tierTop(lanes.length, tier), memory.emulated),
  );
}

function drawTimeline(plot, index, looks) {
  const { ctx, bbox } = plot;
  const chosen = highlightedBars(index);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.font = canvasFont(11);
  index.lanes.forEach((lane, i) => drawLane(plot, index, lane, bbox.top + px(laneTop(i)), looks, chosen));
  drawChosen(plot, index, looks, chosen);
  drawPlaces(plot, index.lanes.length);
  drawLaneNames(plot, index.lanes);
  ctx.restore();
}
