// The part of the step that is seen: one for the timeline and the memory charts, so that they show the same time.
const range = { from: 0, to: 1, length: 1, watchers: [] };

function startRange(length) {
  range.length = Math.max(length, 1e-6);
  range.from = 0;
  range.to = range.length;
}

function setRange(from, to) {
  const span = Math.min(range.length, Math.max(to - from, range.length / 1e5));
  const begin = Math.min(Math.max(from, 0), range.length - span);
  if (begin === range.from && begin + span === range.to) return;
  range.from = begin;
  range.to = begin + span;
  for (const watcher of range.watchers) watcher();
}

function pan(ms) {
  setRange(range.from + ms, range.to + ms);
}

// Factor below 1: closer. The instant `around` stays where it is.
function zoom(factor, around = (range.from + range.to) / 2) {
  setRange(around - (around - range.from) * factor, around + (range.to - around) * factor);
}

function wholeStep() {
  setRange(0, range.length);
}

// Moves the range, where [begin, end] is not all seen, so that it is, or at least its beginning.
function reveal(begin, end) {
  if (begin >= range.from && end <= range.to) return;
  const span = range.to - range.from;
  const after = begin >= range.from && end - begin < 0.9 * span;
  const from = after ? end - 0.95 * span : begin - 0.05 * span;
  setRange(from, from + span);
}

function onRange(watcher) {
  range.watchers.push(watcher);
}
