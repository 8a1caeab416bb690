'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const map = L.map('map', {zoomSnap: 0.5, maxZoom: 19, zoomControl: false, attributionControl: false});
  L.control.zoom({position: 'topright'}).addTo(map);
  L.control.scale({imperial: false, position: 'bottomleft'}).addTo(map);
  L.control.attribution({prefix: false}).addAttribution(data.attribution).addTo(map);
  for (const [name, level] of [['ground', 150], ['under', 405], ['areas', 410], ['streets', 420], ['over', 425]]) {
    map.createPane(name).style.zIndex = level;
  }
  map.getPane('areas').style.opacity = data.opacity;

  // base_maps.js

  const draw = (features, pane) => L.geoJSON(features, {
    pane, interactive: false, style: feature => feature.properties.style,
    pointToLayer: (_, at) => L.circleMarker(at, {pane, radius: 5, interactive: false}),
  }).addTo(map);
  draw(data.areas, 'areas');
  for (const {over, features} of data.layers) draw(features, over ? 'over' : 'under');
  for (const {name, at, pin} of data.origins) {
    const words = document.createElement('span');
    words.textContent = name;
    const icon = L.icon({iconUrl: pin, iconSize: [26, 36], iconAnchor: [13, 36], tooltipAnchor: [0, -30]});
    L.marker(at, {icon, alt: name}).bindTooltip(words).addTo(map);
  }

  // Here: the smallest ring of each origin, or of their combination, that holds the point.
  const inRing = (ring, lng, lat) => {
    let inside = false;
    for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
      const [x, y] = ring[i], [u, v] = ring[j];
      if (y > lat !== v > lat && lng < (u - x) * (lat - y) / (v - y) + x) inside = !inside;
    }
    return inside;
  };
  const holds = (shape, lng, lat) => shape.coordinates.some(rings => rings.filter(ring => inRing(ring, lng, lat)).length % 2);
  const here = document.getElementById('here');
  // Room for all rows, so that the map below stays where it is.
  here.style.minHeight = `${1.4 * data.groups.length}em`;
  const limits = Object.keys(data.limits).map(Number).sort((a, b) => a - b);
  const tell = ({lat, lng}) => {
    const rows = data.groups.map(group => {
      const reached = data.areas.features.filter(({properties, geometry}) =>
        properties.origin === group && !properties.shared && holds(geometry, lng, lat)).map(({properties}) => properties[data.measure]);
      const row = document.createElement('div'), time = document.createElement('b');
      const last = data.limits[limits.at(-1)];
      time.textContent = reached.length ? `within ${data.limits[Math.min(...reached)]}` : `not within ${last}`;
      row.append(data.groups.length > 1 ? `${group}: ` : 'Here: ', time);
      return row;
    });
    here.replaceChildren(...rows);
  };
  map.on('mousemove click', event => tell(event.latlng));
  map.on('mouseout', () => here.replaceChildren());
  map.fitBounds(data.box, {padding: [30, 30], animate: false});
  drawBase();
})();
