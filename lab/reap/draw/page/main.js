// Puts the page together: draws what comes into view, and draws again when theme or width change.
(() => {
  const drawn = [];

  const draw = (figure) => {
    const answer = reapReport.report.answers[Number(figure.dataset.answer)];
    const { figure: kind, option } = figure.dataset;
    const built = figures.build(kind, answer, option);
    const box = figure.querySelector(".chart");
    box.style.height = `${built.height}px`;
    const chart = echarts.init(box, null, { renderer: "svg" });
    chart.setOption(built.option);
    if (kind === "memory" || kind === "rates") {
      chart.group = `time-${figure.dataset.answer}`; // the two share their zoom and their pointer
      echarts.connect(chart.group);
    }
    reapReport.charts[figure.id] = chart;
    drawn.push({ chart, kind, answer, option, fixed: built.fixed });
    data.attach(figure, built);
  };

  const renew = ({ chart, kind, answer, option }) => {
    const { legend, dataZoom } = chart.getOption();
    const { option: fresh, height } = figures.build(kind, answer, option);
    chart.getDom().style.height = `${height}px`;
    chart.resize();
    // What the reader has chosen stays: hidden curves and the zoomed span.
    if (fresh.legend && legend?.[0]) fresh.legend.selected = legend[0].selected;
    if (fresh.dataZoom && dataZoom) {
      fresh.dataZoom = fresh.dataZoom.map((zoom, index) => ({
        ...zoom,
        start: dataZoom[index].start,
        end: dataZoom[index].end,
      }));
    }
    chart.setOption(fresh, true);
  };

  const redraw = () => {
    drawn.forEach(renew);
    flames.redraw();
  };

  const root = document.documentElement;
  window.addEventListener("reap-theme", redraw);

  // Paper is white, and a sheet has its own width.
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    redraw();
    for (const { chart } of drawn) chart.resize();
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    redraw();
    for (const { chart } of drawn) chart.resize();
  });

  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    try {
      draw(figure);
    } catch (error) {
      // One figure that cannot be drawn must not take the others with it.
      reapReport.errors.push(`${figure.id}: ${error}`);
      figure.querySelector(".chart").textContent =
        "This figure could not be drawn; its numbers are in the JSON.";
    }
  }
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = drawn.find(({ chart }) => chart.getDom() === target);
      // Its height may change, which no observer may do in its turn.
      if (figure?.fixed) requestAnimationFrame(() => renew(figure));
      else figure?.chart.resize();
    }
  });
  for (const { chart } of drawn) watch.observe(chart.getDom());

  // Shown first: what is hidden has no width.
  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
  for (const figure of document.querySelectorAll("figure.flame")) {
    try {
      flames.attach(figure, () => theme.current() === "dark");
    } catch (error) {
      reapReport.errors.push(`${figure.id}: ${error}`);
      figure.querySelector(".boxes").textContent =
        "This figure could not be drawn; its numbers are in the JSON.";
    }
  }

  document.querySelectorAll(".sortable").forEach(tables.attach);
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copies).textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(document.getElementById(button.dataset.copies));
        button.textContent = "Selected";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
  }
  document
    .getElementById("whole")
    .addEventListener("click", () => data.download("report.json", reapReport.report));
  reapReport.ready = true;
  performance.mark("reap-ready");
})();
