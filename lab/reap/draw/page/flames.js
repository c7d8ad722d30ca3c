// Flame graphs of whole stacks, drawn by d3-flame-graph: what to show, inverted or not, search, keys, themes.
// Names of functions are those of the measured program: they reach the document as text and attributes alone.
const flames = (() => {
  const drawn = [];

  const show = { bytes: format.bytes, peak: format.bytes, "live-at-exit": format.bytes };

  // Puts children in order, largest first, and drops those without a share.
  const sorted = (box, least) => {
    box.children = [...box.children.values()].filter((child) => child.value > 0 && child.value >= least);
    box.children.sort((a, b) => b.value - a.value);
    for (const child of box.children) sorted(child, least);
    return box;
  };

  const below = (box, name, value, delta) => {
    if (!box.children.has(name)) box.children.set(name, { name, value: 0, delta: 0, children: new Map() });
    const child = box.children.get(name);
    child.value += value;
    child.delta += delta;
    return child;
  };

  // The boxes of a measure. Inverted, each stack begins at the function that allocates; what was not worth a
  // box of its own in the data is not worth one here. `held` has `own`, or of a comparison `before` and
  // `after`: the width of a box is then one of the two, and its delta how much more the second is.
  // Functions in `hidden` have no boxes.
  const tree = (held, measure, widths, inverted, hidden) => {
    const root = { name: "all", value: 0, delta: 0, children: new Map() };
    widths.forEach((value, node) => {
      const delta = held.own ? 0 : held.after[measure][node] - held.before[measure][node];
      if (value <= 0 && delta === 0) return;
      const path = [];
      for (let at = node; at >= 0; at = held.parents[at]) {
        if (!hidden.has(held.at[at])) path.push(held.functions[held.at[at]]);
      }
      root.value += value;
      root.delta += delta;
      let box = root;
      for (const name of inverted ? path : path.reverse()) box = below(box, name, value, delta);
    });
    return sorted(root, inverted ? held.least * root.value : 0);
  };

  // The same function has the same colour everywhere; words stay legible on it in both themes.
  const colour = (name, dark) => {
    let hash = 0;
    for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
    const [hue, light] = [18 + (hash % 30), ((hash >>> 8) % 10) - 5];
    return dark ? `hsl(${hue} 45% ${30 + light}%)` : `hsl(${hue} 80% ${76 + light}%)`;
  };

  // Red for more and blue for less, stronger the nearer a change is to the largest; grey for none.
  const compared = (delta, largest, dark) => {
    if (delta === 0 || largest === 0) return dark ? "hsl(0 0% 28%)" : "hsl(0 0% 90%)";
    const [hue, part] = [delta > 0 ? 4 : 214, Math.sqrt(Math.min(1, Math.abs(delta) / largest))];
    return dark ? `hsl(${hue} 60% ${24 + 14 * part}%)` : `hsl(${hue} 85% ${94 - 24 * part}%)`;
  };

  const change = (box) => Math.max(Math.abs(box.delta), ...box.children.map(change));

  const attach = (figure, isDark) => {
    const answer = reapReport.report.answers[Number(figure.dataset.answer)];
    const held = (answer[figure.dataset.compared] ?? answer).flame;
    const find = (selector) => figure.querySelector(selector);
    const [boxes, measure, inverted] = [find(".boxes"), find(".measure"), find(".inverted")];
    const [search, found, pointed] = [find(".search"), find(".found"), find(".pointed")];
    const [earlier, hide, upwards, thread] = [
      find(".earlier"),
      find(".hide"),
      find(".upwards"),
      find(".thread"),
    ];
    const span = { from: 0, to: held.slices?.count ?? 0 };
    let whole = 0;
    let largest = 0;
    let zoomed = null;

    const said = (box) => {
      const shown = show[measure.value] ?? format.count;
      const { name, value, delta } = box.data;
      const share = `${name}: ${format.percent(whole > 0 ? value / whole : 0)} (${shown(value)})`;
      if (held.own) return share;
      return `${share}, ${delta === 0 ? "unchanged" : `${delta > 0 ? "+" : "-"}${shown(Math.abs(delta))}`}`;
    };
    const chart = flamegraph
      .default()
      .width(boxes.clientWidth)
      .cellHeight(20)
      .inverted(true)
      .transitionDuration(0)
      .minFrameSize(0.5)
      .resetHeightOnZoom(true)
      .setLabelHandler(said)
      .setDetailsHandler((text) => {
        pointed.textContent = text ?? (zoomed ? said(zoomed) : "");
      })
      .setColorMapper((box) => {
        if (box.highlight) return figures.css("--violet");
        return held.own ? colour(box.data.name, isDark()) : compared(box.data.delta, largest, isDark());
      })
      .setSearchMatch((box, word) => box.data.name.toLowerCase().includes(word.toLowerCase()))
      .setSearchHandler((results, sum, total) => {
        const names = new Set(results.map((box) => box.data.name));
        const share = format.percent(total > 0 ? sum / total : 0);
        found.textContent = `${names.size} function${names.size === 1 ? "" : "s"}, ${share}`;
      })
      .onClick((box) => {
        zoomed = box;
        pointed.textContent = said(box);
        tidy();
      });

    const frames = () => [...boxes.querySelectorAll("g.frame")];
    const boxOf = (frame) => d3.select(frame).datum();
    const frameOf = (box) => frames().find((frame) => boxOf(frame) === box);

    // What was allocated in the whole time by all threads is in the data; parts of it are added up.
    const widths = () => {
      const of = thread?.value ?? "";
      if (held.slices && (of !== "" || span.from > 0 || span.to < held.slices.count)) {
        return slices.own(held.slices, held.parents.length, measure.value, span.from, span.to, of);
      }
      return (held.own ?? (earlier?.checked ? held.before : held.after))[measure.value];
    };

    // One box can be reached by the Tab key, the others from there by arrow keys.
    const tidy = () => {
      const all = frames();
      const rows = 1 + Math.max(0, ...all.map((frame) => boxOf(frame).depth));
      const svg = boxes.querySelector("svg");
      // From the bottom up, the library leaves rows free above the highest box.
      const free = chart.inverted() ? 0 : Number(svg.getAttribute("height")) - rows * chart.cellHeight();
      if (chart.inverted()) svg.setAttribute("height", String(rows * chart.cellHeight()));
      svg.style.marginTop = `${-free}px`;
      const reached = all.find((frame) => frame === document.activeElement) ?? all[0];
      for (const frame of all) {
        const box = boxOf(frame);
        frame.setAttribute("role", "button");
        frame.setAttribute("aria-label", said(box));
        frame.setAttribute("tabindex", frame === reached ? "0" : "-1");
        frame.classList.toggle("hit", Boolean(box.highlight));
      }
    };

    const draw = () => {
      const hidden = new Set(hide?.checked ? held.runtime : []);
      const data = tree(held, measure.value, widths(), inverted.checked, hidden);
      whole = data.value;
      largest = change(data);
      zoomed = null;
      pointed.textContent = "";
      if (boxes.firstChild) chart.update(data);
      else d3.select(boxes).datum(data).call(chart);
      look();
    };

    const look = () => {
      if (search.value) {
        chart.search(search.value);
      } else {
        chart.clear();
        found.textContent = "";
      }
      tidy();
    };

    const reset = () => {
      chart.resetZoom();
      zoomed = null;
      pointed.textContent = "";
      tidy();
    };

    const go = (from, to) => {
      const frame = to && frameOf(to);
      if (!frame) return;
      from.setAttribute("tabindex", "-1");
      frame.setAttribute("tabindex", "0");
      frame.focus();
    };
    const beside = (box, step) => box.parent?.children[box.parent.children.indexOf(box) + step];
    boxes.addEventListener("keydown", (event) => {
      const frame = event.target.closest("g.frame");
      if (!frame) return;
      const box = boxOf(frame);
      const moves = {
        ArrowDown: () => go(frame, box.children?.[0]),
        ArrowUp: () => go(frame, box.parent),
        ArrowRight: () => go(frame, beside(box, 1)),
        ArrowLeft: () => go(frame, beside(box, -1)),
        Home: () => go(frame, boxOf(frames()[0])),
        Enter: () => chart.zoomTo(box),
        " ": () => chart.zoomTo(box),
        Escape: reset,
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    });
    boxes.addEventListener("focusin", (event) => {
      const frame = event.target.closest("g.frame");
      if (frame) pointed.textContent = said(boxOf(frame));
    });

    measure.addEventListener("change", draw);
    inverted.addEventListener("change", draw);
    for (const each of [earlier, hide, thread]) each?.addEventListener("change", draw);
    upwards?.addEventListener("change", () => {
      chart.inverted(!upwards.checked);
      draw();
    });
    search.addEventListener("input", look);
    find(".reset").addEventListener("click", reset);
    draw();
    const mark = held.slices
      ? brush.attach(find(".span"), reapReport.charts[figure.dataset.time], held.slices, (from, to) => {
          Object.assign(span, { from, to });
          draw();
        })
      : null;
    new ResizeObserver(() => {
      if (boxes.clientWidth === chart.width() || boxes.clientWidth === 0) return;
      chart.width(boxes.clientWidth).update();
      tidy();
    }).observe(boxes);
    drawn.push(() => {
      mark?.();
      chart.update();
      tidy();
    });
  };

  // With the colours of the theme as it is now.
  const redraw = () => {
    for (const each of drawn) each();
  };
  return { attach, redraw };
})();
