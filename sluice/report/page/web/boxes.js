// Rectangles over x and y: the timeline's bars, an allocation's items. Those of highlighted tensors stand out.
//
// boxes: [{ begin, end, low, high, colour, name, lines, tensors }]; begin and end on x, low and high on y, which goes
// from 0 to `top`, downwards with `time`. names: [{ text, at }] stand at the left, above `at`.
function boxesSpec({ boxes, end, top, height, axes, names = [], level, legend, time = false, padding }) {
  const at = (plot, { begin, end: last, low, high }) => {
    const [left, right, one, other] = [
      ...[begin, last].map((x) => plot.valToPos(x, "x")),
      ...[low, high].map((y) => plot.valToPos(y, "y")),
    ];
    return { left, width: right - left, top: Math.min(one, other), height: Math.abs(other - one) };
  };
  const draw = (plot) => {
    const chosen = new Set(highlightedTensors());
    const isChosen = (box) => box.tensors && box.tensors.some((tensor) => chosen.has(tensor));
    const seen = time ? boxes.filter((box) => box.end >= range.from && box.begin <= range.to) : boxes;
    plot.ctx.globalAlpha = chosen.size ? 0.3 : 1;
    for (const box of seen) drawBox(plot, box, at(plot, box), !chosen.size);
    plot.ctx.globalAlpha = 1;
    if (chosen.size) for (const box of seen.filter(isChosen)) drawChosenBox(plot, box, at(plot, box));
    plot.ctx.fillStyle = theme.text;
    for (const { text, at: y } of names)
      plot.ctx.fillText(text, plot.bbox.left + px(2), plot.valToPos(y, "y", true) - px(9));
    if (level) levelLine(plot, level.value, level.name);
  };
  return {
    time,
    legend,
    plot: () => ({
      height,
      padding,
      data: [
        [0, end],
        [0, top],
      ],
      axes,
      scales: {
        x: { time: false, range: () => (time ? [range.from, range.to] : [0, end]) },
        y: { range: () => [0, top], dir: time ? -1 : 1 },
      },
      series: [{ show: false }],
      draw,
    }),
    items: {
      count: boxes.length,
      at: (plot, i) => at(plot, boxes[i]),
      lines: (i) => boxes[i].lines(),
      tensors: (i) => boxes[i].tensors || [],
    },
  };
}

function drawBox(plot, { colour, name }, { left, top, width, height }, named) {
  const { ctx, bbox } = plot;
  const x = bbox.left + px(left);
  ctx.fillStyle = theme[colour];
  ctx.fillRect(x, bbox.top + px(top), px(width > 3 ? width - 1 : width), px(height));
  if (!named || width < 40 || height < 14) return;
  const from = Math.max(x, bbox.left);
  const to = Math.min(x + px(width), bbox.left + bbox.width);
  ctx.fillStyle = inkOn(theme[colour]);
  ctx.fillText(cut(ctx, name, to - from - px(8)), from + px(4), bbox.top + px(top + height / 2));
}

function drawChosenBox(plot, box, place) {
  const { ctx, bbox } = plot;
  const width = Math.max(3, place.width);
  drawBox(plot, box, { ...place, width }, true);
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = px(1.5);
  ctx.strokeRect(bbox.left + px(place.left), bbox.top + px(place.top), px(width), px(place.height));
}
