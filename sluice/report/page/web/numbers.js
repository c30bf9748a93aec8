// Numbers as text: bytes in binary units, times in ms; three digits that count.
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function threeDigits(value) {
  if (value === 0 || Math.abs(value) >= 1000) return value.toFixed(0);
  return Number(value.toPrecision(3)).toString();
}

function bytesText(bytes) {
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1024 && unit + 1 < BYTE_UNITS.length) {
    value /= 1024;
    ++unit;
  }
  return `${threeDigits(value)} ${BYTE_UNITS[unit]}`;
}

function msText(ms) {
  if (Math.abs(ms) >= 10000) return `${threeDigits(ms / 1000)} s`;
  if (ms !== 0 && Math.abs(ms) < 0.1) return `${threeDigits(ms * 1000)} µs`;
  return `${threeDigits(ms)} ms`;
}

// An instant of the step: precise enough to tell it from its neighbours while `span` ms are seen.
function instantText(ms, span) {
  const digits = Math.min(4, Math.max(0, Math.ceil(3 - Math.log10(Math.max(span, 1e-6)))));
  return `${ms.toFixed(digits)} ms`;
}

// The first index in ascending `values` whose value is not below `wanted`.
function lowerBound(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function words(name) {
  return name.replaceAll("_", " ");
}
