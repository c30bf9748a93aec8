// How a kind or role looks: a colour that colour-blind readers can tell from the others (Okabe and Ito's), and a
// pattern, so that colour is never the only sign.
const PATTERNS = ["plain", "rising", "dots", "falling", "cross", "level", "upright", "grid"];

// [series colour, pattern]. What is not named takes what is left, in its order.
const LOOKS = {
  parameter: [0, 0],
  optimizer_state: [5, 1],
  gradient: [4, 2],
  activation: [1, 0],
  activation_gradient: [2, 3],
  workspace: [7, 4],
  input: [3, 5],
  buffer: [6, 6],
  output: [7, 7],
  forward: [2, 0],
  backward: [1, 1],
  update: [3, 2],
  stall: [7, 4],
  prefetch: [0, 0],
  eviction: [4, 3],
  recomputation: [5, 6],
  "made again": [5, 6],
  computation: [2, 0],
  exposed_transfer: [4, 3],
  processor_wait: [0, 5],
  other: [7, 4],
  overlapped_transfer: [0, 1],
};
const tiles = new Map();

function lookOf(name, order) {
  const [colour, pattern] = LOOKS[name] || [order % 8, (order + 5) % 8];
  return { colour: theme.series[colour], pattern: PATTERNS[pattern] };
}

// Black or white, whichever is read more easily on a colour.
function inkOn(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const linear = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return luminance > 0.18 ? "#000000" : "#ffffff";
}

function drawTile(context, pattern, size) {
  const line = (x1, y1, x2, y2) => {
    context.moveTo(x1 * size, y1 * size);
    context.lineTo(x2 * size, y2 * size);
  };
  context.beginPath();
  if (pattern === "rising" || pattern === "cross") {
    line(-0.5, 0.5, 0.5, -0.5);
    line(0, 1, 1, 0);
    line(0.5, 1.5, 1.5, 0.5);
  }
  if (pattern === "falling" || pattern === "cross") {
    line(-0.5, 0.5, 0.5, 1.5);
    line(0, 0, 1, 1);
    line(0.5, -0.5, 1.5, 0.5);
  }
  if (pattern === "level" || pattern === "grid") line(0, 0.5, 1, 0.5);
  if (pattern === "upright" || pattern === "grid") line(0.5, 0, 0.5, 1);
  context.stroke();
  if (pattern === "dots") context.fillRect(0.35 * size, 0.35 * size, 0.35 * size, 0.35 * size);
}

// What a canvas is filled with: opaque, the same tile for the same look.
function fillOf(context, { colour, pattern }) {
  if (pattern === "plain") return colour;
  const key = colour + pattern;
  if (!tiles.has(key)) {
    const size = Math.max(4, Math.round(px(6)));
    const tile = element("canvas", { width: size, height: size });
    const inner = tile.getContext("2d");
    inner.fillStyle = colour;
    inner.fillRect(0, 0, size, size);
    inner.globalAlpha = 0.45;
    inner.strokeStyle = inner.fillStyle = inkOn(colour);
    inner.lineWidth = Math.max(1, px(1));
    drawTile(inner, pattern, size);
    tiles.set(key, context.createPattern(tile, "repeat"));
  }
  return tiles.get(key);
}
