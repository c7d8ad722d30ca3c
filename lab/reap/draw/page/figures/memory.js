// Memory, and allocations a second, over the time of a run.
(() => {
  const { legend, zoom, overTime, binaryScale } = figures;

  const memory = (answer, _, colours) => {
    const { live, resident } = answer.profile;
    const option = overTime(colours, format.bytes, [
      ["resident", resident, colours.orange, false, "dashed"],
      ["live", live, colours.blue, true, "solid"],
    ]);
    const scale = binaryScale(Math.max(...[...live, ...resident].map((point) => point.bytes)));
    return {
      height: 340,
      option: {
        ...option,
        yAxis: { ...option.yAxis, ...scale },
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
