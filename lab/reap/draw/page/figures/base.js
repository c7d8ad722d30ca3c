// What figures share. Each kind has a file of its own, which adds itself to `kinds`: a function of an answer, an
// option and the colours, which gives a chart's option and the rows of its table.
// Text from the measured program reaches the document as text nodes alone.
const figures = (() => {
  const kinds = {};

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

  // A tooltip of a heading and of named values, those of a third entry with a swatch of that colour.
  const tip = (heading, pairs) => {
    const box = document.createElement("div");
    box.className = "tip";
    const title = box.appendChild(document.createElement("strong"));
    title.textContent = heading;
    const list = box.appendChild(document.createElement("dl"));
    for (const [name, value, colour] of pairs) {
      const term = list.appendChild(document.createElement("dt"));
      term.textContent = name;
      if (colour) {
        const swatch = document.createElement("i");
        swatch.style.background = colour;
        term.prepend(swatch);
      }
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
    ["95 % CI", `${format.ratio(held.ratio.low)} to ${format.ratio(held.ratio.high)}`],
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

  const zoom = (colours) => [
    {
      type: "inside",
      zoomOnMouseWheel: "ctrl",
      moveOnMouseMove: false,
      moveOnMouseWheel: false,
      filterMode: "none",
    },
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

  // Tick marks of a scale of bytes fall on whole units.
  const binaryScale = (most) => {
    const top = Math.max(1, most);
    const unit = 1024 ** Math.floor(Math.log(top) / Math.log(1024));
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((s) => top / unit / s <= 6) ?? top / unit / 5;
    return { interval: step * unit, max: Math.ceil(top / unit / step) * step * unit };
  };

  const overTime = (colours, show, series) => ({
    ...base(colours),
    tooltip: {
      ...base(colours).tooltip,
      trigger: "axis",
      formatter: (at) =>
        tip(
          format.seconds(at[0].axisValue),
          at.map((p) => [p.seriesName, show(p.value[1])]),
        ),
    },
    xAxis: axis(colours, {
      type: "value",
      max: "dataMax",
      splitLine: { show: false },
      axisLabel: { formatter: format.tick(format.seconds) },
    }),
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

  // Areas that lie on each other, the first of `series` lowest, with `names` beside them, or above them on a
  // narrow screen.
  const stacked = (colours, series, names, highest, longest) => {
    const option = overTime(
      colours,
      format.bytes,
      series.map(([name, points, colour]) => [name, points, colour, true, "solid"]),
    );
    for (const each of option.series) {
      Object.assign(each, { stack: "all", lineStyle: { width: 0 } });
      each.areaStyle = { color: each.itemStyle.color, opacity: 0.85 };
    }
    const narrow = window.innerWidth < 560;
    const key = {
      orient: "vertical",
      formatter: (name) => format.shorten(name, 36),
      selectedMode: false,
      icon: "roundRect",
      ...(narrow ? {} : { left: "auto", right: 0, top: 8 }),
    };
    const room = 18 * names.length;
    return {
      height: narrow ? 280 + room : Math.max(340, room + 30),
      option: {
        ...option,
        grid: { ...option.grid, top: narrow ? room + 12 : 14, right: narrow ? 12 : 270 },
        legend: legend(colours, names, key),
        xAxis: { ...option.xAxis, min: 0, max: longest },
        yAxis: { ...option.yAxis, ...binaryScale(highest) },
      },
    };
  };

  // Style of lines across a chart of memory over time: those of settled memory are dashed.
  const horizontal = (colours) => ({
    silent: true,
    symbol: "none",
    animation: false,
    label: { show: true, position: "insideEndTop", formatter: "{b}", color: colours.ink },
    lineStyle: { color: colours.ink, type: "dashed", width: 1.5 },
  });

  // A series without points that has such lines.
  const across = (colours, lines, more = {}) => ({
    name: "",
    type: "line",
    data: [],
    markLine: { ...horizontal(colours), ...more, data: lines },
  });

  const MOST_TRIMS = 60;

  // A line at each moment at which the heaps were trimmed; where they would lie on each other, the first alone.
  const trims = (colours, trim, end, show = true) => {
    if (!trim || trim.first > end) return [];
    const number = trim.every ? Math.floor((end - trim.first) / trim.every) + 1 : 1;
    const often = trim.every ? `, every ${format.seconds(trim.every)}` : "";
    return Array.from({ length: number > MOST_TRIMS ? 1 : number }, (_, at) => ({
      xAxis: trim.first + at * trim.every,
      name: `malloc_trim${often}`,
      lineStyle: { color: colours.violet, type: "solid", width: 1 },
      label: { show: show && at === 0, position: "insideEndTop", color: colours.ink },
    }));
  };

  const bars = (colours, labels, series, more) => ({
    ...base(colours),
    tooltip: {
      ...base(colours).tooltip,
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: more.tip,
    },
    legend:
      series.length > 1
        ? legend(
            colours,
            series.map(([name]) => name),
            { selectedMode: "single" },
          )
        : undefined,
    xAxis: axis(colours, {
      type: "category",
      data: labels,
      splitLine: { show: false },
      axisLabel: { rotate: 45, interval: 0, fontSize: 11, hideOverlap: false },
    }),
    yAxis: axis(colours, more.value),
    series: series.map(([name, values, colour]) => ({
      name,
      type: "bar",
      barCategoryGap: "18%",
      itemStyle: { color: colour, borderRadius: [2, 2, 0, 0] },
      data: values,
    })),
  });

  // One bar an arm, the levels of one variant and allocator next to each other; a whisker is its interval.
  const armsOf = (answer) => {
    const held = answer.fragmented;
    const several = held.variants.length > 1;
    return held.arms
      .filter((arm) => !arm.problem && arm.normalised.cpu && arm.slowdown.cpu)
      .map((arm) => ({
        ...arm,
        name: `${several ? `${arm.variant} ` : ""}${arm.allocator}${arm.huge_pages === "on" ? ", huge" : ""}`,
      }));
  };

  const levelColour = (answer, level, colours) => {
    const scale = [colours.grey, colours.blue, colours.violet, colours.orange];
    const place = answer.fragmented.levels.findIndex((each) => each.name === level);
    return scale[Math.min(place, scale.length - 1)];
  };

  const armAxis = (arms, colours) =>
    axis(colours, {
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

  const build = (kind, answer, option) => kinds[kind](answer, option, palette());
  return {
    kinds,
    build,
    css,
    tip,
    base,
    ratioRows,
    verdictRow,
    lineAtOne,
    axis,
    legend,
    zoom,
    binaryScale,
    overTime,
    stacked,
    horizontal,
    across,
    trims,
    bars,
    armsOf,
    levelColour,
    armAxis,
  };
})();
