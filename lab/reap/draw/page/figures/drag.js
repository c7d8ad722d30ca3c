// Bytes in use over bytes allocated: what was needed, and on it what each site held after its last use.
(() => {
  const { stacked, tip, binaryScale } = figures;
  const MOST = 3;
  const MOST_LETTERS = 36; // beside a chart

  // A level of an exact run, or a process of a sampled one: by its place in an answer, or as it is on a page of
  // its own. `early` is the level without what is accessed only to be freed.
  const chosen = (answer, place) => {
    if (!place) return answer;
    const [process, level, early] = place.split("_");
    const held = answer.drag.processes[Number(process)].levels[Number(level)];
    return early ? held.before_free : held;
  };

  const nameOf = ({ function: name, location, share }) => {
    const place = location.split("/").pop();
    const where = /:\d+$/.test(place) ? ` (${format.shorten(place, 14)})` : "";
    const part = ` ${format.percent(share)}`;
    return `${format.shorten(name, MOST_LETTERS - where.length - part.length)}${where}${part}`;
  };

  const layersOf = (level, colours) => {
    const { curve, sites } = level;
    // By chance a sample can seem to have been used for longer than it lived.
    const needed = curve.map((point) => Math.min(point.live, point.needed));
    const shown = sites.filter((site) => site.dragged).slice(0, MOST);
    const by = [colours.orange, colours.violet, "#cc79a7"];
    const layers = shown.map((site, index) => ({
      name: nameOf(site),
      bytes: site.dragged,
      colour: by[index],
    }));
    // A name stands for one layer.
    for (const [index, layer] of layers.entries())
      if (layers.slice(0, index).some((each) => each.name === layer.name)) layer.name += ` (${index + 1})`;
    const others = curve.map((point, at) =>
      Math.max(0, point.live - needed[at] - shown.reduce((sum, site) => sum + site.dragged[at], 0)),
    );
    // Sums of doubles: what is left may be next to nothing.
    const rest = 1 - shown.reduce((sum, site) => sum + site.share, 0);
    if (shown.length === 0) layers.push({ name: "dragged", bytes: others, colour: colours.orange });
    else if (rest > 0.0005)
      layers.push({
        name: `all others ${format.percent(rest)}`,
        bytes: others,
        colour: colours.grey,
      });
    return { needed: { name: "needed", bytes: needed, colour: colours.blue }, layers };
  };

  const drag = (answer, option, colours) => {
    const [what, place] = option.split("-");
    const level = chosen(answer, place);
    const { needed, layers } = layersOf(level, colours);
    const shown = what === "alone" ? layers : [needed, ...layers];
    const allocated = level.total?.bytes ?? level.allocated;
    const width = allocated / level.curve.length;
    // Each stretch from its begin on; the last has an end, too.
    const points = ({ bytes }) => bytes.map((size, at) => ({ seconds: at * width, bytes: size }));
    const toEnd = ({ bytes }) => [...points({ bytes }), { seconds: allocated, bytes: bytes.at(-1) }];
    const sums = level.curve.map((_, at) => shown.reduce((sum, layer) => sum + layer.bytes[at], 0));
    const known = what !== "alone" && level.curve[0].most_live !== undefined;
    const most = known ? level.curve.map((point) => point.most_live) : null;
    const topmost = [...shown].reverse();
    const { height, option: made } = stacked(
      colours,
      shown.map((layer) => [layer.name, toEnd(layer), layer.colour]),
      topmost.map((layer) => layer.name),
      Math.max(...(most ?? sums)),
      allocated,
    );
    for (const each of made.series) each.step = "end";
    made.legend.formatter = (name) => name; // short as it is
    made.xAxis.axisLabel = { ...made.xAxis.axisLabel, formatter: format.tick(format.bytes) };
    const { interval } = binaryScale(allocated);
    Object.assign(made.xAxis, { interval, name: "allocated", nameLocation: "middle", nameGap: 28 });
    made.grid.bottom = 30;
    made.tooltip.formatter = ([{ dataIndex }]) => {
      const at = Math.min(dataIndex, level.curve.length - 1);
      return tip(`from ${format.bytes(at * width)} to ${format.bytes((at + 1) * width)}`, [
        ...(most ? [["most in use", format.bytes(most[at])]] : []),
        ...topmost.map((layer) => [layer.name, format.bytes(layer.bytes[at]), layer.colour]),
      ]);
    };
    if (most)
      made.series.push({
        name: "most in use",
        type: "line",
        step: "end",
        showSymbol: false,
        silent: true,
        lineStyle: { color: colours.ink, width: 1 },
        itemStyle: { color: colours.ink },
        data: toEnd({ bytes: most }).map((point) => [point.seconds, point.bytes]),
      });
    return {
      height,
      option: made,
      columns: ["layer", "bytes allocated", "bytes"],
      rows: shown.flatMap((layer) => points(layer).map((point) => [layer.name, point.seconds, point.bytes])),
    };
  };

  Object.assign(figures.kinds, { drag });
})();
