// Memory over time with a remedy, beside that of the program as it is: one of the small charts of one scale.
(() => {
  const { overTime, binaryScale, horizontal, across, trims } = figures;

  const remedy = (answer, _, colours) => {
    const { name, side, base, most, longest, trim } = answer;
    const points = (pairs) => pairs.map(([seconds, bytes]) => ({ seconds, bytes }));
    const level = (of, colour) => ({
      yAxis: of,
      lineStyle: { ...horizontal(colours).lineStyle, color: colour },
    });
    const sides = [["as it is", points(base.curve), colours.grey, false, "solid"]];
    if (name) sides.push([name, points(side.curve), colours.blue, true, "solid"]);
    const option = overTime(colours, format.bytes, sides);
    const levels = [level(base.settled, colours.grey)];
    if (name && side.settled !== null) levels.push(level(side.settled, colours.blue));
    const moments = trims(colours, trim, points(side.curve).at(-1)?.seconds ?? 0, false);
    option.series.push(across(colours, [...levels, ...moments], { label: { show: false } }));
    return {
      height: 190,
      option: {
        ...option,
        grid: { ...option.grid, top: 12, left: 4, right: 12 },
        xAxis: { ...option.xAxis, min: 0, max: longest, splitNumber: 3 },
        yAxis: { ...option.yAxis, ...binaryScale(most) },
      },
      columns: ["curve", "seconds", "bytes"],
      rows: sides.flatMap(([of, held]) => held.map((point) => [of, point.seconds, point.bytes])),
    };
  };

  Object.assign(figures.kinds, { remedy });
})();
