"use strict";
// What the scripts of all pages draw with: colours, axes, layouts, and the packed texts of the page. Nothing is fetched.

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
const PLOT_HEIGHT = 308; // without its legend
const LEGEND_ROW = 21;
const DASHES = ["solid", "dash", "dot", "dashdot"]; // of the first six runs, the next six, …
const MARGIN = { l: 10, r: 12, t: 26, b: 10 };
const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false };
const LONGEST_NAME = 26; // of a run in a legend
const NARROW = 480; // pixels of a plot in which names of parts do not fit beside each other
const UPRIGHT = 84; // pixels that they take when they stand upright

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

// The axis of the share of a run's parts that lie behind it, each of which has as much as any other, lines between them, and
// by how much a plot is taller with it
function partsAxis(title, parts, width) {
  const tickvals = parts.map((_, k) => (k + 0.5) / parts.length);
  const borders = parts.slice(1).map((_, k) => (k + 1) / parts.length);
  return {
    across: axis(wrapped(title, 40), { range: [0, 1], tickvals, ticktext: parts, showgrid: false, tickangle: width < NARROW ? -90 : 0 }),
    shapes: borders.map((at) => ({
      type: "line", yref: "paper", y0: 0, y1: 1, x0: at, x1: at, line: { color: style("--quiet"), width: 1, dash: "dot" },
    })),
    height: width < NARROW ? UPRIGHT : 0,
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

function shortened(name) {
  return name.length > LONGEST_NAME ? `${name.slice(0, 10)}…${name.slice(11 - LONGEST_NAME)}` : name;
}

// Load Plotly, and draw the page; where that cannot be done, the page says why
async function begin(main) {
  try {
    const library = document.createElement("script");
    library.textContent = await unpack("plotly");
    document.head.append(library);
    await main();
    document.body.dataset.ready = "yes";
  } catch (error) {
    const note = document.createElement("p");
    note.className = "absent";
    note.textContent = `The pictures cannot be drawn: ${error.message}. A browser of 2023 or later is needed.`;
    document.querySelector("header").append(note);
    throw error;
  }
}
