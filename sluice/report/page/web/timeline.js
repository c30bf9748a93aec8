// The timeline: a lane for each processor and each direction of a link.
const LANE = { pitch: 46, label: 18, bar: 22 }; // CSS pixels; a lane's name, then its bars

function tensorText(tensor) {
  const { name, role, bytes } = report.tensors[tensor];
  return `• ${name} (${words(role)}, ${bytesText(bytes)})`;
}

function barLines({ lanes, kinds, bars }, bar) {
  const [lane, begin, end] = [lanes[bars.lane[bar]], bars.begin_ms[bar], bars.end_ms[bar]];
  const tensors = bars.tensors[bar];
  return [
    bars.name[bar],
    `${words(kinds[bars.kind[bar]])} on ${lane.name}${lane.emulated ? " (emulated)" : ""}`,
    `${instantText(begin, end - begin)} to ${instantText(end, end - begin)}: ${msText(end - begin)}`,
    bars.bytes[bar] && `${bytesText(bars.bytes[bar])} moved`,
    bars.cause[bar],
    ...tensors.slice(0, 4).map(tensorText),
    tensors.length > 4 && `• and ${tensors.length - 4} more`,
    tensors.length === 1 && report.tensors[tensors[0]].story,
  ].filter(Boolean);
}

function timelineSpec(timeline) {
  const { lanes, kinds, bars } = timeline;
  const boxes = bars.lane.map((lane, bar) => ({
    begin: bars.begin_ms[bar],
    end: bars.end_ms[bar],
    low: lane + LANE.label / LANE.pitch,
    high: lane + (LANE.label + LANE.bar) / LANE.pitch,
    colour: colourOf(kinds[bars.kind[bar]]),
    name: bars.name[bar],
    tensors: bars.tensors[bar],
    lines: () => barLines(timeline, bar),
  }));
  return boxesSpec({
    time: true,
    boxes,
    end: range.length,
    top: lanes.length,
    height: lanes.length * LANE.pitch + 56,
    padding: [8, 10, 0, 66], // in line with the memory charts
    axes: [timeAxis(), { show: false }],
    names: lanes.map(({ name, emulated: imitated }, i) => ({
      text: name + (imitated ? " (emulated)" : ""),
      at: i + LANE.label / LANE.pitch,
    })),
    legend: kinds.map((kind) => ({ text: words(kind), colour: colourOf(kind) })),
  });
}
