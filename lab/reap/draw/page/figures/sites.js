// Allocation sites.
(() => {
  const { tip, base, axis, legend } = figures;

  const sites = (answer, _, colours) => {
    const { sites: all, totals } = answer.profile;
    const shown = all.slice(0, 12);
    const part = (value, whole) => (whole > 0 ? Math.min(1, value / whole) : 0);
    const peak = totals.max_bytes.value;
    const measures = [
      ["bytes", shown.map((site) => part(site.bytes, totals.total_bytes)), colours.blue],
      ["objects", shown.map((site) => part(site.objects, totals.total_objects)), colours.orange],
      ["live at peak", shown.map((site) => part(site.live_at_peak, peak)), colours.violet],
    ];
    const narrow = window.innerWidth < 560;
    return {
      height: 84 + 26 * shown.length,
      option: {
        ...base(colours),
        legend: legend(
          colours,
          measures.map(([name]) => name),
          { selectedMode: "single" },
        ),
        tooltip: {
          ...base(colours).tooltip,
          trigger: "axis",
          axisPointer: { type: "shadow" },
          formatter: ([at]) => {
            const site = shown[at.dataIndex];
            return tip(site.function || site.location, [
              ["at", site.location],
              ["bytes", `${format.bytes(site.bytes)} (${format.percent(measures[0][1][at.dataIndex])})`],
              ["objects", `${format.count(site.objects)} (${format.percent(measures[1][1][at.dataIndex])})`],
              ["temporary", format.percent(part(site.temporary, site.objects))],
              ["live at peak", format.bytes(site.live_at_peak)],
            ]);
          },
        },
        xAxis: axis(colours, { type: "value", axisLabel: { formatter: format.tick(format.percent) } }),
        yAxis: axis(colours, {
          type: "category",
          inverse: true,
          data: shown.map((site) => site.function || site.location),
          axisLine: { show: false },
          axisLabel: {
            color: colours.ink,
            interval: 0,
            formatter: (name) => format.shorten(name, narrow ? 18 : 40),
          },
        }),
        series: measures.map(([name, values, colour]) => ({
          name,
          type: "bar",
          barCategoryGap: "28%",
          itemStyle: { color: colour, borderRadius: [0, 2, 2, 0] },
          data: values,
        })),
      },
      wide: true,
      columns: ["function", "location", "module", "objects", "bytes", "temporary", "live at peak"],
      rows: all.map((site) => [
        site.function,
        site.location,
        site.module,
        site.objects,
        site.bytes,
        site.temporary,
        site.live_at_peak,
      ]),
    };
  };

  Object.assign(figures.kinds, { sites });
})();
