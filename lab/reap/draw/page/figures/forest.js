// Ratios of every arm with their confidence intervals, and the noise.
(() => {
  const { tip, base, ratioRows, verdictRow, lineAtOne, axis } = figures;

  const forest = (answer, metric, colours) => {
    const comparison = answer.comparison;
    const whole = (held) => held && [held.low, held.value, held.high].every(Number.isFinite);
    const sides = comparison.sides.filter((side) => whole(side.ratios[metric]?.ratio));
    const trusted = (side) => side.verified && side.same_exit && side.same_output !== false && !side.problem;
    const names = sides.map((side) =>
      trusted(side) ? side.allocator : `${format.shorten(side.allocator, 12)} (!)`,
    );
    const ratios = sides.map((side) => side.ratios[metric]);
    const noise = whole(comparison.noise[metric]?.ratio) ? comparison.noise[metric] : undefined;
    const colour = {
      better: colours.blue,
      worse: colours.orange,
      equivalent: colours.grey,
      inconclusive: colours.grey,
    };
    // As far as the baseline differs from itself is no difference, whatever the interval says.
    const verdict = (held) =>
      noise && noise.ratio.low <= held.ratio.value && held.ratio.value <= noise.ratio.high
        ? "equivalent"
        : held.verdict;
    const spread = [...ratios, ...(noise ? [noise] : [])].flatMap((r) => [r.ratio.low, r.ratio.high]);
    const low = Math.min(1, ...spread);
    const high = Math.max(1, ...spread);
    const room = Math.max((high - low) * 0.08, 0.005);
    const step =
      [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 100].find((s) => (high - low + 2 * room) / s <= 5) ??
      (high - low) / 4;
    const whiskers = ratios.map((held, index) => ({
      type: "line",
      data: [
        [held.ratio.low, index],
        [held.ratio.high, index],
      ],
      symbol: "rect",
      symbolSize: [2, 11],
      lineStyle: { width: 2, color: colour[verdict(held)] },
      itemStyle: { color: colour[verdict(held)] },
      silent: true,
      tooltip: { show: false },
    }));
    const dots = {
      type: "scatter",
      symbolSize: 12,
      data: ratios.map((held, index) => ({
        value: [held.ratio.value, index],
        symbol: verdict(held) === "better" ? "circle" : verdict(held) === "worse" ? "diamond" : "emptyCircle",
        symbolSize: verdict(held) === "worse" ? 15 : 12,
        itemStyle: { color: colour[verdict(held)], opacity: 1 },
      })),
      markLine: lineAtOne(colours),
      markArea: noise
        ? {
            silent: true,
            itemStyle: { color: colours.band },
            data: [[{ xAxis: noise.ratio.low }, { xAxis: noise.ratio.high }]],
          }
        : undefined,
      tooltip: {
        formatter: (at) => {
          const held = ratios[at.dataIndex];
          return tip(names[at.dataIndex], [
            ...ratioRows(held),
            [
              "median",
              `${format.unit(held.value, held.unit)} (${comparison.baseline}: ${format.unit(held.baseline, held.unit)})`,
            ],
            ["rounds", String(held.pairs.length)],
            verdictRow(held),
          ]);
        },
      },
    };
    return {
      height: 74 + 34 * sides.length,
      option: {
        ...base(colours),
        tooltip: { ...base(colours).tooltip, trigger: "item" },
        grid: { left: 8, right: 18, top: 8, bottom: 26, containLabel: true },
        xAxis: axis(colours, {
          type: "value",
          min: Math.max(0, Math.floor((low - room) / step) * step), // no ratio is below nothing
          max: Math.ceil((high + room) / step) * step,
          interval: step,
          name: `ratio to ${format.shorten(comparison.baseline, 14)}; below 1 is less`,
          nameLocation: "middle",
          nameGap: 26,
          axisLabel: { formatter: format.tick(format.ratio) },
        }),
        yAxis: axis(colours, {
          type: "category",
          data: names,
          inverse: true,
          splitLine: { show: false },
          axisLine: { show: false },
          axisLabel: { color: colours.ink, formatter: (name) => format.shorten(name, 16) },
        }),
        series: [...whiskers, dots],
      },
      columns: ["allocator", "ratio", "low", "high", "median", "median of baseline", "verdict"],
      rows: ratios.map((held, index) => [
        names[index],
        held.ratio.value,
        held.ratio.low,
        held.ratio.high,
        held.value,
        held.baseline,
        held.verdict,
      ]),
    };
  };

  Object.assign(figures.kinds, { forest });
})();
