// A drawing of what connects the nodes: cables as lines, a switch as a box in the middle.

const SVG = "http://www.w3.org/2000/svg";
const FULL = 200000; // Mb/s
const WIDTH = 640, BOX = [120, 32];

function draw(tag, options, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(options)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

// Places on an ellipse, in the order in which cables lead.
function places(names, height) {
  const angle = (at) => (2 * Math.PI * at) / names.length - (names.length === 2 ? Math.PI : Math.PI / 2);
  return new Map(names.map((name, at) => [name, [WIDTH / 2 + (WIDTH / 2 - BOX[0] / 2 - 4) * Math.cos(angle(at)), height / 2 + (height / 2 - BOX[1]) * Math.sin(angle(at))]]));
}

const how = (mbps) => (mbps === null ? "unknown" : mbps >= FULL ? "fast" : "slow");

function line([x, y], [toX, toY], mbps, title) {
  const made = draw("line", { x1: x, y1: y, x2: toX, y2: toY, class: `cable ${how(mbps)}` });
  made.append(draw("title", {}, title));
  return made;
}

function box([x, y], text, look) {
  const group = draw("g", {});
  group.append(draw("rect", { x: x - BOX[0] / 2, y: y - BOX[1] / 2, width: BOX[0], height: BOX[1], rx: 6, class: look }),
    draw("text", { x, y: y + 5, "text-anchor": "middle" }, text.length > 14 ? `${text.slice(0, 13)}…` : text));
  return group;
}

// The speed of the port at an end, in Mb/s.
export const speedOf = (ports) => {
  const found = new Map(ports.map((port) => [`${port.node} ${port.port}`, port.speed_mbps]));
  return (end) => found.get(`${end.node} ${end.port}`);
};

// At most so many nodes can be told apart in a drawing; the table has all.
const MOST = 16;

export function cabling({ order, ports, segments }) {
  const names = [...new Set([...order, ...ports.map((port) => port.node)])];
  if (names.length < 2 || names.length > MOST) return null;
  const height = names.length === 2 ? 80 : 320;
  const at = places(names, height), middle = [WIDTH / 2, height / 2];
  const label = segments.map((one) => one.ends.map((end) => `${end.node} ${end.port}`).join(" to ")).join("; ");
  const made = draw("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "cabling", role: "img", "aria-label": `cabling: ${label || "nothing is connected"}` });
  const twice = new Map(), speeds = speedOf(ports);
  for (const one of segments) {
    const title = `${one.ends.map((end) => `${end.node} ${end.port}`).join(" – ")}: ${one.speed_mbps ? `${one.speed_mbps / 1000} Gb/s` : "speed unknown"}`;
    if (one.switch) {
      for (const end of one.ends) made.append(line(at.get(end.node), middle, speeds(end) ?? one.speed_mbps, `${end.node} ${end.port}`));
      continue;
    }
    const [from, to] = one.ends.map((end) => at.get(end.node));
    const pair = one.ends.map((end) => end.node).sort().join(" ");
    const shift = 12 * (twice.get(pair) ?? 0); // the second cable between the same two nodes beside the first
    twice.set(pair, (twice.get(pair) ?? 0) + 1);
    if (from && to) made.append(line([from[0], from[1] + shift], [to[0], to[1] + shift], one.speed_mbps, title));
  }
  if (segments.some((one) => one.switch)) made.append(box(middle, "switch", "switch"));
  for (const name of names) made.append(box(at.get(name), name, "node"));
  return made;
}
