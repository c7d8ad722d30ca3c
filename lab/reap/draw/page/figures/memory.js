// Memory, and allocations a second, over the time of a run.
(() => {
  const { legend, zoom, overTime } = figures;

  const memory = (answer, _, colours) => {
    const { live, resident } = answer.profile;
    const option = overTime(colours, format.bytes, [
      ["resident", resident, colours.orange, false, "dashed"],
      ["live", live, colours.blue, true, "solid"],
    ]);
    // Tick marks of a binary scale fall on whole units.
    const top = Math.max(1, ...[...live, ...resident].map((point) => point.bytes));
    const unit = 1024 ** Math.floor(Math.log(top) / Math.log(1024));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => top / unit / s <= 6) ?? top / unit / 5;
    return {
      height: 340,
      option: {
        ...option,
        yAxis: { ...option.yAxis, interval: step * unit, max: Math.ceil(top / unit / step) * step * unit },
        legend: legend(colours, ["live", "resident"]),
        grid: { ...option.grid, bottom: 44 },
        dataZoom: zoom(colours),
      },
      columns: ["curve", "seconds", "bytes"],
      rows: [
        ["live", live],
        ["resident", resident],
      ].flatMap(([name, points]) => points.map((point) => [name, point.seconds, point.bytes])),
    };
  };

  const rates = (answer, _, colours) => {
    const points = answer.profile.rates;
    const option = overTime(colours, format.count, [
      ["allocations per second", points, colours.blue, true, "solid"],
    ]);
    return {
      height: 230,
      option: { ...option, grid: { ...option.grid, top: 14, bottom: 44 }, dataZoom: zoom(colours) },
      columns: ["seconds", "allocations per second"],
      rows: points.map((point) => [point.seconds, point.bytes]),
    };
  };

  Object.assign(figures.kinds, { memory, rates });
})();
