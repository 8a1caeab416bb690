'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const map = L.map('map', {zoomSnap: 0.5, minZoom: 9, maxZoom: 18, zoomControl: false, attributionControl: false,
    maxBounds: L.latLngBounds(data.bounds)});
  L.control.zoom({position: 'topright'}).addTo(map);
  L.control.scale({imperial: false, position: 'bottomleft'}).addTo(map);
  L.control.attribution({prefix: false}).addAttribution(data.attribution).addTo(map);
  for (const [name, level] of [['ground', 200], ['areas', 300], ['streets', 350], ['places', 450]]) {
    map.createPane(name).style.zIndex = level;
  }

  // base_maps.js

  // Areas: of one mode, the farthest below.
  const colours = new Map(data.times.map(({time, colour}) => [time, colour]));
  const shown = L.layerGroup().addTo(map);
  const rows = new Map();
  const body = document.querySelector('#times tbody');
  for (const {time, colour, label} of data.times) {
    const row = body.insertRow();
    const chip = document.createElement('span');
    chip.className = 'chip';
    chip.style.background = colour;
    row.insertCell().append(chip, label);
    rows.set(time, {row, size: row.insertCell(), label});
  }
  const here = document.getElementById('here');
  const tell = time => {
    for (const [each, {row}] of rows) row.classList.toggle('here', each === time);
    here.textContent = time === null ? '' : `Here: within ${rows.get(time).label}`;
  };
  const show = (mode, isFirst) => {
    shown.clearLayers();
    const areas = data.areas.filter(area => area.mode === mode).sort((a, b) => b.time - a.time);
    for (const {time, km2, shape} of areas) {
      rows.get(time).size.textContent = `${km2.toLocaleString('en', {maximumSignificantDigits: 3})} km²`;
      L.geoJSON(shape, {pane: 'areas', style: {color: colours.get(time), weight: 1.5, fillOpacity: 0.45, className: `area-${time}`}})
        .on('mouseover', () => tell(time)).on('mouseout', () => tell(null)).addTo(shown);
    }
    const bounds = L.geoJSON(areas[0].shape).getBounds();
    if (isFirst) map.fitBounds(bounds, {padding: [40, 40], animate: false});
    else if (!map.getBounds().contains(bounds)) map.fitBounds(bounds, {padding: [40, 40]});
  };
  const modes = document.getElementById('modes');
  data.modes.forEach(({type, label}, i) => {
    const choice = document.createElement('label'), input = document.createElement('input'), words = document.createElement('span');
    Object.assign(input, {type: 'radio', name: 'mode', value: type, checked: i === data.modes.length - 1});
    input.addEventListener('change', () => show(type));
    words.textContent = label;
    choice.append(input, words);
    modes.append(choice);
  });

  for (const {name, at, is_origin: isOrigin} of data.places) {
    const words = document.createElement('span');
    words.textContent = name;
    L.circleMarker(at, {
      pane: 'places', radius: isOrigin ? 8 : 5, color: '#fff', weight: 2, fillOpacity: 1,
      fillColor: isOrigin ? data.origin_colour : '#1c1c1c',
    }).bindTooltip(words).addTo(map);
  }
  show(data.modes.at(-1).type, true);
  drawBase();
})();
