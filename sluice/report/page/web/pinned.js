// What was chosen in the timeline, below it: each of its tensors can be highlighted alone.
function showPinned(frame, index, bar) {
  pinTensors(bar < 0 ? [] : index.tensors[bar]);
  frame.below.replaceChildren();
  if (bar < 0) return;
  const tensors = index.tensors[bar].map((tensor) => {
    const choose = button(tensorText(tensor), `Highlight ${report.tensors[tensor].name}`, () => pinTensors([tensor]));
    choose.addEventListener("pointerenter", () => hoverTensors([tensor]));
    choose.addEventListener("pointerleave", () => hoverTensors([]));
    return element("li", {}, [choose, element("span", { text: ` ${report.tensors[tensor].story}` })]);
  });
  const clear = button("Clear", "Clear the highlight", () => {
    showPinned(frame, index, -1);
    frame.figure.focus({ preventScroll: true });
  });
  const lines = barLines(index, bar).filter((line) => !line.startsWith("•"));
  const heading = element("p", {}, [
    element("strong", { text: lines[0] }),
    element("span", { text: `: ${lines.slice(1, 5).join("; ")} ` }),
    clear,
  ]);
  frame.below.append(element("div", { class: "pinned" }, [heading, element("ul", {}, tensors)]));
  say(`${lines[0]} is pinned. Its tensors are listed below the chart.`);
}
