// The timeline: a lane for each processor and each direction of a link.
const TIMELINE_HINT =
  "Drag to pan. Click, then turn the wheel to zoom (or hold Ctrl). Keys: arrows from bar to bar, + and − zoom, " +
  "Shift with ← or → pans, 0 shows all, Enter pins a bar and lists its tensors, Escape clears.";

function drawTimelineChart() {
  const { timeline } = report;
  const index = indexBars(timeline);
  const looks = () => timeline.kinds.map((kind, i) => lookOf(kind, i));
  const frame = openFrame("chart-timeline", {
    time: true,
    make: (made, width) => {
      fillLegend(
        made.legend,
        timeline.kinds.map((kind, i) => ({ sample: fillSample(looks()[i]), text: words(kind) })),
      );
      made.items = timelineItems(made, index);
      return timelinePlot(made, width, index, looks());
    },
  });
  if (!frame) return;
  addTimeTools(frame);
  frame.figure.append(element("p", { class: "hint", text: TIMELINE_HINT }));
  frame.figure.dataset.points = timeline.bars.lane.length;
  onHighlight(() => {
    if (!highlight.pinned.length) frame.below.replaceChildren();
    refreshSoon(frame);
  });
}

function timelinePlot(frame, width, index, looks) {
  const height = tierTop(index.lanes.length, report.memory.length) - TIER.label + 60;
  return makePlot(frame, {
    width,
    height,
    synced: true,
    padding: [8, 10, 0, width < 480 ? 10 : BYTES_AXIS], // wide: in line with the memory charts
    data: [
      [0, range.length],
      [0, 1],
    ],
    scales: { x: timeScale(), y: { range: () => [0, 1] } },
    axes: [timeAxis(), { show: false }],
    series: [{}, { show: false }],
    hooks: { draw: [(plot) => drawTimeline(plot, index, looks)] },
  });
}

function tensorText(tensor) {
  const { name, role, bytes } = report.tensors[tensor];
  return `${name} (${words(role)}, ${bytesText(bytes)})`;
}

function barLines(index, bar) {
  const lane = index.lanes[index.lane[bar]];
  const [begin, end] = [index.begin_ms[bar], index.end_ms[bar]];
  const lines = [
    index.name[bar],
    `${words(report.timeline.kinds[index.kind[bar]])} on ${lane.name}${lane.emulated ? " (emulated)" : ""}`,
    `${instantText(begin, end - begin)} to ${instantText(end, end - begin)}: ${msText(end - begin)}`,
  ];
  if (index.bytes[bar]) lines.push(`${bytesText(index.bytes[bar])} moved`);
  if (index.cause[bar]) lines.push(index.cause[bar]);
  const tensors = index.tensors[bar];
  for (const tensor of tensors.slice(0, 4)) lines.push(`• ${tensorText(tensor)}`);
  if (tensors.length > 4) lines.push(`• and ${tensors.length - 4} more`);
  if (tensors.length === 1 && report.tensors[tensors[0]].story) lines.push(report.tensors[tensors[0]].story);
  return lines;
}

// From one bar to its neighbour in the lane, or to what runs at the same time in the next lane.
function stepBar(index, bar, key) {
  if (bar < 0) return firstInView(index);
  const lane = index.lanes[index.lane[bar]];
  const last = lane.bars.length - 1;
  if (key === "Home" || key === "End") return lane.bars[key === "Home" ? 0 : last];
  if (key === "ArrowLeft" || key === "ArrowRight") {
    return lane.bars[Math.max(0, Math.min(last, index.place[bar] + (key === "ArrowLeft" ? -1 : 1)))];
  }
  const middle = (index.begin_ms[bar] + index.end_ms[bar]) / 2;
  const direction = key === "ArrowUp" ? -1 : 1;
  for (let next = index.lane[bar] + direction; next >= 0 && next < index.lanes.length; next += direction) {
    const found = barAt(index, index.lanes[next], middle, range.length);
    if (found >= 0) return found;
  }
  return bar;
}

function firstInView(index) {
  for (const lane of index.lanes) {
    const [first, end] = barsBetween(lane, range.from, range.to);
    if (first < end) return lane.bars[first];
  }
  return -1;
}

// A range set by a key is drawn at once: the tooltip must stand at what is seen.
function revealNow(frame, begin, end) {
  reveal(begin, end);
  frame.plot.batch(() => frame.plot.setScale("x", { min: range.from, max: range.to }));
}

function timelineItems(frame, index) {
  const x = (ms) => frame.plot.valToPos(ms, "x");
  return {
    find(left, top) {
      const lane = index.lanes.findIndex((_, i) => top >= laneTop(i) - 2 && top <= laneTop(i) + LANE.bar + 2);
      return lane < 0 ? -1 : barAt(index, index.lanes[lane], frame.plot.posToVal(left, "x"), 3 * msPerPixel(frame));
    },
    at(bar) {
      const left = x(index.begin_ms[bar]);
      return {
        left,
        top: laneTop(index.lane[bar]),
        width: x(index.end_ms[bar]) - left,
        height: LANE.bar,
        lines: barLines(index, bar),
      };
    },
    step: (bar, key) => stepBar(index, bar, key),
    instant: (bar) => (index.begin_ms[bar] + index.end_ms[bar]) / 2,
    reveal: (bar) => revealNow(frame, index.begin_ms[bar], index.end_ms[bar]),
    enter: (bar) => hoverTensors(bar < 0 ? [] : index.tensors[bar]),
    pin: (bar) => showPinned(frame, index, bar),
  };
}
