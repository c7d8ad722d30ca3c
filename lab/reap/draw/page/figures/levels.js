// Ratios of every arm at every level of fragmentation.
(() => {
  const { tip, base, ratioRows, verdictRow, lineAtOne, axis, armsOf, levelColour, armAxis } = figures;

  const levels = (answer, field, colours) => {
    const arms = armsOf(answer).filter(
      (arm) => arm[field].cpu && Number.isFinite(arm[field].cpu.ratio.value),
    );
    const ratios = arms.map((arm) => arm[field].cpu);
    const whiskers = ratios.map((held, index) => ({
      type: "line",
      data: [
        [held.ratio.low, index],
        [held.ratio.high, index],
      ],
      symbol: "rect",
      symbolSize: [2, 9],
      lineStyle: { width: 2, color: colours.ink },
      itemStyle: { color: colours.ink },
      silent: true,
      tooltip: { show: false },
    }));
    const bar = {
      type: "bar",
      barCategoryGap: "22%",
      data: ratios.map((held, index) => ({
        value: held.ratio.value,
        itemStyle: { color: levelColour(answer, arms[index].level, colours), borderRadius: [0, 2, 2, 0] },
      })),
      markLine: lineAtOne(colours),
      tooltip: {
        formatter: (at) => {
          const [arm, held] = [arms[at.dataIndex], ratios[at.dataIndex]];
          return tip(`${arm.name}, ${arm.level}`, [
            ...ratioRows(held),
            ["CPU time", format.seconds(arm.cpu)],
            verdictRow(held),
          ]);
        },
      },
    };
    return {
      height: 60 + 24 * arms.length,
      option: {
        ...base(colours),
        tooltip: { ...base(colours).tooltip, trigger: "item" },
        grid: { left: 8, right: 18, top: 8, bottom: 8, containLabel: true },
        xAxis: axis(colours, { type: "value", min: 0 }),
        yAxis: armAxis(arms, colours),
        series: [bar, ...whiskers],
      },
      columns: ["allocator", "level", "ratio", "low", "high", "verdict"],
      rows: arms.map((arm, index) => [
        arm.name,
        arm.level,
        ratios[index].ratio.value,
        ratios[index].ratio.low,
        ratios[index].ratio.high,
        ratios[index].verdict,
      ]),
    };
  };

  Object.assign(figures.kinds, { levels });
})();
