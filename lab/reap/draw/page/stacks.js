// The boxes of a flame graph. A box has the stacks that lead through it, and gets what is inside of it when
// that is asked for: a recording may have tens of thousands, of which a screen shows some hundreds.
const stacks = (() => {
  // Nothing narrower is drawn, in pixels.
  const LEAST = 0.5;

  const box = (name, parent) => ({
    name,
    parent,
    value: 0,
    delta: 0,
    nodes: [],
    values: [],
    deltas: [],
    children: null,
  });

  const put = (to, node, value, delta) => {
    to.nodes.push(node);
    to.values.push(value);
    to.deltas.push(delta);
    to.value += value;
    to.delta += delta;
  };

  // Of each node what it and its callees have. A node comes after its parent.
  const inclusive = (parents, own) => {
    const totals = Float64Array.from(own);
    for (let node = totals.length - 1; node >= 0; node--) {
      if (parents[node] >= 0) totals[parents[node]] += totals[node];
    }
    return totals;
  };

  // From the outermost function on: a node's children, and in place of those that are hidden theirs.
  const callees = (held, own, changes, hidden) => {
    const { parents, at } = held;
    const count = parents.length;
    const [totals, deltas] = [inclusive(parents, own), inclusive(parents, changes)];
    const first = new Int32Array(count + 1).fill(-1); // the last is of those without a parent
    const next = new Int32Array(count);
    for (let node = count - 1; node >= 0; node--) {
      const parent = parents[node] < 0 ? count : parents[node];
      next[node] = first[parent];
      first[parent] = node;
    }
    const each = (node, add) => {
      for (let child = first[node]; child >= 0; child = next[child]) {
        if (hidden.has(at[child])) each(child, add);
        else add(child, totals[child], deltas[child]);
      }
    };
    return (of, add) => {
      for (const node of of.parent ? of.nodes : [count]) each(node, add);
    };
  };

  // From the function that allocates on: a node's callers that are not hidden.
  const callers = (held, own, changes, hidden) => {
    const { parents, at } = held;
    const above = new Int32Array(parents.length);
    for (let node = 0; node < parents.length; node++) {
      const parent = parents[node];
      above[node] = parent >= 0 && hidden.has(at[parent]) ? above[parent] : parent;
    }
    return (of, add) => {
      if (!of.parent) {
        for (let node = 0; node < own.length; node++) {
          const begin = hidden.has(at[node]) ? above[node] : node;
          if (begin >= 0 && (own[node] > 0 || changes[node] !== 0)) add(begin, own[node], changes[node]);
        }
        return;
      }
      for (let place = 0; place < of.nodes.length; place++) {
        const caller = above[of.nodes[place]];
        if (caller >= 0) add(caller, of.values[place], of.deltas[place]);
      }
    };
  };

  // The graph of all stacks: its outermost box, and what gives the boxes inside of one. `own` is how wide each
  // node of `held` is without its callees, `changes` by how much more it allocates than before. Inverted, what
  // was not worth a box of its own in the data is not worth one here. Functions in `hidden` have no boxes.
  const graph = (held, own, changes, inverted, hidden) => {
    const top = box("all", null);
    for (let node = 0; node < own.length; node++) {
      top.value += own[node];
      top.delta += changes[node];
    }
    const least = inverted ? held.least * top.value : 0;
    const step = (inverted ? callers : callees)(held, own, changes, hidden);
    const inside = (of) => {
      if (of.children) return of.children;
      const groups = new Map();
      step(of, (node, value, delta) => {
        const name = held.at[node];
        if (!groups.has(name)) groups.set(name, box(held.functions[name], of));
        put(groups.get(name), node, value, delta);
      });
      of.children = [...groups.values()].filter((each) => each.value > 0 && each.value >= least);
      return of.children.sort((a, b) => b.value - a.value);
    };
    return { top, inside };
  };

  // A box as a chart of so many pixels draws it: the boxes that lead to it, and at most about `most` inside of
  // it. Where there are more, those narrower than `narrow` pixels are closed.
  const drawn = (from, focus, pixels, most) => {
    const scale = focus.value > 0 ? pixels / focus.value : 0;
    let narrow = LEAST;
    let left = 0;
    const copy = (of) => {
      const { name, value, delta } = of;
      const children = [];
      left -= 1;
      if (of === focus || value * scale >= narrow) {
        for (const child of from.inside(of)) {
          if (child.value * scale < LEAST || (left < 0 && narrow < pixels)) break;
          children.push(copy(child));
        }
      }
      return { name, value, delta, children, box: of };
    };
    let data = null;
    for (; ; narrow *= 1.5) {
      left = most;
      data = copy(focus);
      if (left >= 0 || narrow >= pixels) break;
    }
    for (let at = focus.parent; at; at = at.parent) {
      data = { name: at.name, value: at.value, delta: at.delta, children: [data], box: at, fade: true };
    }
    return { data, narrow: narrow > LEAST ? narrow : 0 };
  };

  // The functions that have a word in their name, and how wide the stacks are that lead through one of them.
  const search = (held, own, hidden, word) => {
    const { functions, parents, at } = held;
    const sought = word.toLowerCase();
    const hit = functions.map((name, place) => !hidden.has(place) && name.toLowerCase().includes(sought));
    const totals = inclusive(parents, own);
    const through = new Uint8Array(own.length);
    const names = new Set();
    let value = 0;
    for (let node = 0; node < own.length; node++) {
      if (hit[at[node]] || (parents[node] >= 0 && through[parents[node]])) through[node] = 1;
      if (through[node]) value += own[node];
      if (hit[at[node]] && totals[node] > 0) names.add(functions[at[node]]);
    }
    return { names, value };
  };

  // The largest change of a node with its callees, or of a function without them.
  const largest = (held, changes) => {
    const functions = new Float64Array(held.functions.length);
    changes.forEach((delta, node) => {
      functions[held.at[node]] += delta;
    });
    let found = 0;
    for (const each of inclusive(held.parents, changes)) found = Math.max(found, Math.abs(each));
    for (const each of functions) found = Math.max(found, Math.abs(each));
    return found;
  };
  // Endings of a frame's name that say whose it is, as in perf's and FlameGraph's tools.
  const OWNERS = { "_[a]": "the allocator's", "_[k]": "the kernel's" };

  // Samples by stack from lines `frame;frame;frame COUNT`, the outermost first; what is no such line is left out.
  const unfold = (lines) => {
    const [functions, parents, at, samples] = [[], [], [], []];
    const [places, nodes, owners] = [new Map(), new Map(), new Map()];
    const place = (frame) => {
      if (!places.has(frame)) {
        const owner = OWNERS[frame.slice(-4)];
        const name = owner ? frame.slice(0, -4) : frame;
        if (owner) owners.set(name, owner);
        places.set(frame, functions.push(name) - 1);
      }
      return places.get(frame);
    };
    for (const line of lines) {
      const [, frames, count] = /^(.+) (\d+)$/.exec(line) ?? [];
      if (!frames) continue;
      let node = -1;
      for (const frame of frames.split(";")) {
        const key = `${node};${place(frame)}`;
        if (!nodes.has(key)) {
          parents.push(node);
          at.push(place(frame));
          nodes.set(key, samples.push(0) - 1);
        }
        node = nodes.get(key);
      }
      samples[node] += Number(count);
    }
    return { functions, parents, at, own: { samples }, least: 0, owners };
  };

  return { drawn, graph, largest, search, unfold };
})();
