// What the boxes of a flame graph allocated over time and by thread. A row is a box and a thread; its values
// are pairs of a slice and a value, see Slices in show/records.py.
const slices = (() => {
  // A level holds until the next pair.
  const levelAt = (pairs, slice) => {
    let value = 0;
    for (let at = 0; at < pairs.length && pairs[at] <= slice; at += 2) value = pairs[at + 1];
    return value;
  };

  const levels = (pairs, count) => {
    const values = new Float64Array(count);
    for (let at = 0; at < pairs.length; at += 2) values.fill(pairs[at + 1], pairs[at]);
    return values;
  };

  // The rows of a thread; of all where it is empty.
  const rowsOf = (held, thread) =>
    held.box.map((_, row) => row).filter((row) => thread === "" || held.thread[row] === Number(thread));

  // In which of the slices from `from` until before `to` most was in use.
  const highest = (held, rows, from, to) => {
    const totals = new Float64Array(held.count);
    for (const row of rows) {
      for (const [slice, value] of levels(held.values.peak[row], held.count).entries())
        totals[slice] += value;
    }
    let best = from;
    for (let slice = from; slice < to; slice++) if (totals[slice] > totals[best]) best = slice;
    return best;
  };

  // What each box has of a measure in these slices.
  const own = (held, boxes, measure, from, to, thread) => {
    const found = new Array(boxes).fill(0);
    const rows = rowsOf(held, thread);
    const moment = measure === "peak" ? highest(held, rows, from, to) : 0;
    for (const row of rows) {
      const pairs = held.values[measure][row];
      if (measure === "peak") {
        found[held.box[row]] += levelAt(pairs, moment);
        continue;
      }
      for (let at = 0; at < pairs.length; at += 2) {
        if (pairs[at] >= from && pairs[at] < to) found[held.box[row]] += pairs[at + 1];
      }
    }
    return found;
  };

  // The function to which a box's allocations are attributed: the innermost that belongs to the program.
  const siteOf = (flame, box) => {
    const runtime = new Set(flame.runtime);
    let at = box;
    while (at >= 0 && runtime.has(flame.at[at])) at = flame.parents[at];
    return flame.functions[flame.at[at >= 0 ? at : box]];
  };

  // Bytes in use in each slice by site, those with most first; what is behind the first `most` is one.
  const sites = (flame, most) => {
    const held = flame.slices;
    const found = new Map();
    held.box.forEach((box, row) => {
      const name = siteOf(flame, box);
      if (!found.has(name)) found.set(name, new Float64Array(held.count));
      const sums = found.get(name);
      levels(held.values.peak[row], held.count).forEach((value, slice) => {
        sums[slice] += value;
      });
    });
    const ordered = [...found].map(([name, values]) => ({ name, values, top: Math.max(...values) }));
    ordered.sort((a, b) => b.top - a.top);
    const shown = ordered.slice(0, most).filter((site) => site.top > 0);
    const rest = ordered.slice(most);
    if (rest.some((site) => site.top > 0)) {
      const values = new Float64Array(held.count);
      for (const site of rest) for (const [slice, value] of site.values.entries()) values[slice] += value;
      shown.push({ name: `${format.count(rest.length)} other sites`, values, top: Math.max(...values) });
    }
    return shown;
  };
  return { own, sites };
})();
