"use strict";
// Draws the numbers of the page with Plotly, and moves the neurons with the slider. Nothing is fetched.
(async () => {
  // Okabe and Ito's colours, some darker or lighter so that all stand out from the ground
  const TONES = {
    light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07400", "#3A94CC"],
    dark: ["#56B4E9", "#E69F00", "#00B886", "#CC79A7", "#F0E442", "#E8703A"],
  };
  // Crameri's vik: evenly perceived, diverging, safe for colour-blind readers
  const VIK = ["#001261", "#033E7D", "#1E6F9D", "#71A8C4", "#C9DDE7", "#EACEBD", "#D39774", "#BE6533", "#8B2706", "#590008"];
  // and his berlin, which is dark in its middle, for a dark ground
  const BERLIN = ["#9EB0FF", "#5BA4DB", "#2D7597", "#1A4256", "#11191E", "#280D01", "#501803", "#8A3F2A", "#C4756A", "#FFACAC"];
  const scale = () => (dark.matches ? BERLIN : VIK).map((colour, k, all) => [k / (all.length - 1), colour]);
  const TRAIL = 12; // frames that a neuron's trail goes back
  const FRAME_MS = 90;
  const FULL_SIZE = 15; // of a neuron of the largest norm; its area grows with the norm
  const SMALL_SIZE = 6;
  const PLOT_HEIGHT = 308; // without its legend
  const LEGEND_ROW = 21;
  const LETTER = 7.5; // pixels that a letter takes, at most
  const BESIDE = 75; // pixels that the labels of a vertical axis take
  const NAMES_ROW = 18; // pixels from the numbers of phases up to the names of parts
  const NARROW = 480; // pixels of a plot in which names of parts do not fit beside each other
  const LONGEST_NAME = 26; // of a run in a legend
  const DASHES = ["solid", "dash", "dot", "dashdot"]; // of the first six runs, the next six, …
  const MARGIN = { l: 10, r: 12, t: 26, b: 10 };
  const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };

  const $ = (id) => document.getElementById(id);
  // a finger that crosses a plot scrolls the page
  const dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const bytes = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

  async function unpack(id) {
    const stream = new Blob([bytes($(id).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function tone(k) {
    const tones = TONES[dark.matches ? "dark" : "light"];
    return k < 0 ? style("--quiet") : tones[k % tones.length];
  }

  function veil(colour, share) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${red},${green},${blue},${share})`;
  }

  function axis(title, more) {
    const line = style("--line");
    return {
      title: { text: title, standoff: 8, font: { size: 13 } }, gridcolor: line, linecolor: line, zeroline: false, automargin: true,
      exponentformat: "power", ...more,
    };
  }

  // A long label is broken rather than cut off
  function wrapped(text, width) {
    return text.split(" ").reduce((lines, word) => {
      const last = lines.length - 1;
      if (last >= 0 && (lines[last] + word).length < width) lines[last] += " " + word;
      else lines.push(word);
      return lines;
    }, []).join("<br>");
  }

  function layout(x, y, more) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: MARGIN,
      font: { family: "system-ui, sans-serif", size: 13, color: style("--ink") }, xaxis: x, yaxis: y,
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, xanchor: "left" },
      hoverlabel: { bgcolor: style("--raised"), bordercolor: style("--line"), font: { color: style("--ink") } },
      hovermode: "closest", dragmode, ...more,
    };
  }

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

  function decadesPerTick(figure) {
    const values = figure.curves.flatMap((curve) => curve.y || [...curve.low, ...curve.high]).filter((value) => value > 0);
    const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, 0]);
    return Math.max(Math.ceil(Math.log10(high / low) / 6), 1) || 1;
  }

  function legendRows(figure, width) {
    const longest = Math.max(...figure.curves.map((curve) => curve.name.length));
    const columns = Math.max(Math.floor((width - 60) / (50 + 7 * longest)), 1);
    return figure.curves.length > 1 ? Math.ceil(figure.curves.length / columns) : 0;
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

  function clockAxis(beside, clock, width) {
    const more = {
      log_loss: { autorange: "reversed" }, // time goes to the right, and the loss falls
      progress: { range: [0, 1], tickvals: beside.parts.map((_, k) => (k + 0.5) / beside.parts.length), ticktext: beside.parts,
                  showgrid: false, tickangle: width < NARROW ? -90 : 0 },
    };
    return axis(wrapped(clock.label, 40), more[clock.key] || {});
  }

  function drawBeside(beside) {
    const clock = beside.clocks.find(({ key }) => key === $("clock").value);
    const borders = clock.key === "progress" ? beside.parts.slice(1).map((_, k) => (k + 1) / beside.parts.length) : [];
    const shapes = borders.map((at) => ({
      type: "line", yref: "paper", y0: 0, y1: 1, x0: at, x1: at, line: { color: style("--quiet"), width: 1, dash: "dot" },
    }));
    for (const quantity of beside.quantities) {
      const plot = $(`overlaid-${quantity.key}`);
      const traces = quantity.curves.map((y, run) => ({
        x: clock.at[run], y, name: shortened(beside.runs[run]), mode: "lines",
        line: { color: tone(run), width: 2.2, dash: DASHES[Math.floor(run / TONES.light.length) % DASHES.length] },
      }));
      const figure = { curves: traces.map(({ name, y }) => ({ name, y: y.filter((value) => value !== null) })) };
      plot.style.height = `${PLOT_HEIGHT + LEGEND_ROW * legendRows(figure, plot.clientWidth)}px`;
      const y = axis(wrapped(quantity.y, 30), quantity.log ? { type: "log", dtick: decadesPerTick(figure) } : {});
      Plotly.react(plot, traces, layout(clockAxis(beside, clock, plot.clientWidth), y, { shapes, showlegend: true }), CONFIG);
    }
  }

  function shortened(name) {
    return name.length > LONGEST_NAME ? `${name.slice(0, 10)}…${name.slice(11 - LONGEST_NAME)}` : name;
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

  try {
    const library = document.createElement("script");
    library.textContent = await unpack("plotly");
    document.head.append(library);
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
    document.body.dataset.ready = "yes";
  } catch (error) {
    const note = document.createElement("p");
    note.className = "absent";
    note.textContent = `The pictures cannot be drawn: ${error.message}. A browser of 2023 or later is needed.`;
    document.querySelector("header").append(note);
    throw error;
  }
})();
