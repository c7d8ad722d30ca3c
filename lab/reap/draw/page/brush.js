// The time that a flame graph shows: two sliders for the keyboard and for fingers, and the chart of live bytes,
// in which the mouse marks a span.
const brush = (() => {
  // Calls `changed(from, to)`, in slices, whenever another span is chosen.
  const attach = (tools, chart, held, changed) => {
    const find = (selector) => tools.querySelector(selector);
    const [from, to, said, whole] = [find(".from"), find(".to"), find(".chosen"), find(".whole")];
    for (const slider of [from, to]) slider.max = String(held.count);
    to.value = String(held.count);
    let waiting = false;

    const mark = () => {
      const all = Number(from.value) === 0 && Number(to.value) === held.count;
      const ends = [from, to].map((slider) => Number(slider.value) * held.seconds);
      for (const [slider, end] of [
        [from, ends[0]],
        [to, ends[1]],
      ]) {
        slider.setAttribute("aria-valuetext", format.seconds(end));
      }
      said.textContent = all ? "whole time" : `${format.seconds(ends[0])} to ${format.seconds(ends[1])}`;
      whole.disabled = all;
      const band = { itemStyle: { color: figures.css("--band") }, silent: true };
      const data = all ? [] : [[{ xAxis: ends[0] }, { xAxis: ends[1] }]];
      chart?.setOption({ series: [{ id: "chosen", markArea: { ...band, data } }] });
    };

    const tell = () => {
      mark();
      if (waiting) return;
      waiting = true; // a frame has time for one
      requestAnimationFrame(() => {
        waiting = false;
        changed(Number(from.value), Number(to.value));
      });
    };

    const choose = (first, last) => {
      const [low, high] = first < last ? [first, last] : [last, first];
      from.value = String(Math.max(0, Math.min(Math.floor(low), held.count - 1)));
      to.value = String(Math.max(Number(from.value) + 1, Math.min(Math.ceil(high), held.count)));
      tell();
    };

    from.addEventListener("input", () => {
      if (Number(from.value) >= held.count) from.value = String(held.count - 1);
      if (Number(to.value) <= Number(from.value)) to.value = String(Number(from.value) + 1);
      tell();
    });
    to.addEventListener("input", () => {
      if (Number(to.value) < 1) to.value = "1";
      if (Number(from.value) >= Number(to.value)) from.value = String(Number(to.value) - 1);
      tell();
    });
    whole.addEventListener("click", () => choose(0, held.count));

    if (chart) {
      const surface = chart.getZr();
      const sliceAt = (event) => chart.convertFromPixel({ xAxisIndex: 0 }, event.offsetX) / held.seconds;
      let begun = null;
      surface.on("mousedown", (event) => {
        if (chart.containPixel("grid", [event.offsetX, event.offsetY])) begun = sliceAt(event);
      });
      surface.on("mousemove", (event) => {
        if (begun !== null) choose(begun, sliceAt(event));
      });
      window.addEventListener("mouseup", () => {
        begun = null;
      });
    }
    mark();
    return mark;
  };
  return { attach };
})();
