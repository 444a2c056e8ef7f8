"use strict";
// The page of a sweep: what is ticked chooses points, and all figures and tables are of these.
begin(async () => {
  const LINES = 12; // colours and dashes that can be told apart
  const SINGLE = 24; // so many trajectories are drawn one by one, more as medians and quartiles
  const DOTS = 2000; // of a figure
  const SHARES = 100; // steps on the clock of parts at which medians are taken
  const ROWS = 100; // of the table, until more are asked for
  const NAMED = 8; // values of a key that its axis names
  const SYMBOLS = ["circle", "diamond", "square", "triangle-up"];
  const EXTREME = [1e-200, 1e200]; // beyond these Plotly has no axis: logarithms are drawn

  const sweep = JSON.parse(await unpack("sweep"));
  const { keys, numbers, trajectories } = sweep;
  const sets = [...keys, { key: "status", ...sweep.endings }];
  const every = [...sweep.endings.at.keys()];
  const ticked = sets.map((set) => set.names.map(() => true));
  const picked = new Set();
  const sorting = { column: null, down: false };
  const columns = () => [
    ...sets.map((set) => ({ name: set.key, words: (point) => set.names[set.at[point]],
                            value: (point) => (set.numbers ? set.numbers[set.at[point]] : set.at[point]) })),
    ...numbers.map((one) => ({ name: one.key, words: (point) => shown(one.values[point]), value: (point) => one.values[point] })),
  ];
  const columnsOfTable = columns();
  let rows = ROWS;

  function shown(value) {
    if (value === null || value === undefined) return "–";
    return String(Number(value.toPrecision(4)));
  }

  const named = (point) => keys.map((set) => `${set.key} = ${set.names[set.at[point]]}`).join(", ");
  const chosen = () => every.filter((point) => sets.every((set, k) => ticked[k][set.at[point]]));
  const finite = (value) => value !== null && value !== undefined && Number.isFinite(value);

  // np.quantile's: linear between the two nearest
  function quantile(sorted, share) {
    const place = share * (sorted.length - 1), below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
  }

  function spread(values) {
    const there = values.filter(finite).sort((a, b) => a - b);
    return there.length ? [0.25, 0.5, 0.75].map((share) => quantile(there, share)) : [null, null, null];
  }

  function evenly(list, most) {
    if (list.length <= most) return list;
    return Array.from({ length: most }, (_, k) => list[Math.round((k * (list.length - 1)) / (most - 1))]);
  }

  // The chosen points by the value of the key that colours stand for
  function groups(points) {
    const by = keys[Number($("by")?.value ?? 0) - 1];
    if (!by) return { of: "", all: 1, groups: [{ name: "all", index: 0, points }] };
    const values = [...new Set(points.map((point) => by.at[point]))].sort((a, b) => a - b);
    const drawn = evenly(values, LINES);
    const found = drawn.map((value, index) => ({
      name: shortened(by.names[value]), index, points: points.filter((point) => by.at[point] === value) }));
    return { of: by.key, all: values.length, groups: found };
  }

  const dashOf = (group) => DASHES[Math.floor(group.index / TONES.light.length) % DASHES.length];
  const symbolOf = (group) => SYMBOLS[Math.floor(group.index / TONES.light.length) % SYMBOLS.length];

  // How numbers lie on an axis. at: from a number to its place
  function ruler(values, title, wish) {
    const there = values.filter((value) => finite(value) && value !== 0);
    const [low, high] = there.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const sizes = there.map(Math.abs);
    const logarithmic = there.length > 0 && low > 0 && !values.includes(0) && wish(low, high);
    if (sizes.some((size) => size < EXTREME[0] || size > EXTREME[1])) {
      const at = (value) => (finite(value) && value > 0 ? Math.log10(value) : null);
      return { at, title: `log10 of ${title}`, more: {}, logarithmic: false };
    }
    const dtick = Math.max(Math.ceil(Math.log10(high / low) / 6), 1);
    return { at: (value) => (finite(value) ? value : null), title, logarithmic,
             more: logarithmic ? { type: "log", ...(high > 10 * low ? { dtick } : { nticks: 5 }) } : {} };
  }

  // The axis of a key; words stand beside each other in the order of the scenario
  function rulerOf(set, points) {
    const seen = [...new Set(points.map((point) => set.at[point]))].sort((a, b) => a - b);
    if (!set.numbers) {
      return { at: (value) => set.names[value], title: set.key, logarithmic: false,
               more: { type: "category", categoryorder: "array", categoryarray: seen.map((k) => set.names[k]) } };
    }
    const found = ruler(seen.map((k) => set.numbers[k]), set.key, () => set.wide);
    const few = found.logarithmic && seen.length <= NAMED;
    const ticks = few ? { tickmode: "array", tickvals: seen.map((k) => set.numbers[k]), ticktext: seen.map((k) => set.names[k]) } : {};
    return { ...found, at: (value) => found.at(set.numbers[value]), more: { ...found.more, ...ticks } };
  }

  // A line by least squares, as flowsim.evaluate.scaling fits it; `why` where there is none
  function fitted(set, values, points, law) {
    if (!set.numbers) return { why: `${set.key} has no numbers` };
    const pairs = points
      .map((point) => [set.numbers[set.at[point]], values[point]])
      .filter(([x, y]) => finite(x) && finite(y) && x > 0 && (law === "log" || y > 0));
    const count = pairs.length, left = points.length - count;
    if (count < 3 || new Set(pairs.map(([x]) => x)).size < 2) {
      return { why: `fewer than three points, or all at one place, where both are ${law === "power" ? "positive" : "numbers"}` };
    }
    const x = pairs.map(([one]) => Math.log(one)), y = pairs.map(([, one]) => (law === "power" ? Math.log(one) : one));
    const mean = (list) => list.reduce((sum, one) => sum + one, 0) / count;
    const [meanX, meanY] = [mean(x), mean(y)];
    const product = (a, b) => a.reduce((sum, one, k) => sum + one * b[k], 0);
    const [dx, dy] = [x.map((one) => one - meanX), y.map((one) => one - meanY)];
    const slope = product(dx, dy) / product(dx, dx);
    const rest = dy.map((one, k) => one - slope * dx[k]);
    const free = count - 2, student = sweep.student[Math.min(free, sweep.student.length) - 1];
    const half = student * Math.sqrt(product(rest, rest) / free / product(dx, dx));
    const line = (logOfX) => {
      const value = meanY + slope * (logOfX - meanX);
      return law === "power" ? Math.exp(value) : value;
    };
    return { slope, low: slope - half, high: slope + half, count, left, line, ends: [Math.min(...x), Math.max(...x)] };
  }

  function band(x, low, high, colour, name) {
    const none = { width: 0, color: colour };
    const common = { x, mode: "lines", line: none, hoverinfo: "skip", showlegend: false, legendgroup: name };
    return [{ ...common, y: low }, { ...common, y: high, fill: "tonexty", fillcolor: veil(colour, 0.2) }];
  }

  function finish(plot, traces, groups, x, y, more, height = 0) {
    const figure = { curves: groups.map(({ name }) => ({ name, y: [] })) };
    const tall = PLOT_HEIGHT + height + LEGEND_ROW * legendRows(figure, plot.clientWidth);
    plot.style.height = `${tall}px`;
    Plotly.react(plot, traces, layout(x, y, { showlegend: groups.length > 1, height: tall, ...more }), CONFIG);
  }

  // -- numbers over a key

  function ofNumber(number, plot, points, found, law) {
    const over = keys[Number($("over").value)];
    const across = rulerOf(over, points);
    const up = ruler(points.map((point) => number.values[point]), number.key, (low, high) => high > 20 * low);
    const dots = new Set(evenly(points.filter((point) => finite(number.values[point])), DOTS));
    const slopes = [];
    const traces = found.groups.flatMap((group) => {
      const colour = tone(group.index);
      const places = [...new Set(group.points.map((point) => over.at[point]))].sort((a, b) => a - b);
      const at = places.map(across.at);
      const quartiles = places.map((place) => spread(
        group.points.filter((point) => over.at[point] === place).map((point) => number.values[point])));
      const [low, median, high] = [0, 1, 2].map((k) => quartiles.map((three) => up.at(three[k])));
      const own = group.points.filter((point) => dots.has(point));
      const several = group.points.length > places.length;
      const traced = [
        ...(several ? band(at, low, high, colour, group.name) : []),
        { x: own.map((point) => across.at(over.at[point])), y: own.map((point) => up.at(number.values[point])),
          text: own.map(named), hovertemplate: "%{text}: %{y}<extra></extra>", mode: "markers", showlegend: false,
          legendgroup: group.name, marker: { color: veil(colour, several ? 0.45 : 0.9), size: several ? 4 : 7, symbol: symbolOf(group) } },
        { x: at, y: median, name: group.name, legendgroup: group.name, mode: "lines", hoverinfo: "skip",
          line: { color: colour, width: 2.2, dash: dashOf(group) } },
      ];
      if (law === "none") return traced;
      const fit = fitted(over, number.values, group.points, law);
      slopes.push({ number: number.key, group: group.name, ...fit });
      if (fit.why) return traced;
      const logs = Array.from({ length: 40 }, (_, k) => fit.ends[0] + ((fit.ends[1] - fit.ends[0]) * k) / 39);
      const places40 = over.numbers && across.title !== over.key ? logs.map((one) => one / Math.LN10) : logs.map(Math.exp);
      traced.push({ x: places40, y: logs.map((one) => up.at(fit.line(one))), mode: "lines", hoverinfo: "skip", showlegend: false,
                    legendgroup: group.name, line: { color: colour, width: 1.2, dash: "dot" } });
      return traced;
    });
    const narrow = plot.clientWidth < 480 ? { tickangle: -45 } : {};
    const x = axis(across.title, { ...across.more, ...(across.more.tickvals || across.more.type === "category" ? narrow : {}) });
    finish(plot, traces, found.groups, x, axis(wrapped(up.title, 22), up.more));
    return slopes;
  }

  function drawNumbers(points, found) {
    if (!numbers.length) return;
    const law = $("law").value, slopes = [];
    for (const figure of document.querySelectorAll("[data-number]")) {
      const k = Number(figure.dataset.number);
      figure.hidden = !boxes($("drawn"))[k].checked;
      if (!figure.hidden) slopes.push(...ofNumber(numbers[k], $(`number-${k}`), points, found, law));
    }
    const fewer = found.all > found.groups.length ? ` ${found.groups.length} of its ${found.all} values, evenly chosen, are drawn.` : "";
    $("how").textContent = [
      "Lines are medians, bands quartiles, over all points with the same values.",
      found.of ? `Colour is ${found.of}.${fewer}` : "", law === "none" ? "" : "Dotted lines are fitted, to every point by itself.",
    ].filter(Boolean).join(" ");
    const confidence = $("slopes").dataset.confidence;
    const told = slopes.map((one) => [
      one.number, one.group, ...(one.why ? ["–", "–", "–", "–", one.why]
        : [one.slope, one.low, one.high].map((value) => value.toPrecision(4)).concat([one.count, one.left ? `${one.left} left out` : ""])),
    ]);
    const head = ["number", found.of || "points", "slope", "from", `to (${confidence} %)`, "points", ""];
    $("slopes").replaceChildren(...(told.length ? [tableOf(head, told)] : []));
  }

  // -- one number against another

  function drawPair(points, found) {
    const plot = $("pair");
    if (!plot) return;
    const [a, b] = [numbers[$("across").value], numbers[$("up").value]];
    const wide = (low, high) => high > 20 * low;
    const there = points.filter((point) => finite(a.values[point]) && finite(b.values[point]));
    const [across, up] = [a, b].map((one) => ruler(there.map((point) => one.values[point]), one.key, wide));
    const dots = new Set(evenly(there, DOTS));
    const traces = found.groups.map((group) => {
      const own = group.points.filter((point) => dots.has(point));
      return {
        x: own.map((point) => across.at(a.values[point])), y: own.map((point) => up.at(b.values[point])), name: group.name,
        text: own.map(named), hovertemplate: "%{text}: %{x}, %{y}<extra></extra>", mode: "markers", showlegend: true,
        marker: { color: veil(tone(group.index), 0.75), size: 7, symbol: symbolOf(group) },
      };
    });
    const both = there.flatMap((point) => [across.at(a.values[point]), up.at(b.values[point])]).filter(finite);
    const overlap = [[a, across], [b, up]].map(([one, of]) => there.map((point) => of.at(one.values[point])).filter(finite));
    const ends = both.length ? [Math.max(...overlap.map((list) => Math.min(...list))), Math.min(...overlap.map((list) => Math.max(...list)))] : [1, 0];
    if (ends[0] < ends[1] && across.logarithmic === up.logarithmic && !across.title.startsWith("log10") === !up.title.startsWith("log10")) {
      traces.push({ x: ends, y: ends, mode: "lines", showlegend: false, hoverinfo: "skip", line: { color: style("--quiet"), width: 1, dash: "dot" } });
    }
    finish(plot, traces, found.groups, axis(wrapped(across.title, 40), across.more), axis(wrapped(up.title, 30), up.more));
  }

  // -- over time

  const GRID = Array.from({ length: SHARES + 1 }, (_, k) => k / SHARES);

  // np.interp's; null outside, and where a neighbour has no number
  function between(xs, ys, at) {
    const above = xs.findIndex((x) => x >= at);
    if (above < 0 || at < xs[0]) return null;
    if (xs[above] === at) return ys[above];
    if (!finite(ys[above - 1]) || !finite(ys[above])) return null;
    return ys[above - 1] + ((at - xs[above - 1]) / (xs[above] - xs[above - 1])) * (ys[above] - ys[above - 1]);
  }

  // The values of a point's curve where these shares of its parts lie behind it
  function atShares(point, values) {
    const knots = trajectories.progress[trajectories.points.indexOf(point)];
    return knots ? GRID.map((share) => between(trajectories.time, values, between(knots[1], knots[0], share))) : [];
  }

  function drawTrajectories(points, found) {
    if (!trajectories) return;
    const row = new Map(trajectories.points.map((point, k) => [point, k]));
    const marked = points.filter((point) => picked.has(point));
    const drawn = (marked.length ? marked : points).filter((point) => row.has(point));
    const single = drawn.length <= SINGLE;
    const clock = $("clock").value;
    const losses = trajectories.curves.find(({ key }) => key === "log10_loss") || trajectories.curves.find(({ key }) => key === "loss");
    const logLoss = (point) => {
      const values = losses.values[row.get(point)] || [];
      return losses.key === "loss" ? values.map((value) => (value > 0 ? Math.log10(value) : null)) : values;
    };
    const shareOf = (point) => {
      const knots = trajectories.progress[row.get(point)];
      return knots ? trajectories.time.map((at) => between(knots[0], knots[1], at)) : [];
    };
    const clocks = {
      time: { title: "flow time", at: () => trajectories.time, more: {} },
      log_time: { title: "log10 of flow time", at: () => trajectories.time.map((at) => (at > 0 ? Math.log10(at) : null)), more: {} },
      log_loss: { title: "log10 of the training loss", at: logLoss, more: { autorange: "reversed" } },
      progress: { title: "share of the parts behind it", at: shareOf },
    };
    const { title, at, more } = clocks[clock];
    const drawable = found.groups
      .map((group) => ({ ...group, points: group.points.filter((point) => drawn.includes(point)) }))
      .filter((group) => group.points.length);
    trajectories.curves.forEach((curve, k) => {
      const valuesOf = (point) => curve.values[row.get(point)] || [];
      const up = ruler(drawn.flatMap(valuesOf), curve.meaning, (low, high) => high > 100 * low);
      const traces = drawable.flatMap((group) => {
        const colour = tone(group.index), line = { color: colour, width: single ? 1.6 : 2.2, dash: dashOf(group) };
        if (single) {
          return group.points.map((point, place) => ({
            x: at(point), y: valuesOf(point).map(up.at), mode: "lines", line, name: group.name, legendgroup: group.name,
            showlegend: place === 0, text: named(point), hovertemplate: "%{text}<extra></extra>" }));
        }
        const over = (list, instants) => instants.map((_, instant) => spread(list.map((values) => values[instant])));
        const common = clock === "progress" ? GRID : trajectories.time;
        const three = over(group.points.map(clock === "progress" ? (point) => atShares(point, valuesOf(point)) : valuesOf), common);
        const [low, median, high] = [0, 1, 2].map((place) => three.map((one) => up.at(one[place])));
        const x = { log_loss: () => over(group.points.map(at), common).map(([, middle]) => middle), progress: () => GRID }[clock]?.() ?? at();
        const shade = clock === "log_loss" ? [] : band(x, low, high, colour, group.name);
        return [...shade, { x, y: median, mode: "lines", line, name: group.name, legendgroup: group.name, hoverinfo: "skip" }];
      });
      const plot = $(`curve-${k}`);
      if (clock !== "progress") return finish(plot, traces, drawable, axis(title, more), axis(wrapped(up.title, 30), up.more));
      const { across, shapes, height } = partsAxis(title, trajectories.parts, plot.clientWidth);
      return finish(plot, traces, drawable, across, axis(wrapped(up.title, 30), up.more), { shapes }, height);
    });
    const kept = row.size < every.length ? ` The page has curves of ${row.size} of the ${every.length} points.` : "";
    const without = clock === "progress" ? drawn.filter((point) => !trajectories.progress[row.get(point)]).length : 0;
    const left = without ? ` The phases of ${without} of them tell no parts apart.` : "";
    const whose = marked.length ? "the points ticked in the table" : "the chosen points";
    $("whose").textContent = `${single ? "Each line is one of" : "Medians and quartiles of"} ${whose}, ${drawn.length} in all.`
      + (found.of ? ` Colour is ${found.of}.` : "") + left + kept;
  }

  // -- tables

  function cell(tag, content, attributes = {}) {
    const found = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    found.append(content);
    return found;
  }

  function tableOf(head, rowsOf) {
    const made = document.createElement("table"), top = made.createTHead().insertRow(), body = made.createTBody();
    top.append(...head.map((words) => cell("th", words, { scope: "col" })));
    for (const one of rowsOf) {
      const line = body.insertRow();
      line.append(...one.map((words, k) => (k ? cell("td", words) : cell("th", words, { scope: "row" }))));
    }
    return made;
  }

  function heading(column, k) {
    const button = cell("button", column.name, { type: "button", class: "plain" });
    const head = cell("th", button, { scope: "col" });
    if (sorting.column === k) head.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    button.addEventListener("click", () => {
      sorting.down = sorting.column === k && !sorting.down;
      sorting.column = k;
      drawTable(chosen());
      $("table").querySelectorAll("thead button")[k].focus();
    });
    return head;
  }

  function sorted(points) {
    if (sorting.column === null) return points;
    const { value } = columnsOfTable[sorting.column], sign = sorting.down ? -1 : 1;
    return [...points].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (!finite(x) || !finite(y)) return Number(!finite(x)) - Number(!finite(y)); // what has no number comes last
      return sign * (x - y) || a - b;
    });
  }

  function drawTable(points) {
    const made = document.createElement("table"), top = made.createTHead().insertRow(), body = made.createTBody();
    top.append(cell("th", "curve", { scope: "col" }), ...columnsOfTable.map(heading));
    for (const point of sorted(points).slice(0, rows)) {
      const box = cell("input", "", { type: "checkbox", "aria-label": named(point) });
      box.checked = picked.has(point);
      box.addEventListener("change", () => {
        if (box.checked) picked.add(point);
        else picked.delete(point);
        drawTrajectories(chosen(), groups(chosen()));
      });
      body.insertRow().append(cell("td", box), ...columnsOfTable.map(({ words }) => cell("td", words(point))));
    }
    $("table").replaceChildren(made);
    $("more").hidden = points.length <= rows;
    $("more").textContent = `${Math.min(ROWS, points.length - rows)} more of ${points.length}`;
  }

  // -- what is ticked

  const boxes = (details) => [...details.querySelectorAll(".boxes input")];

  function told(details) {
    const all = boxes(details), on = all.filter((box) => box.checked);
    const first = on.length ? on[0].parentElement.textContent.trim() : "";
    const last = on.length ? on[on.length - 1].parentElement.textContent.trim() : "";
    const range = on.length > 1 ? `${first} … ${last}` : first;
    const count = on.length === all.length ? `all ${all.length}` : `${on.length} of ${all.length}`;
    details.querySelector(".some").textContent = on.length ? `${count} (${range})` : "none";
  }

  function choose(details, after) {
    const changed = () => { told(details); after(); };
    details.querySelector(".boxes").addEventListener("change", changed);
    for (const [name, on] of [["all", true], ["none", false]]) {
      details.querySelector(`[data-${name}]`).addEventListener("click", () => {
        for (const box of boxes(details)) box.checked = on;
        changed();
      });
    }
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      details.open = false;
      details.querySelector("summary").focus();
    });
    told(details);
  }

  function draw() {
    const points = chosen(), found = groups(points);
    $("chosen").textContent = `${points.length} of ${every.length} points are chosen.`;
    drawNumbers(points, found);
    drawPair(points, found);
    drawTrajectories(points, found);
    drawTable(points);
  }

  for (const details of document.querySelectorAll("[data-key]")) {
    const k = Number(details.dataset.key);
    choose(details, () => { boxes(details).forEach((box, value) => { ticked[k][value] = box.checked; }); draw(); });
  }
  if (numbers.length) choose($("drawn"), draw);
  for (const id of ["over", "by", "law", "across", "up"]) if ($(id)) $(id).addEventListener("change", draw);
  if (trajectories) $("clock").addEventListener("change", () => drawTrajectories(chosen(), groups(chosen())));
  $("more").addEventListener("click", () => { rows += ROWS; drawTable(chosen()); });
  dark.addEventListener("change", draw);
  if (numbers.length && keys[sweep.over].wide) $("law").value = "power";
  if ($("across")) {
    const phases = numbers.map(({ key }, k) => (sweep.phases.includes(key) ? k : -1)).filter((k) => k >= 0);
    [$("across").value, $("up").value] = phases.length > 1 ? phases : [0, 1];
  }
  draw();
});
