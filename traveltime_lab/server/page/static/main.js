// The page: from what is chosen to requests, and from answers to what is shown.

import {Latest, Refusal, ask} from './api.js';
import {csv, fileName, geojson, save} from './files.js';
import {TravelMap, pinImage, place} from './map.js';
import {distance, minutes, toUtc} from './moments.js';
import {PlaceSearch} from './places.js';
import {parse} from './points.js';
import {snippet} from './snippets.js';

const $ = id => document.getElementById(id);
const picked = name => document.querySelector(`input[name=${name}]:checked`).value;
const COMBINED = '#4a3f8f';
const PATIENCE_MS = 1500;

let config, map, chart, chosen = null;
/** Pins in order: {marker, colour, name, given, nameJobs}; `given` is the name of a place that was looked for. */
let pins = [];
let request = null;
/** Travel times: {origins, rows}, where rows are [name of the point, seconds or null from each origin]. */
let table = null;
/** How often a table was asked for or dropped: an answer to an older question is not shown. */
let tableRound = 0;
/** The areas that are drawn, as features with what they are about, and {network, mode, limits} of all of them. */
let shown = [], shownAbout = null;
const areaJobs = new Latest(), routeJobs = new Latest();
/** How often what routes are asked for has changed: an answer to an older question is not shown. */
let routeRound = 0;

// Start, sign in and out ----------------------------------------------------------------------------------------------

async function start() {
  try {
    config = (await ask('GET', 'page/config')).json;
  } catch (error) {
    $('sign-in').hidden = false;
    if (error.status !== 401) $('sign-in-error').textContent = error.message;
    return;
  }
  $('sign-in').hidden = true;
  $('controls').hidden = $('map').hidden = false;
  map = config.maps[0];
  $('network').replaceChildren(...config.maps.map(({name}) => new Option(name)));
  $('network-label').hidden = config.maps.length < 2;
  for (const id of ['minutes', 'slider']) {
    $(id).max = config.most_minutes;
    $(id).value = 15;
  }
  $('most').textContent = minutes(60 * config.most_minutes);
  chart = new TravelMap($('map'), config, {click, moved, chosen: choose, removed: remove, pointed, left: () => {
    routeJobs.drop();
  }});
  enter();
}

/** Show a network: its modes, its clocks. */
function enter() {
  const before = $('mode').value;
  $('mode').replaceChildren(...map.modes.map(({type, label}) => new Option(label, type)));
  if (map.modes.some(({type}) => type === before)) $('mode').value = before;
  $('moment').value = map.moment;
  tellMoment();
  tellRings();
  places.clear();
  chart.near(map);
}

$('sign-in').addEventListener('submit', async event => {
  event.preventDefault();
  $('sign-in-error').textContent = '';
  try {
    await ask('POST', 'page/session', {app_id: $('app-id').value, api_key: $('api-key').value});
    await start();
  } catch (error) {
    $('sign-in-error').textContent = error.message;
  }
});

$('sign-out').addEventListener('click', async () => {
  await ask('DELETE', 'page/session');
  location.reload();
});

// Places --------------------------------------------------------------------------------------------------------------

const places = new PlaceSearch(
  {form: $('find'), field: $('find-text'), list: $('found'), note: $('find-note')},
  {
    async find(text) {
      const {lat, lng} = chart.middle;
      const query = new URLSearchParams({query: text, limit: 6, 'focus.lat': lat, 'focus.lng': lng});
      return (await ask('GET', `v4/geocoding/search?${query}`)).json.features;
    },
    chosen(where, text) {
      chart.goTo(where);
      const pin = click(where);
      if (!pin) return;
      pin.name = pin.given = text;
      listPins();
    },
  },
);

// Pins ----------------------------------------------------------------------------------------------------------------

/** Move the chosen pin, or add one; returns the pin, or null if there are as many as there can be. */
function click(where) {
  if (!chosen || picked('click') !== 'move') return add(where);
  chosen.marker.setLatLng([where.lat, where.lng]);
  moved(chosen.marker, false);
  return chosen;
}

function add(where) {
  if (pins.length >= config.most_searches) {
    tell(`There can be ${config.most_searches} pins; remove one first.`, true);
    return null;
  }
  const used = new Set(pins.map(({colour}) => colour));
  const colour = config.colours.find(each => !used.has(each));
  const pin = {marker: chart.addPin(where, colour), colour, name: '', given: '', nameJobs: new Latest()};
  pins.push(pin);
  select(pin);
  dropRoute();
  listPins();
  name(pin);
  update();
  return pin;
}

function moved(marker, isDragging) {
  const pin = pins.find(each => each.marker === marker);
  pin.given = '';
  select(pin);
  dropRoute();
  if (!isDragging) {
    pin.name = '';
    name(pin);
  }
  listPins();
  update({isDragging});
}

function choose(marker) {
  select(pins.find(each => each.marker === marker));
  dropRoute();
  listPins();
}

function remove(marker) {
  const at = pins.findIndex(each => each.marker === marker);
  marker.remove();
  pins.splice(at, 1);
  if (chosen?.marker === marker) chosen = null;
  if (!chosen && pins.length) select(pins.at(-1));
  dropRoute();
  listPins();
  ($('origins').querySelector('.name') ?? $('pin-middle')).focus();
  update();
}

function select(pin) {
  chosen = pin;
  for (const {marker} of pins) marker.getElement().classList.toggle('chosen', marker === pin.marker && pins.length > 1);
}

/** Ask for the address of a pin. */
function name(pin) {
  pin.nameJobs.run(async () => {
    const {lat, lng} = place(pin.marker.getLatLng());
    try {
      const {json} = await ask('GET', `v4/geocoding/reverse?lat=${lat}&lng=${lng}`);
      if (!pin.nameJobs.isOutdated) pin.name = pin.given || (json.features[0]?.properties.name ?? '');
    } catch { /* A pin without a name is listed by its place. */ }
    listPins();
  });
}

const byPlace = ({lat, lng}) => `${lat.toFixed(4)}, ${lng.toFixed(4)}`;
const label = pin => pin.name || byPlace(place(pin.marker.getLatLng()));

/** Where a pin is now and what it is called, for answers that outlast its place. */
const origin = pin => ({pin, name: pin.name, ...place(pin.marker.getLatLng())});

/** What an origin is called: names of pins come after their areas, and those of other places later. */
function originName(each) {
  const {lat, lng} = place(each.pin.marker.getLatLng());
  return (lat === each.lat && lng === each.lng && each.pin.name) || each.name || byPlace(each);
}

function listPins() {
  const rows = pins.map((pin, i) => {
    const text = label(pin);
    const element = pin.marker.getElement();
    element.setAttribute('aria-label', `Pin ${i + 1}: ${text}. Arrow keys move it, Delete removes it.`);
    const item = document.createElement('li');
    const main = button('', 'name');
    const words = document.createElement('span');
    words.textContent = text;
    words.title = text;
    main.innerHTML = pinImage(pin.colour, 14);
    main.append(words);
    main.setAttribute('aria-pressed', pin === chosen);
    main.addEventListener('click', () => {
      choose(pin.marker);
      chart.map.panTo(pin.marker.getLatLng());
      $('origins').children[i].querySelector('.name').focus();
    });
    const out = button('×', 'remove');
    out.setAttribute('aria-label', `Remove pin ${i + 1}: ${text}`);
    out.addEventListener('click', () => remove(pin.marker));
    item.append(main, out);
    return item;
  });
  $('origins').replaceChildren(...rows);
  $('no-origins').hidden = pins.length > 0;
  $('combine').disabled = pins.length < 2;
  $('route-middle').disabled = !chosen;
}

function button(text, className) {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = className;
  made.textContent = text;
  return made;
}

// Areas ---------------------------------------------------------------------------------------------------------------

/** The fields of a search that are the same for all requests; null if the moment is none. */
function search() {
  const moment = toUtc($('moment').value, map.timezone);
  const direction = $('direction').value;
  return moment && {direction, fields: {[`${direction}_time`]: moment, transportation: {type: $('mode').value}}};
}

/** The travel times of rings in minutes, from the shortest. */
function limits() {
  const most = $('slider').valueAsNumber, n = Number($('rings').value);
  return [...new Set(Array.from({length: n}, (_, k) => Math.max(1, Math.round(most * (k + 1) / n))))];
}

function tellRings() {
  const all = limits();
  $('rings-note').textContent = all.length > 1 ? `${all.join(', ')} min` : '';
}

function showAreas(drawn, about = null) {
  chart.showAreas(drawn);
  shown = drawn;
  shownAbout = about;
  $('download').disabled = !drawn.length;
}

function update({isDragging = false, isRefit = false} = {}) {
  areaJobs.run(async () => {
    const asked = search();
    if (!pins.length || !asked) {
      showAreas([]);
      tell(asked ? '' : 'Choose a day and a time.', !asked);
      return;
    }
    const combined = pins.length > 1 ? picked('combine') : 'each';
    const all = limits(), network = map, mode = asked.fields.transportation.type;
    if (pins.length * all.length > config.most_areas) {
      showAreas([]);
      tell(`There can be ${config.most_areas} areas at once; choose fewer rings, or remove a pin.`, true);
      return;
    }
    /** What the areas are about, by id. */
    const about = new Map();
    const named = (name, limit, facts) => {
      const id = all.length > 1 ? `${name}, ${limit} min` : name;
      about.set(id, {limit, ...facts});
      return id;
    };
    const origins = pins.map(origin);
    const searches = all.flatMap(limit => origins.map(({lat, lng}, i) => ({
      id: named(`origin ${i + 1}`, limit, {at: i, origin: '', lat, lng}),
      coords: {lat, lng}, ...asked.fields, travel_time: 60 * limit,
      level_of_detail: {scale_type: 'simple', level: 'medium'},
    })));
    const body = {[`${asked.direction}_searches`]: searches};
    if (combined !== 'each') {
      body[`${combined}s`] = all.map(limit => ({
        id: named(combined, limit, {at: -1}),
        search_ids: searches.filter(each => each.travel_time === 60 * limit).map(({id}) => id),
      }));
    }
    const found = await send('v4/time-map', body, 'application/geo+json', 'areas');
    if (!found || areaJobs.isOutdated && !isDragging) return;
    const {json, bytes, ms, warning} = found;
    const drawn = json.features.map(feature => {
      const {at, limit, ...facts} = about.get(feature.properties.search_id);
      const properties = {...feature.properties, ...facts, minutes: limit, ...asked.fields, transportation: mode};
      const own = {feature: {...feature, properties}, limit};
      return at < 0
        ? {...own, colour: COMBINED, isFilled: true}
        : {...own, origin: origins[at], colour: origins[at].pin.colour, isFilled: combined === 'each'};
    });
    // The largest first: rings lie on one another.
    showAreas(drawn.toSorted((a, b) => b.limit - a.limit), {network, mode, limits: all});
    if (isRefit) chart.fit(json.features);
    const sizes = all.map(limit => drawn.filter(each => each.isFilled && each.limit === limit)
      .map(({feature}) => km2(area(feature.geometry))).join(', '));
    const what = {each: 'Reach', union: 'Union', intersection: 'Intersection'}[combined];
    const told = all.length > 1 ? all.map((limit, k) => `${minutes(60 * limit)}: ${sizes[k]}`).join('; ') : sizes[0];
    tell(`${what}: ${told}. Answered in ${Math.round(ms)} ms, ${Math.ceil(bytes / 1000)} kB.${warned(warning)}`);
  });
}

const km2 = size => size === 0 ? 'nothing' : `${size.toLocaleString('en', {maximumSignificantDigits: 3})} km²`;

/** Square kilometres of a multipolygon, on a sphere. */
function area({coordinates}) {
  const radians = Math.PI / 180, radius = 6371.0088;
  const ring = points => Math.abs(points.slice(1).reduce((sum, [lng, lat], i) => sum
    + (lng - points[i][0]) * radians * (2 + Math.sin(lat * radians) + Math.sin(points[i][1] * radians)), 0))
    * radius * radius / 2;
  return coordinates.reduce((sum, [shell, ...holes]) => sum + ring(shell) - holes.reduce((all, hole) => all + ring(hole), 0), 0);
}

// Requests ------------------------------------------------------------------------------------------------------------

/** The answer to a request with its time in ms; undefined after an error, which is shown. */
async function send(path, body, accept, what, note = tell) {
  request = {url: new URL(path, location.href).href, accept, body};
  showCode(what);
  const started = performance.now();
  const patience = setTimeout(() => note('Working. The first answers of a service take longer.'), PATIENCE_MS);
  try {
    return {...await ask('POST', path, body, accept), ms: performance.now() - started};
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401) location.reload();
    if (what === 'areas') showAreas([]);
    note(error.message, true);
  } finally {
    clearTimeout(patience);
  }
}

/** A warning of the service, such as a feed without service on the day, as the end of a message. */
const warned = warning => warning ? ` Note: ${warning}` : '';

function tell(text, isError = false) {
  $('status').textContent = text;
  $('status').classList.toggle('error', isError);
}

function showCode(what) {
  if (what) $('request-name').textContent = `The request that the page sent last, for ${what}.`;
  $('code').textContent = request ? snippet(picked('language'), request) : '';
  $('copied').textContent = '';
}

async function copy(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return 'Copied.';
  } catch {
    // Pages that are not served over https, nor by this machine, have no clipboard.
    getSelection().selectAllChildren(element);
    return document.execCommand('copy') ? 'Copied.' : 'Selected; press Ctrl+C.';
  }
}

// Routes --------------------------------------------------------------------------------------------------------------

function pointed(where) {
  if ($('hover').checked && chosen) route(where);
}

function route(where) {
  routeJobs.run(async () => {
    const asked = search();
    if (!chosen || !asked) return;
    const round = routeRound;
    const isDeparture = asked.direction === 'departure';
    const body = {
      locations: [{id: 'pin', coords: place(chosen.marker.getLatLng())}, {id: 'pointer', coords: where}],
      [`${asked.direction}_searches`]: [{
        id: 'route', [isDeparture ? 'departure_location_id' : 'arrival_location_id']: 'pin',
        [isDeparture ? 'arrival_location_ids' : 'departure_location_ids']: ['pointer'], ...asked.fields,
        properties: ['travel_time', 'distance', 'route'],
      }],
    };
    const found = await send('v4/routes', body, 'application/json', 'a route', tellRoute);
    const way = found?.json.results[0].locations[0]?.properties[0];
    if (round !== routeRound) return tellRoute('');
    if (!way) {
      chart.hideRoute();
      if (found) tellRoute('There is no route.');
      return;
    }
    const {parts} = way.route;
    const long = `${minutes(way.travel_time)}, ${distance(way.distance)}`;
    chart.showRoute(parts, where, long);
    const rides = parts.filter(part => part.type === 'public_transport');
    // The mode of a part is that of the contract, which has none for trams; its instruction names the vehicle.
    tellRoute([long, ...rides.map(ride => ride.directions)].join('. '));
  });
}

/** Forget the route that is shown: its ends, or what it was asked for, have changed. */
function dropRoute() {
  routeRound += 1;
  routeJobs.drop();
  chart.hideRoute();
  tellRoute('');
}

function tellRoute(text, isError = false) {
  $('route').textContent = text;
  $('route').classList.toggle('error', isError);
}

// Travel times to points ----------------------------------------------------------------------------------------------

function tellTable(text, isError = false) {
  $('matrix-note').textContent = text;
  $('matrix-note').classList.toggle('error', isError);
}

/** Forget the table that is shown, or that is being computed. */
function dropTable() {
  tableRound += 1;
  table = null;
  $('table').replaceChildren();
  $('copy-table').disabled = $('download-table').disabled = true;
  chart.showPoints([]);
  tellTable('');
}

async function compute() {
  const {points, wrong} = parse($('points').value);
  const asked = search();
  dropTable();
  const round = tableRound;
  const note = (text, isError) => round === tableRound && tellTable(text, isError);
  if (wrong.length) return note(wrong.slice(0, 3).join('; '), true);
  if (!points.length) return note('Paste at least one point.', true);
  if (points.length > config.most_targets) return note(`At most ${config.most_targets} points; got ${points.length}.`, true);
  if (!pins.length || !asked) return note('Place a pin on the map first, and choose a time.', true);
  const origins = pins.map(origin), longest = 60 * $('slider').valueAsNumber;
  const isDeparture = asked.direction === 'departure';
  const body = {
    locations: [
      ...origins.map(({lat, lng}, i) => ({id: `origin ${i + 1}`, coords: {lat, lng}})),
      ...points.map((point, i) => ({id: String(i), coords: {lat: point.lat, lng: point.lng}})),
    ],
    [`${asked.direction}_searches`]: origins.map((_, i) => ({
      id: `origin ${i + 1}`, [isDeparture ? 'departure_location_id' : 'arrival_location_id']: `origin ${i + 1}`,
      [isDeparture ? 'arrival_location_ids' : 'departure_location_ids']: points.map((_, k) => String(k)),
      ...asked.fields, travel_time: longest, properties: ['travel_time'],
    })),
  };
  const found = await send('v4/time-filter', body, 'application/json', 'travel times', note);
  if (!found || round !== tableRound) return;
  const seconds = points.map(() => origins.map(() => null));
  for (const {search_id: id, locations} of found.json.results) {
    for (const {id: point, properties} of locations) seconds[Number(point)][Number(id.slice(7)) - 1] = properties[0].travel_time;
  }
  table = {origins, rows: points.map((point, k) => [point.name, ...seconds[k]])};
  showTable();
  const inside = seconds.filter(row => row.some(value => value !== null)).length;
  note(`${inside} of ${points.length} within ${minutes(longest)}; ${Math.round(found.ms)} ms.${warned(found.warning)}`);
  const shown = points.map((point, k) => {
    const known = seconds[k].filter(value => value !== null);
    const best = Math.min(...known);
    const at = seconds[k].indexOf(best);
    return {...point, colour: known.length ? origins[at].pin.colour : '#8d887e', text: known.length ? minutes(best) : 'not in reach'};
  });
  chart.showPoints(shown);
  chart.fitPoints(points);
}

function showTable() {
  const made = document.createElement('table');
  headedTable().forEach((row, i) => {
    const line = (i ? made.tBodies[0] ?? made.createTBody() : made.createTHead()).insertRow();
    row.forEach((value, k) => {
      const cell = document.createElement(i && k ? 'td' : 'th');
      if (!(i && k)) cell.scope = i ? 'row' : 'col';
      if (i && k) cell.textContent = value === null ? '–' : minutes(value);
      else if (!i && k) cell.innerHTML = pinImage(table.origins[k - 1].pin.colour, 12) + `<span class="unseen"></span>`;
      else cell.textContent = value;
      if (!i && k) cell.lastChild.textContent = value;
      line.append(cell);
    });
  });
  $('table').replaceChildren(made);
  $('copy-table').disabled = $('download-table').disabled = false;
}

const headedTable = () => [['point', ...table.origins.map(originName)], ...table.rows];
const tableAsCsv = () => csv(headedTable(), map.attribution);

// Controls ------------------------------------------------------------------------------------------------------------

function tellMoment() {
  const isTimetable = !['walking', 'cycling', 'driving'].includes($('mode').value.split('+')[0])
    || /public_transport|train|bus|coach/.test($('mode').value);
  const dates = isTimetable && map.dates ? ` The timetable has ${map.dates[0]} to ${map.dates[1]}.` : '';
  $('moment-note').textContent = `Clocks of ${map.timezone}.${dates}`;
}

$('slider').addEventListener('input', () => {
  $('minutes').value = $('slider').value;
  tellRings();
  update({isDragging: true});
});
$('slider').addEventListener('change', () => update({isRefit: true}));
$('minutes').addEventListener('change', () => {
  const wanted = Math.round($('minutes').valueAsNumber || 15);
  $('minutes').value = $('slider').value = Math.min(Math.max(wanted, 1), config.most_minutes);
  tellRings();
  update({isRefit: true});
});
$('rings').addEventListener('change', () => {
  tellRings();
  update({isRefit: true});
});
$('download').addEventListener('click', () => {
  const {network, mode, limits} = shownAbout;
  const features = shown.filter(({isFilled}) => isFilled).map(({feature, origin}) => (
    origin ? {...feature, properties: {...feature.properties, origin: originName(origin)}} : feature));
  save(fileName(['areas', network.name, mode, ...limits, 'min'], 'geojson'), 'application/geo+json',
    geojson(features, network.attribution));
});
$('download-table').addEventListener('click', () => {
  save(fileName(['travel-times', map.name], 'csv'), 'text/csv', tableAsCsv());
});
$('mode').addEventListener('change', () => {
  tellMoment();
  dropRoute();
  update({isRefit: true});
});
for (const id of ['direction', 'moment']) {
  $(id).addEventListener('change', () => {
    dropRoute();
    update();
  });
}
$('network').addEventListener('change', () => {
  map = config.maps[$('network').selectedIndex];
  for (const {marker} of pins) marker.remove();
  pins = [];
  chosen = null;
  dropRoute();
  dropTable();
  listPins();
  update();
  enter();
});
$('combine').addEventListener('change', () => update());
$('pin-middle').addEventListener('click', () => add(chart.middle));
$('hover').addEventListener('change', () => {
  dropRoute();
  tellRoute($('hover').checked && !chosen ? 'Place a pin first.' : '');
});
$('route-middle').addEventListener('click', () => route(chart.middle));
$('compute').addEventListener('click', compute);
$('copy-table').addEventListener('click', async () => {
  $('matrix-note').textContent = await copy(tableAsCsv(), $('table'));
});
document.querySelectorAll('input[name=language]').forEach(each => each.addEventListener('change', () => showCode()));
$('copy').addEventListener('click', async () => {
  $('copied').textContent = await copy($('code').textContent, $('code'));
});

listPins();
start();
