// Every kind of figure: from an answer to a chart's option and to the rows of its table.
// Text from the measured program reaches the document as text nodes alone.
const figures = (() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const palette = () => ({
    ink: css("--ink"),
    muted: css("--muted"),
    line: css("--line"),
    surface: css("--surface"),
    blue: css("--blue"),
    orange: css("--orange"),
    grey: css("--grey"),
    violet: css("--violet"),
    band: css("--band"),
    font: css("--sans"),
  });

  // A tooltip of a heading and of named values.
  const tip = (heading, pairs) => {
    const box = document.createElement("div");
    box.className = "tip";
    const title = box.appendChild(document.createElement("strong"));
    title.textContent = heading;
    const list = box.appendChild(document.createElement("dl"));
    for (const [name, value] of pairs) {
      list.appendChild(document.createElement("dt")).textContent = name;
      list.appendChild(document.createElement("dd")).textContent = value;
    }
    return box;
  };

  const base = (colours) => ({
    animation: false,
    textStyle: { fontFamily: colours.font, color: colours.ink },
    tooltip: {
      confine: true,
      backgroundColor: colours.surface,
      borderColor: colours.line,
      textStyle: { color: colours.ink, fontSize: 13 },
      extraCssText: "box-shadow: 0 2px 10px rgb(0 0 0 / 18%); max-width: 22rem; white-space: normal;",
    },
    grid: { left: 8, right: 16, top: 34, bottom: 8, containLabel: true },
  });

  // What a tooltip says of a ratio with its interval.
  const ratioRows = (held) => [
    ["ratio", format.ratio(held.ratio.value)],
    ["95 % interval", `${format.ratio(held.ratio.low)} to ${format.ratio(held.ratio.high)}`],
  ];

  const verdictRow = (held) => ["that is", { better: "less", worse: "more" }[held.verdict] ?? held.verdict];

  // Where neither side is better.
  const lineAtOne = (colours) => ({
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: colours.ink, type: "solid", width: 1 },
    data: [{ xAxis: 1 }],
  });

  const axis = (colours, more) => ({
    axisLine: { lineStyle: { color: colours.line } },
    axisTick: { show: false },
    axisLabel: { color: colours.muted, hideOverlap: true, ...(more.axisLabel ?? {}) },
    splitLine: { lineStyle: { color: colours.line } },
    nameTextStyle: { color: colours.muted },
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "axisLabel")),
  });

  const legend = (colours, names, more = {}) => ({
    data: names,
    left: 0,
    top: 0,
    itemWidth: 18,
    itemHeight: 9,
    textStyle: { color: colours.ink },
    inactiveColor: colours.grey,
    ...more,
  });

  const forest = (answer, metric, colours) => {
    const comparison = answer.comparison;
    const whole = (held) => held && [held.low, held.value, held.high].every(Number.isFinite);
    const sides = comparison.sides.filter((side) => whole(side.ratios[metric]?.ratio));
    const trusted = (side) => side.verified && side.same_exit && side.same_output !== false && !side.problem;
    const names = sides.map((side) => (trusted(side) ? side.allocator : `${format.shorten(side.allocator, 12)} (!)`));
    const ratios = sides.map((side) => side.ratios[metric]);
    const noise = whole(comparison.noise[metric]?.ratio) ? comparison.noise[metric] : undefined;
    const colour = { better: colours.blue, worse: colours.orange, equivalent: colours.grey, inconclusive: colours.grey };
    const spread = [...ratios, ...(noise ? [noise] : [])].flatMap((r) => [r.ratio.low, r.ratio.high]);
    const low = Math.min(1, ...spread);
    const high = Math.max(1, ...spread);
    const room = Math.max((high - low) * 0.08, 0.005);
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50, 100].find((s) => (high - low + 2 * room) / s <= 5)
      ?? (high - low) / 4;
    const whiskers = ratios.map((held, index) => ({
      type: "line",
      data: [[held.ratio.low, index], [held.ratio.high, index]],
      symbol: "rect",
      symbolSize: [2, 11],
      lineStyle: { width: 2, color: colour[held.verdict] },
      itemStyle: { color: colour[held.verdict] },
      silent: true,
      tooltip: { show: false },
    }));
    const dots = {
      type: "scatter",
      symbolSize: 12,
      data: ratios.map((held, index) => ({
        value: [held.ratio.value, index],
        symbol: held.verdict === "better" ? "circle" : held.verdict === "worse" ? "diamond" : "emptyCircle",
        symbolSize: held.verdict === "worse" ? 15 : 12,
        itemStyle: { color: colour[held.verdict], opacity: 1 },
      })),
      markLine: lineAtOne(colours),
      markArea: noise
        ? { silent: true, itemStyle: { color: colours.band }, data: [[{ xAxis: noise.ratio.low }, { xAxis: noise.ratio.high }]] }
        : undefined,
      tooltip: {
        formatter: (at) => {
          const held = ratios[at.dataIndex];
          return tip(names[at.dataIndex], [
            ...ratioRows(held),
            ["median", `${format.unit(held.value, held.unit)} (${comparison.baseline}: ${format.unit(held.baseline, held.unit)})`],
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
          axisLabel: { formatter: (value) => String(Number(value.toFixed(2))) },
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
        names[index], held.ratio.value, held.ratio.low, held.ratio.high, held.value, held.baseline, held.verdict,
      ]),
    };
  };

  const zoom = (colours) => [
    { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false, filterMode: "none" },
    {
      type: "slider",
      height: 22,
      bottom: 10,
      filterMode: "none",
      borderColor: colours.line,
      fillerColor: colours.band,
      showDetail: false,
      brushSelect: false,
      moveHandleSize: 0,
      handleStyle: { color: colours.surface, borderColor: colours.grey },
      selectedDataBackground: { lineStyle: { color: colours.grey }, areaStyle: { color: colours.band } },
      textStyle: { color: colours.muted },
            dataBackground: { lineStyle: { color: colours.grey }, areaStyle: { color: colours.band } },
    },
  ];

  const overTime = (colours, show, series) => ({
    ...base(colours),
    tooltip: {
      ...base(colours).tooltip,
      trigger: "axis",
      formatter: (at) => tip(format.seconds(at[0].axisValue), at.map((p) => [p.seriesName, show(p.value[1])])),
    },
    xAxis: axis(colours, { type: "value", max: "dataMax", splitLine: { show: false }, axisLabel: { formatter: format.tick(format.seconds) } }),
    yAxis: axis(colours, { type: "value", axisLabel: { formatter: format.tick(show) } }),
    series: series.map(([name, points, colour, area, dash]) => ({
      name,
      type: "line",
      showSymbol: false,
      data: points.map((point) => [point.seconds, point.bytes]),
      lineStyle: { color: colour, width: 2, type: dash },
      itemStyle: { color: colour },
      areaStyle: area ? { color: colour, opacity: 0.16 } : undefined,
    })),
  });

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
      rows: [["live", live], ["resident", resident]].flatMap(([name, points]) =>
        points.map((point) => [name, point.seconds, point.bytes])),
    };
  };

  const rates = (answer, _, colours) => {
    const points = answer.profile.rates;
    const option = overTime(colours, format.count, [["allocations per second", points, colours.blue, true, "solid"]]);
    return {
      height: 230,
      option: { ...option, grid: { ...option.grid, top: 14, bottom: 44 }, dataZoom: zoom(colours) },
      columns: ["seconds", "allocations per second"],
      rows: points.map((point) => [point.seconds, point.bytes]),
    };
  };

  const bars = (colours, labels, series, more) => ({
    ...base(colours),
    tooltip: { ...base(colours).tooltip, trigger: "axis", axisPointer: { type: "shadow" }, formatter: more.tip },
    legend: series.length > 1 ? legend(colours, series.map(([name]) => name), { selectedMode: "single" }) : undefined,
    xAxis: axis(colours, { type: "category", data: labels, splitLine: { show: false }, axisLabel: { rotate: 45, interval: 0, fontSize: 11, hideOverlap: false } }),
    yAxis: axis(colours, more.value),
    series: series.map(([name, values, colour]) => ({
      name,
      type: "bar",
      barCategoryGap: "18%",
      itemStyle: { color: colour, borderRadius: [2, 2, 0, 0] },
      data: values,
    })),
  });

  const sizes = (answer, _, colours) => {
    const bins = answer.profile.sizes;
    const used = bins.slice(0, bins.findLastIndex((bin) => bin.objects > 0) + 1);
    const positive = (value) => (value > 0 ? value : null); // a log scale has no place for 0
    return {
      height: 320,
      option: bars(
        colours,
        used.map((bin) => `≤ ${format.tick(format.bytes)(bin.high)}`),
        [
          ["objects", used.map((bin) => positive(bin.objects)), colours.blue],
          ["bytes", used.map((bin) => positive(bin.bytes)), colours.orange],
        ],
        {
          value: { type: "log", min: 0.5, axisLabel: { formatter: (value) => (value < 1 ? "" : format.tick(format.count)(value)) } },
          tip: ([at]) => {
            const bin = used[at.dataIndex];
            return tip(`${bin.low} to ${bin.high} bytes`, [["objects", format.count(bin.objects)], ["bytes", format.bytes(bin.bytes)]]);
          },
        },
      ),
      columns: ["from bytes", "to bytes", "objects", "bytes"],
      rows: bins.map((bin) => [bin.low, bin.high, bin.objects, bin.bytes]),
    };
  };

  const lifetimes = (answer, _, colours) => {
    const bins = answer.profile.lifetimes;
    const all = { objects: 0, bytes: 0 };
    for (const bin of bins) {
      all.objects += bin.objects;
      all.bytes += bin.bytes;
    }
    const part = (bin, what) => (all[what] > 0 ? bin[what] / all[what] : 0);
    const label = (bin) => (bin.high === null ? "never freed" : `< ${format.tick(format.seconds)(bin.high)}`);
    return {
      height: 320,
      option: bars(
        colours,
        bins.map(label),
        [
          ["objects", bins.map((bin) => part(bin, "objects")), colours.blue],
          ["bytes", bins.map((bin) => part(bin, "bytes")), colours.orange],
        ],
        {
          value: { type: "value", axisLabel: { formatter: format.tick(format.percent) } },
          tip: ([at]) => {
            const bin = bins[at.dataIndex];
            const span = bin.high === null ? "never freed" : `${format.seconds(bin.low)} to ${format.seconds(bin.high)}`;
            return tip(span, [
              ["objects", `${format.count(bin.objects)} (${format.percent(part(bin, "objects"))})`],
              ["bytes", `${format.bytes(bin.bytes)} (${format.percent(part(bin, "bytes"))})`],
            ]);
          },
        },
      ),
      columns: ["from seconds", "to seconds (empty: never freed)", "objects", "bytes"],
      rows: bins.map((bin) => [bin.low, bin.high, bin.objects, bin.bytes]),
    };
  };

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
        legend: legend(colours, measures.map(([name]) => name), { selectedMode: "single" }),
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
          axisLabel: { color: colours.ink, interval: 0, formatter: (name) => format.shorten(name, narrow ? 18 : 40) },
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
      rows: all.map((site) => [site.function, site.location, site.module, site.objects, site.bytes, site.temporary, site.live_at_peak]),
    };
  };

  // One bar an arm, the levels of one variant and allocator next to each other; a whisker is its interval.
  const armsOf = (answer) => {
    const held = answer.fragmented;
    const several = held.variants.length > 1;
    return held.arms
      .filter((arm) => !arm.problem && arm.normalised.cpu && arm.slowdown.cpu)
      .map((arm) => ({ ...arm, name: `${several ? `${arm.variant} ` : ""}${arm.allocator}${arm.huge_pages === "on" ? ", huge" : ""}` }));
  };

  const levelColour = (answer, level, colours) => {
    const scale = [colours.grey, colours.blue, colours.violet, colours.orange];
    const place = answer.fragmented.levels.findIndex((each) => each.name === level);
    return scale[Math.min(place, scale.length - 1)];
  };

  const armAxis = (arms, colours) => axis(colours, {
    type: "category",
    inverse: true,
    data: arms.map((_, index) => index),
    splitLine: { show: false },
    axisLabel: {
      color: colours.ink,
      interval: 0,
      formatter: (index) => {
        const { name, level } = arms[Number(index)];
        const first = Number(index) === 0 || arms[Number(index) - 1].name !== name;
        return first ? `${format.shorten(name, 24)}  ${level}` : level;
      },
    },
  });

  const levels = (answer, field, colours) => {
    const arms = armsOf(answer).filter((arm) => arm[field].cpu && Number.isFinite(arm[field].cpu.ratio.value));
    const ratios = arms.map((arm) => arm[field].cpu);
    const whiskers = ratios.map((held, index) => ({
      type: "line",
      data: [[held.ratio.low, index], [held.ratio.high, index]],
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
        arm.name, arm.level, ratios[index].ratio.value, ratios[index].ratio.low, ratios[index].ratio.high, ratios[index].verdict,
      ]),
    };
  };

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
              ["95 % interval", `${format.percent(share.low)} to ${format.percent(share.high)}`],
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
      columns: ["allocator", "level", "seconds inside", "seconds outside", "share inside", "low", "high", "samples"],
      rows: arms.map(({ name, level, split: held }) => [
        name, level, held.inside.value, held.outside.value, held.share.value, held.share.low, held.share.high, held.samples,
      ]),
    };
  };

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
      ["instructions", colours.grey, (arm) => arm.misses.instructions / Math.max(own(arm).misses.instructions, 1)],
    ];
    return {
      height: 84 + 56 * shown.length,
      option: {
        ...base(colours),
        legend: legend(colours, parts.map(([name]) => name)),
        grid: { ...base(colours).grid, top: 58 },
        tooltip: {
          ...base(colours).tooltip,
          trigger: "axis",
          axisPointer: { type: "shadow" },
          formatter: ([at]) => {
            const arm = shown[at.dataIndex];
            return tip(`${arm.name}, ${arm.level}`, parts.map(([name, , of]) => [name, `${format.ratio(of(arm))} times`]));
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
      columns: ["allocator", "level", "instructions", "accesses", "first-level misses", "last-level misses", "translations", "CPU seconds"],
      rows: arms.map((arm) => [
        arm.name, arm.level, arm.misses.instructions, arm.misses.accesses, arm.misses.first, arm.misses.last, arm.misses.tlb, arm.cpu,
      ]),
    };
  };

  const litter = (answer, _, colours) => {
    const { sizes: counts } = answer.fragmented.profile;
    const bins = [];
    for (const [size, objects] of counts) {
      const place = size < 2 ? 0 : Math.ceil(Math.log2(size));
      for (let each = bins.length; each <= place; each += 1) bins.push({ high: 2 ** each, objects: 0 });
      bins[place].objects += objects;
    }
    const used = bins.slice(Math.max(bins.findIndex((bin) => bin.objects > 0), 0));
    return {
      height: 300,
      option: bars(
        colours,
        used.map((bin) => `≤ ${format.tick(format.bytes)(bin.high)}`),
        [["objects", used.map((bin) => (bin.objects > 0 ? bin.objects : null)), colours.blue]],
        {
          value: { type: "log", min: 0.5, axisLabel: { formatter: (value) => (value < 1 ? "" : format.tick(format.count)(value)) } },
          tip: ([at]) => tip(`up to ${used[at.dataIndex].high} bytes`, [["objects", format.count(used[at.dataIndex].objects)]]),
        },
      ),
      columns: ["size", "objects"],
      rows: counts,
    };
  };

  const kinds = { forest, memory, rates, sizes, lifetimes, sites, levels, split, misses, litter };
  const build = (kind, answer, option) => kinds[kind](answer, option, palette());
  return { build };
})();
