// Colours of the charts, by the names that the style gives them: read when charts are drawn, for light, dark and paper.
const theme = {};

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const series = Array.from({ length: 8 }, (_, i) => `series-${i}`);
  for (const name of ["page", "text", "muted", "line", ...series])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
}

// What is named has the same colour in every chart: Okabe and Ito's, which colour-blind readers can tell apart.
const COLOURS = {
  parameter: 0,
  optimizer_state: 5,
  gradient: 4,
  activation: 1,
  activation_gradient: 2,
  workspace: 7,
  input: 3,
  buffer: 6,
  forward: 2,
  backward: 1,
  update: 3,
  stall: 7,
  prefetch: 0,
  eviction: 4,
  recomputation: 5,
  "made again": 5,
  computation: 2,
  exposed_transfer: 4,
  processor_wait: 3,
  overlapped_transfer: 0,
};

function colourOf(name, order = 7) {
  return name === "output" ? "muted" : `series-${COLOURS[name] ?? order % 8}`;
}

// Black or white, whichever is read more easily on a colour "#rrggbb".
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.3 * red + 0.59 * green + 0.11 * blue > 110 ? "#000000" : "#ffffff";
}
