// The timeline's bars, lane by lane, found fast: by time with binary search, by tensor with a table.
function indexBars(timeline) {
  const { bars } = timeline;
  const lanes = timeline.lanes.map((lane) => ({ ...lane, bars: [], reach: [] }));
  const ofTensor = new Map();
  const place = new Array(bars.lane.length);
  for (let bar = 0; bar < bars.lane.length; ++bar) {
    const lane = lanes[bars.lane[bar]];
    const before = lane.reach.length ? lane.reach[lane.reach.length - 1] : 0;
    place[bar] = lane.bars.length;
    lane.bars.push(bar);
    lane.reach.push(Math.max(before, bars.end_ms[bar])); // the latest end so far: ascending, although bars may overlap
    for (const tensor of bars.tensors[bar]) {
      if (!ofTensor.has(tensor)) ofTensor.set(tensor, []);
      ofTensor.get(tensor).push(bar);
    }
  }
  for (const lane of lanes) lane.begin = lane.bars.map((bar) => bars.begin_ms[bar]);
  return { lanes, ofTensor, place, ...bars };
}

// Positions [first, end) in a lane of what may be seen between two instants.
function barsBetween(lane, from, to) {
  return [lowerBound(lane.reach, from), lowerBound(lane.begin, to)];
}

// The bar of a lane at an instant, or the nearest within `slack` ms; -1: none. Of bars that overlap, the shortest.
function barAt(index, lane, at, slack) {
  const [first, end] = barsBetween(lane, at - slack, at + slack);
  let best = -1;
  let bestScore = Infinity;
  for (let position = first; position < end; ++position) {
    const bar = lane.bars[position];
    const away = Math.max(0, index.begin_ms[bar] - at, at - index.end_ms[bar]);
    const score = away * 1e6 + (index.end_ms[bar] - index.begin_ms[bar]);
    if (away <= slack && score < bestScore) [best, bestScore] = [bar, score];
  }
  return best;
}

function highlightedBars(index) {
  return new Set(highlightedTensors().flatMap((tensor) => index.ofTensor.get(tensor) || []));
}
