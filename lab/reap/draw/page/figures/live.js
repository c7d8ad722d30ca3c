// Bytes in use over time, by allocation site.
(() => {
  const { overTime, legend, css, binaryScale } = figures;
  const MOST = 7;
  // Of Okabe and Ito: apart for every kind of colour vision, on light and on dark.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98"];

  const live = (answer, _, colours) => {
    const { flame } = answer;
    const { seconds } = flame.slices;
    const shown = slices.sites(flame, MOST);
    const narrow = window.innerWidth < 560;
    const points = ({ values }) =>
      [...values].map((bytes, slice) => ({ seconds: (slice + 0.5) * seconds, bytes }));
    const option = overTime(
      colours,
      format.bytes,
      shown.map((site, index) => [site.name, points(site), COLOURS[index], true, "solid"]),
    );
    for (const series of option.series) {
      Object.assign(series, { stack: "live", lineStyle: { width: 0 } });
      series.areaStyle = { color: series.itemStyle.color, opacity: 0.85 };
    }
    const chosen = { id: "chosen", name: "", type: "line", data: [], itemStyle: { color: css("--band") } };
    const key = {
      orient: "vertical",
      formatter: (name) => format.shorten(name, 36),
      selectedMode: false,
      icon: "roundRect",
      ...(narrow ? {} : { left: "auto", right: 0, top: 8 }),
    };
    const sums = Array.from({ length: flame.slices.count }, (_, slice) =>
      shown.reduce((sum, site) => sum + site.values[slice], 0),
    );
    const room = 22 * shown.length;
    return {
      height: narrow ? 280 + room : 340,
      option: {
        ...option,
        grid: { ...option.grid, top: narrow ? room + 12 : 14, right: narrow ? 12 : 270 },
        legend: legend(
          colours,
          shown.map((site) => site.name),
          key,
        ),
        xAxis: { ...option.xAxis, min: 0, max: seconds * flame.slices.count },
        yAxis: { ...option.yAxis, ...binaryScale(Math.max(...sums)) },
        series: [...option.series, chosen],
      },
      columns: ["site", "seconds", "bytes"],
      rows: shown.flatMap((site) => points(site).map((point) => [site.name, point.seconds, point.bytes])),
    };
  };

  Object.assign(figures.kinds, { live });
})();
