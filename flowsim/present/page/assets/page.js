"use strict";
// Draws the numbers of runs with Plotly, and moves the neurons with the slider.
begin(async () => {
  const TRAIL = 12; // frames that a neuron's trail goes back
  const FRAME_MS = 90;
  const FULL_SIZE = 15; // of a neuron of the largest norm; its area grows with the norm
  const SMALL_SIZE = 6;
  const LETTER = 7.5; // pixels that a letter takes, at most
  const BESIDE = 75; // pixels that the labels of a vertical axis take
  const NAMES_ROW = 18; // pixels from the numbers of phases up to the names of parts

  function curves(figure) {
    return figure.curves.flatMap((curve) => {
      const colour = tone(curve.tone);
      const common = { x: curve.at || figure.at, mode: curve.mode || "lines", legendgroup: curve.name };
      if (curve.y) {
        const line = { color: colour, width: 2.2, dash: curve.dash };
        return [{ ...common, y: curve.y, name: curve.name, line, marker: { color: colour, size: 8 } }];
      }
      const none = { width: 0, color: colour };
      return [
        { ...common, y: curve.low, line: none, showlegend: false, hoverinfo: "skip" },
        { ...common, y: curve.high, line: none, name: curve.name, fill: "tonexty", hoverinfo: "skip",
          fillcolor: veil(colour, curve.faint ? 0.15 : 0.35) },
      ];
    });
  }

  // Vertical lines with the phases' numbers, of which those that are close to each other share a label, and the names of the
  // parts that the shading tells apart, where they fit
  function phaseMarks(run, figure, logarithmic, width) {
    const place = (at) => (logarithmic ? Math.log10(at) : at);
    const seen = figure.at.filter((at) => at !== null && (!logarithmic || at > 0)).map(place);
    const length = seen[seen.length - 1] - seen[0];
    const pixels = (share) => ((width - BESIDE) * share) / length;
    const labels = [];
    const phases = run.phases.filter((phase) => !logarithmic || phase.at > 0);
    const room = (one, other) => ((one.text.length + other.text.length) / 2 + 1) * LETTER;
    for (const phase of phases) {
      let label = { at: place(phase.at), text: String(phase.number), count: 1 };
      let last = labels[labels.length - 1];
      while (last && pixels(label.at - last.at) < room(last, label)) {
        labels.pop();
        const count = last.count + label.count;
        label = { at: (last.at * last.count + label.at * label.count) / count, text: `${last.text} ${label.text}`, count };
        last = labels[labels.length - 1];
      }
      labels.push(label);
    }
    const quiet = style("--quiet");
    const lines = phases.map((phase) => ({
      type: "line", yref: "paper", y0: 0, y1: 1, x0: phase.at, x1: phase.at, line: { color: quiet, width: 1, dash: "dot" },
    }));
    // Every other part of the trajectory is shaded; a logarithmic axis begins at the first time it can show
    const first = logarithmic ? 10 ** seen[0] : figure.at[0];
    const shades = run.parts.filter((part, index) => index % 2 === 0 && part.to > first).map((part) => ({
      type: "rect", yref: "paper", y0: 0, y1: 1, x0: Math.max(part.from, first), x1: part.to,
      fillcolor: quiet, opacity: 0.12, line: { width: 0 }, layer: "below",
    }));
    const named = run.parts
      .map((part) => ({ ...part, from: Math.max(part.from, first) }))
      .filter((part) => part.to > part.from)
      .map((part) => ({ text: part.name, begin: place(part.from), end: place(part.to) }))
      .filter(({ text, begin, end }) => pixels(end - begin) > (text.length + 1) * LETTER);
    const above = { yref: "paper", y: 1, yanchor: "bottom", showarrow: false, font: { color: quiet } };
    return {
      shapes: [...shades, ...lines],
      annotations: [
        ...labels.map((label) => ({ ...above, x: label.at, text: label.text })),
        ...named.map(({ text, begin, end }) => ({ ...above, x: (begin + end) / 2, text, yshift: NAMES_ROW })),
      ],
      margin: { ...MARGIN, t: MARGIN.t + NAMES_ROW },
    };
  }

  function drawStill(run, index, logarithmic) {
    for (const figure of run.figures) {
      const plot = $(`${figure.key}-${index}`);
      plot.style.height = `${PLOT_HEIGHT + LEGEND_ROW * legendRows(figure, plot.clientWidth)}px`;
      const x = axis(figure.x, { type: logarithmic ? "log" : "linear" });
      const y = axis(wrapped(figure.y, 22), figure.log ? { type: "log", dtick: decadesPerTick(figure) } : {});
      Plotly.react(plot, curves(figure), layout(x, y, phaseMarks(run, figure, logarithmic, plot.clientWidth)), CONFIG);
    }
  }

  // -- several runs on one axis

  function drawBeside(beside) {
    const clock = beside.clocks.find(({ key }) => key === $("clock").value);
    const more = clock.key === "log_loss" ? { autorange: "reversed" } : {}; // time goes to the right, and the loss falls
    for (const quantity of beside.quantities) {
      const plot = $(`overlaid-${quantity.key}`);
      const traces = quantity.curves.map((y, run) => ({
        x: clock.at[run], y, name: shortened(beside.runs[run]), mode: "lines",
        line: { color: tone(run), width: 2.2, dash: DASHES[Math.floor(run / TONES.light.length) % DASHES.length] },
      }));
      const figure = { curves: traces.map(({ name, y }) => ({ name, y: y.filter((value) => value !== null) })) };
      const y = axis(wrapped(quantity.y, 30), quantity.log ? { type: "log", dtick: decadesPerTick(figure) } : {});
      const { across, shapes, height } = clock.key === "progress" ? partsAxis(clock.label, beside.parts, plot.clientWidth)
        : { across: axis(wrapped(clock.label, 40), more), shapes: [], height: 0 };
      const tall = PLOT_HEIGHT + height + LEGEND_ROW * legendRows(figure, plot.clientWidth);
      plot.style.height = `${tall}px`;
      Plotly.react(plot, traces, layout(across, y, { shapes, showlegend: true, height: tall }), CONFIG);
    }
  }

  // A figure over something else than time
  function drawOver(figure, index, range) {
    if (!figure) return;
    const plot = $(`${figure.key}-${index}`);
    plot.style.height = `${PLOT_HEIGHT + LEGEND_ROW * legendRows(figure, plot.clientWidth)}px`;
    Plotly.react(plot, curves(figure), layout(axis(figure.x), axis(figure.y, range)), CONFIG);
  }

  // -- neurons through time

  function unpackFrames(frames) {
    const count = [frames.at.length, frames.neurons.length, frames.clusters.length];
    const packed = new Int16Array(bytes(frames.cosine).buffer);
    frames.cosines = Float32Array.from(packed, (value) => value / frames.unit);
    frames.cosineOf = (frame, neuron, cluster) => frames.cosines[(frame * count[1] + neuron) * count[2] + cluster];
    frames.rows = (frame) => frames.neurons.map((_, neuron) => {
      const start = (frame * count[1] + neuron) * count[2];
      return frames.cosines.subarray(start, start + count[2]);
    });
    [frames.across, frames.up] = [frames.centres[0], frames.centres[frames.centres.length - 1]];
  }

  function drawHeat(frames, index, frame) {
    const trace = {
      type: "heatmap", z: frames.rows(frame), x: frames.clusters, y: frames.names,
      zmin: -1, zmax: 1, colorscale: scale(), xgap: frames.clusters.length > 40 ? 0 : 1,
      colorbar: { title: { text: "cosine", side: "right" }, thickness: 14, outlinewidth: 0 },
      hovertemplate: "neuron %{y}, cluster %{x}: %{z:.3f}<extra></extra>",
    };
    const x = axis("cluster (its label)", { type: "category", tickangle: "auto" });
    const y = axis("neuron", { type: "category", nticks: 12, showgrid: false });
    return Plotly.react($(`heat-${index}`), [trace], layout(x, y, { margin: { l: 10, r: 4, t: 8, b: 10 } }), CONFIG);
  }

  function portraitOf(frames, neurons, frame, name, k, symbol) {
    const at = (neuron, instant) => [
      frames.cosineOf(instant, neuron, frames.across), frames.cosineOf(instant, neuron, frames.up)];
    const trail = { x: [], y: [] };
    for (const neuron of neurons) {
      for (let instant = Math.max(frame - TRAIL, 0); instant <= frame; instant++) {
        const [x, y] = at(neuron, instant);
        trail.x.push(x);
        trail.y.push(y);
      }
      trail.x.push(null);
      trail.y.push(null);
    }
    const now = neurons.map((neuron) => at(neuron, frame));
    const colour = tone(k);
    const size = neurons.map(
      (neuron) => SMALL_SIZE + (FULL_SIZE - SMALL_SIZE) * Math.sqrt(frames.size[frame][neuron] || 0));
    return [
      { ...trail, mode: "lines", line: { color: veil(colour, 0.45), width: 1.2 }, hoverinfo: "skip", showlegend: false },
      { x: now.map((pair) => pair[0]), y: now.map((pair) => pair[1]), mode: "markers", name,
        text: neurons.map((neuron) => `neuron ${frames.names[neuron]}`), hovertemplate: "%{text}: %{x:.3f}, %{y:.3f}<extra></extra>",
        marker: { color: veil(colour, 0.85), size, symbol, line: { color: style("--ground"), width: 0.8 } } },
    ];
  }

  function drawPortrait(frames, index, frame) {
    const all = frames.neurons.map((_, neuron) => neuron);
    const signed = (sign) => all.filter((neuron) => frames.sign[neuron] === sign);
    const traces = frames.sign
      ? [...portraitOf(frames, signed(1), frame, "output weight > 0", 0, "circle"),
         ...portraitOf(frames, signed(-1), frame, "output weight < 0", 1, "diamond")]
      : portraitOf(frames, all, frame, "neurons", 0, "circle");
    const name = (cluster) => `cosine with centre ${frames.clusters[cluster]}`;
    const range = { range: [-1.08, 1.08], constrain: "domain", tickvals: [-1, -0.5, 0, 0.5, 1] };
    const circle = { type: "circle", x0: -1, x1: 1, y0: -1, y1: 1, line: { color: style("--quiet"), width: 1 } };
    const x = axis(name(frames.across), range);
    const y = axis(name(frames.up), { ...range, scaleanchor: "x" });
    const more = { shapes: [circle], margin: { l: 10, r: 12, t: 8, b: 10 } };
    return Plotly.react($(`portrait-${index}`), traces, layout(x, y, more), CONFIG);
  }

  // Numbers travel with a few digits, so two instants this close are the same
  const reached = (at, limit) => at <= limit || at - limit <= 1e-5 * Math.abs(at);

  function latest(values, limit) {
    let found = 0;
    while (found + 1 < values.length && reached(values[found + 1], limit)) found++;
    return found;
  }

  // One slider for all runs: its places are the instants of any of them, and each run shows its latest one by then
  function player(runs) {
    const moving = runs.map((run, index) => ({ run, index })).filter(({ run }) => run.frames);
    if (!moving.length) return () => {};
    // where one clock is a logarithm, that of all others is compared by its logarithm; time 0 is at its beginning
    const logged = moving.some(({ run }) => run.logarithms);
    const place = (run, at) => (at === null ? -Infinity : logged && !run.logarithms ? Math.log10(at) : at);
    for (const { run } of moving) {
      unpackFrames(run.frames);
      run.frames.at = run.frames.at.map((at) => place(run, at));
    }
    const clock = moving.find(({ run }) => run.logarithms === logged).run.clock;
    const all = moving.flatMap(({ run }) => run.frames.at).sort((a, b) => a - b);
    const places = all.filter((at, k) => k === 0 || !reached(at, all[k - 1]));
    const [slider, button, now] = [$("time"), $("play"), $("now")];
    slider.max = places.length - 1;
    let timer = null;

    function show() {
      const limit = places[slider.value];
      const words = moving.map(({ run }) => {
        const behind = run.phases.filter((phase) => reached(place(run, phase.at), limit));
        const begun = run.phases.length ? "before the first phase" : "";
        const iteration = run.frames.iteration;
        const told = [
          iteration ? `iteration ${iteration[latest(run.frames.at, limit)]}` : "",
          behind.length ? `after ${behind[behind.length - 1].name}` : begun,
        ];
        return (runs.length > 1 ? `${run.name}: ` : "") + told.filter(Boolean).join(", ");
      });
      const instant = Number.isFinite(limit) ? `${clock} ${Number(limit.toPrecision(4))}` : "the start";
      now.textContent = [instant, ...words].filter(Boolean).join(" · ");
      slider.setAttribute("aria-valuetext", now.textContent);
      for (const { run, index } of moving) {
        const frame = latest(run.frames.at, limit);
        drawHeat(run.frames, index, frame);
        drawPortrait(run.frames, index, frame);
      }
    }

    function play(on) {
      clearInterval(timer);
      timer = on ? setInterval(advance, FRAME_MS) : null;
      button.textContent = on ? "Pause" : "Play";
      button.setAttribute("aria-pressed", String(on));
    }

    function advance() {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) >= places.length - 1) play(false);
    }

    slider.addEventListener("input", () => { play(false); show(); });
    button.addEventListener("click", () => {
      if (timer === null && Number(slider.value) >= places.length - 1) slider.value = 0;
      play(timer === null);
    });
    for (const select of document.querySelectorAll("select[data-axis]")) {
      const frames = runs[select.dataset.run].frames;
      select.value = frames[select.dataset.axis];
      select.addEventListener("change", () => { frames[select.dataset.axis] = Number(select.value); show(); });
    }
    slider.value = places.length - 1;
    return show;
  }

  const runs = JSON.parse(await unpack("numbers"));
  const beside = JSON.parse(await unpack("beside"));
  const show = player(runs);
  const draw = () => {
    runs.forEach((run, index) => drawStill(run, index, $("log").checked && !run.logarithms));
    runs.forEach((run, index) => drawOver(run.over_input, index, {}));
    runs.forEach((run, index) => drawOver(run.over_radius, index, { range: [-0.03, 1.03] }));
    if (beside) drawBeside(beside);
    show();
  };
  if (beside) {
    if (runs.some((run) => run.logarithms)) $("clock").value = "log_time";
    $("clock").addEventListener("change", () => drawBeside(beside));
  }
  $("log").addEventListener("change", draw);
  dark.addEventListener("change", draw);
  draw();
});
