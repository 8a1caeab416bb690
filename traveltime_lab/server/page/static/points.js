// Pasted points: lines of latitude, longitude and a name, or GeoJSON.

const NUMBER = String.raw`([-+]?\d+(?:\.\d+)?)`;
const PAIR = new RegExp(`(?:^|[\\s,;])"?${NUMBER}"?\\s*(?:[,;\\t]|\\s)\\s*"?${NUMBER}"?(?=$|[\\s,;])`);

/** Points of a text, and what is wrong with it, in words. */
export function parse(text) {
  const found = text.trim().startsWith('{') ? fromGeoJson(text) : fromLines(text);
  const names = new Set();
  for (const point of found.points) {
    let name = point.name;
    for (let i = 2; names.has(name); i++) name = `${point.name} (${i})`;
    names.add(name);
    point.name = name;
  }
  return found;
}

function fromLines(text) {
  const points = [], wrong = [];
  text.split(/\r?\n/).forEach((line, i) => {
    if (!line.trim()) return;
    const pair = PAIR.exec(line);
    const point = pair && {lat: Number(pair[1]), lng: Number(pair[2])};
    if (!point) {
      // A heading is no point, and no mistake.
      if (i) wrong.push(`line ${i + 1} has no two numbers: ${line.trim().slice(0, 40)}`);
    } else if (!isPlace(point)) {
      wrong.push(`line ${i + 1}: latitude comes first, from -90 to 90; got ${pair[1]}, ${pair[2]}`);
    } else {
      const rest = (line.slice(0, pair.index) + line.slice(pair.index + pair[0].length)).replace(/^[\s,;"]+|[\s,;"]+$/g, '');
      points.push({name: rest || `point ${points.length + 1}`, ...point});
    }
  });
  return {points, wrong};
}

function fromGeoJson(text) {
  let parsed;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return {points: [], wrong: [`this is no JSON: ${error.message}`]};
  }
  const points = [], wrong = [];
  (parsed.features ?? [parsed]).forEach((feature, i) => {
    const geometry = feature.geometry ?? feature;
    const [lng, lat] = geometry.type === 'Point' ? geometry.coordinates : [];
    if (isPlace({lat, lng})) points.push({name: String(feature.properties?.name ?? feature.id ?? `point ${i + 1}`), lat, lng});
    else wrong.push(`feature ${i + 1} is no point in longitude and latitude`);
  });
  return {points, wrong};
}

function isPlace({lat, lng}) {
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180;
}
