// Cache misses of every arm.
(() => {
  const { tip, base, lineAtOne, axis, legend, armsOf, armAxis } = figures;

  // Figure 3: misses and time rise together, instructions stay.
  const misses = (answer, _, colours) => {
    const clean = answer.fragmented.levels[0].name;
    const arms = armsOf(answer).filter((arm) => arm.misses);
    const own = (arm) => arms.find((each) => each.name === arm.name && each.level === clean);
    const shown = arms.filter((arm) => arm.level !== clean && own(arm));
    const parts = [
      ["CPU time", colours.orange, (arm) => arm.slowdown.cpu.ratio.value],
      ["last-level misses", colours.violet, (arm) => arm.misses.last / Math.max(own(arm).misses.last, 1)],
      ["first-level misses", colours.blue, (arm) => arm.misses.first / Math.max(own(arm).misses.first, 1)],
      [
        "instructions",
        colours.grey,
        (arm) => arm.misses.instructions / Math.max(own(arm).misses.instructions, 1),
      ],
    ];
    return {
      height: 84 + 56 * shown.length,
      option: {
        ...base(colours),
        legend: legend(
          colours,
          parts.map(([name]) => name),
        ),
        grid: { ...base(colours).grid, top: 58 },
        tooltip: {
          ...base(colours).tooltip,
          trigger: "axis",
          axisPointer: { type: "shadow" },
          formatter: ([at]) => {
            const arm = shown[at.dataIndex];
            return tip(
              `${arm.name}, ${arm.level}`,
              parts.map(([name, , of]) => [name, `${format.ratio(of(arm))} times`]),
            );
          },
        },
        xAxis: axis(colours, { type: "value", min: 0 }),
        yAxis: armAxis(shown, colours),
        series: parts.map(([name, colour, of], index) => ({
          name,
          type: "bar",
          barCategoryGap: "22%",
          barGap: "0%",
          itemStyle: { color: colour, borderRadius: [0, 2, 2, 0] },
          data: shown.map(of),
          markLine: index > 0 ? undefined : lineAtOne(colours),
        })),
      },
      columns: [
        "allocator",
        "level",
        "instructions",
        "accesses",
        "first-level misses",
        "last-level misses",
        "translations",
        "CPU seconds",
      ],
      rows: arms.map((arm) => [
        arm.name,
        arm.level,
        arm.misses.instructions,
        arm.misses.accesses,
        arm.misses.first,
        arm.misses.last,
        arm.misses.tlb,
        arm.cpu,
      ]),
    };
  };

  Object.assign(figures.kinds, { misses });
})();
