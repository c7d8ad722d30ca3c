// Time inside and outside the allocator.
(() => {
  const { tip, base, axis, legend, armsOf, armAxis } = figures;

  const split = (answer, _, colours) => {
    const arms = armsOf(answer).filter((arm) => arm.split);
    const part = (name, colour, of) => ({
      name,
      type: "bar",
      stack: "time",
      barCategoryGap: "22%",
      itemStyle: { color: colour },
      data: arms.map(of),
    });
    return {
      height: 84 + 24 * arms.length,
      option: {
        ...base(colours),
        legend: legend(colours, ["inside", "outside"]),
        tooltip: {
          ...base(colours).tooltip,
          trigger: "axis",
          axisPointer: { type: "shadow" },
          formatter: ([at]) => {
            const arm = arms[at.dataIndex];
            const { share, inside, outside, samples } = arm.split;
            return tip(`${arm.name}, ${arm.level}`, [
              ["inside", `${format.seconds(inside.value)} (${format.percent(share.value)})`],
              ["95 % CI", `${format.percent(share.low)} to ${format.percent(share.high)}`],
              ["outside", format.seconds(outside.value)],
              ["samples", String(samples)],
            ]);
          },
        },
        xAxis: axis(colours, { type: "value", axisLabel: { formatter: format.tick(format.seconds) } }),
        yAxis: armAxis(arms, colours),
        series: [
          part("inside", colours.orange, (arm) => arm.split.inside.value),
          part("outside", colours.blue, (arm) => arm.split.outside.value),
        ],
      },
      columns: [
        "allocator",
        "level",
        "seconds inside",
        "seconds outside",
        "share inside",
        "low",
        "high",
        "samples",
      ],
      rows: arms.map(({ name, level, split: held }) => [
        name,
        level,
        held.inside.value,
        held.outside.value,
        held.share.value,
        held.share.low,
        held.share.high,
        held.samples,
      ]),
    };
  };

  Object.assign(figures.kinds, { split });
})();
