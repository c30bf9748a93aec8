// The legend above a chart: entries with a sample of the fill or line, drawn as in the chart.
function sampleOf(draw) {
  const width = 22;
  const height = 12;
  const ratio = uPlot.pxRatio * theme.scale;
  const canvas = element("canvas", {
    width: width * ratio,
    height: height * ratio,
    class: "sample",
    "aria-hidden": "true",
  });
  draw(canvas.getContext("2d"), canvas.width, canvas.height);
  return canvas;
}

function fillSample(look) {
  return sampleOf((context, width, height) => {
    context.fillStyle = fillOf(context, look);
    context.fillRect(0, 0, width, height);
  });
}

function lineSample(colour, dash, mark) {
  return sampleOf((context, width, height) => {
    context.strokeStyle = colour;
    context.lineWidth = px(2);
    context.setLineDash(dash.map(px));
    context.beginPath();
    context.moveTo(0, height / 2);
    context.lineTo(width, height / 2);
    context.stroke();
    if (mark) mark(context, width / 2, height / 2);
  });
}

function fillLegend(legend, entries) {
  legend.replaceChildren(...entries.map(({ sample, text }) => element("li", {}, [sample, element("span", { text })])));
}
