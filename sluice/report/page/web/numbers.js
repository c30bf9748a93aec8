// Numbers as text: bytes in binary units, times in ms; three digits that count.
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function threeDigits(value) {
  if (value === 0 || Math.abs(value) >= 1000) return value.toFixed(0);
  return Number(value.toPrecision(3)).toString();
}

function bytesText(bytes) {
  let unit = 0;
  let value = bytes;
  for (; Math.abs(value) >= 1024 && unit + 1 < BYTE_UNITS.length; ++unit) value /= 1024;
  return `${threeDigits(value)} ${BYTE_UNITS[unit]}`;
}

function msText(ms) {
  if (Math.abs(ms) >= 10000) return `${threeDigits(ms / 1000)} s`;
  if (ms !== 0 && Math.abs(ms) < 0.1) return `${threeDigits(ms * 1000)} µs`;
  return `${threeDigits(ms)} ms`;
}

// An instant of the step: precise enough to tell it from its neighbours while `span` ms are seen.
function instantText(ms, span) {
  return `${ms.toFixed(Math.min(4, Math.max(0, Math.ceil(3 - Math.log10(Math.max(span, 1e-6))))))} ms`;
}

function percentText(share) {
  return `${threeDigits(100 * share)} %`;
}

function words(name) {
  return name.replaceAll("_", " ");
}

function sum(values) {
  return values.reduce((all, each) => all + each, 0);
}
