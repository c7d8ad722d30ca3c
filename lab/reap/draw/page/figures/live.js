// Bytes in use over time, by allocation site.
(() => {
  const { stacked, css } = figures;
  const MOST = 7;
  // Of Okabe and Ito: apart for every kind of colour vision, on light and on dark.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98"];

  const live = (answer, _, colours) => {
    const { flame } = answer;
    const { seconds } = flame.slices;
    const shown = slices.sites(flame, MOST);
    const points = ({ values }) =>
      [...values].map((bytes, slice) => ({ seconds: (slice + 0.5) * seconds, bytes }));
    const sums = Array.from({ length: flame.slices.count }, (_, slice) =>
      shown.reduce((sum, site) => sum + site.values[slice], 0),
    );
    const { height, option } = stacked(
      colours,
      shown.map((site, index) => [site.name, points(site), COLOURS[index]]),
      shown.map((site) => site.name),
      Math.max(...sums),
      seconds * flame.slices.count,
    );
    const chosen = { id: "chosen", name: "", type: "line", data: [], itemStyle: { color: css("--band") } };
    return {
      height,
      option: { ...option, series: [...option.series, chosen] },
      columns: ["site", "seconds", "bytes"],
      rows: shown.flatMap((site) => points(site).map((point) => [site.name, point.seconds, point.bytes])),
    };
  };

  Object.assign(figures.kinds, { live });
})();
