// Colours and sizes of the charts: what the style says for light, dark and paper, read when a chart is drawn.
//
// `scale`: how much larger than on the screen everything is drawn. Paper shows more than a screen's pixels.
const theme = { scale: 1, printing: false };

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "panel", "text", "muted", "line", "accent"])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.series = Array.from({ length: 8 }, (_, i) => style.getPropertyValue(`--series-${i}`).trim());
  theme.scale = theme.printing ? Math.max(1, 2.5 / uPlot.pxRatio) : 1;
  tiles.clear();
}

// Canvas pixels of so many CSS pixels.
function px(css) {
  return css * uPlot.pxRatio * theme.scale;
}

function canvasFont(size, weight = "") {
  return `${weight} ${px(size)}px system-ui, sans-serif`;
}

// Calls `redraw` when colours or the density of pixels change, and around printing.
function onThemeChange(redraw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("dppxchange", redraw);
}
