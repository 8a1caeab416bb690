// The map: base map from the service, pins, areas, a route and points. Knows nothing of requests.

const L = window.L;
const PIN = {width: 28, height: 40};
const COLOURS = {walk: '#1c1c1c', cycling: '#00796b', car: '#b0165c'};
const RIDE = '#6a1b9a';

export class TravelMap {
  /** `on` has the functions click(place), moved(pin, isDragging), chosen(pin), removed(pin), pointed(place), left(). */
  constructor(element, config, on) {
    this.on = on;
    this.tilePx = config.tile_px;
    const bounds = L.latLngBounds(config.maps.flatMap(({bounds: [w, s, e, n]}) => [[s, w], [n, e]]));
    this.map = L.map(element, {
      zoomSnap: 0.5, minZoom: 4, maxZoom: 19, attributionControl: false, zoomControl: false,
      maxBounds: bounds.pad(0.6), worldCopyJump: false,
    });
    L.control.zoom({position: 'topright'}).addTo(this.map);
    L.control.scale({imperial: false, position: 'bottomleft'}).addTo(this.map);
    const names = [...new Set(config.maps.map(({attribution}) => attribution))];
    const credits = L.control.attribution({prefix: false}).addTo(this.map);
    for (const name of names) credits.addAttribution(escape(name));
    for (const [name, level] of [['areas', 300], ['streets', 350], ['route', 450], ['points', 460]]) {
      this.map.createPane(name).style.zIndex = level;
    }
    const drawn = bounds.pad(0.6);
    const tiles = {
      tileSize: config.tile_px, zoomOffset: -Math.log2(config.tile_px / 256), bounds: drawn, maxZoom: 19, maxNativeZoom: 19,
      minNativeZoom: 1, noWrap: true, updateWhenZooming: false, keepBuffer: 1,
    };
    this.ground = L.tileLayer(config.tiles.replace('{layer}', 'ground'), {...tiles, pane: 'tilePane'}).addTo(this.map);
    this.streets = L.tileLayer(config.tiles.replace('{layer}', 'streets'), {...tiles, pane: 'streets'}).addTo(this.map);
    this.areas = L.layerGroup().addTo(this.map);
    this.route = L.layerGroup().addTo(this.map);
    this.points = L.layerGroup().addTo(this.map);
    this.map.on('click', event => on.click(place(event.latlng)));
    this.map.on('mousemove', event => on.pointed(place(event.latlng)));
    this.map.on('mouseout', () => on.left());
  }

  show({bounds: [west, south, east, north]}) {
    this.map.fitBounds([[south, west], [north, east]], {animate: false});
  }

  /** Show a place at a scale at which one can walk about. */
  near({middle: [lng, lat]}) {
    this.map.setView([lat, lng], 13, {animate: false});
  }

  /** Show a place, no farther away than before. */
  goTo({lat, lng}) {
    this.map.setView([lat, lng], Math.max(this.map.getZoom(), 13));
  }

  get middle() {
    return place(this.map.getCenter());
  }

  addPin({lat, lng}, colour) {
    const icon = L.divIcon({
      className: 'pin', html: pinImage(colour), iconSize: [PIN.width, PIN.height], iconAnchor: [PIN.width / 2, PIN.height - 2],
    });
    const pin = L.marker([lat, lng], {icon, draggable: true, autoPan: true, riseOnHover: true}).addTo(this.map);
    pin.on('drag', () => this.on.moved(pin, true));
    pin.on('dragend', () => this.on.moved(pin, false));
    pin.on('click', () => this.on.chosen(pin));
    pin.getElement().addEventListener('keydown', event => this.#pressed(pin, event));
    return pin;
  }

  /** Arrow keys move a pin, by more with Shift; Delete removes it. */
  #pressed(pin, event) {
    const step = event.shiftKey ? 40 : 8;
    const [x, y] = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step]}[event.key] ?? [];
    if (x !== undefined) {
      const point = this.map.latLngToContainerPoint(pin.getLatLng()).add([x, y]);
      pin.setLatLng(this.map.containerPointToLatLng(point));
      this.on.moved(pin, false);
    } else if (event.key === 'Delete' || event.key === 'Backspace') {
      this.on.removed(pin);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Draw features of GeoJSON; each has a colour and whether it is filled. */
  showAreas(drawn) {
    this.areas.clearLayers();
    for (const {feature, colour, isFilled} of drawn) {
      L.geoJSON(feature, {
        pane: 'areas', interactive: false,
        style: {
          color: colour, weight: isFilled ? 2 : 1.5, dashArray: isFilled ? null : '5 4', fill: isFilled, fillColor: colour,
          fillOpacity: drawn.length > 1 ? 0.24 : 0.32, smoothFactor: 0.7,
        },
      }).addTo(this.areas);
    }
  }

  /** Zoom out, or pan, if areas are not in view. */
  fit(features) {
    const bounds = L.geoJSON(features).getBounds();
    if (bounds.isValid() && !this.map.getBounds().contains(bounds)) this.map.fitBounds(bounds, {padding: [24, 24], maxZoom: 15});
  }

  showRoute(parts, end, text) {
    this.route.clearLayers();
    // Steps of one mode are one line, so that its dots are even.
    const legs = [];
    for (const {mode, coords} of parts) {
      const line = coords.map(({lat, lng}) => [lat, lng]);
      if (legs.at(-1)?.mode === mode) legs.at(-1).line.push(...line);
      else legs.push({mode, line});
    }
    const shared = {pane: 'route', interactive: false};
    L.polyline(legs.map(({line}) => line), {...shared, color: '#fff', weight: 8, opacity: 0.85}).addTo(this.route);
    for (const {mode, line} of legs) {
      const isWalk = mode === 'walk';
      const style = {color: COLOURS[mode] ?? RIDE, weight: isWalk ? 4 : 4.5, dashArray: isWalk ? '0.1 7' : null};
      L.polyline(line, {...shared, ...style}).addTo(this.route);
    }
    L.tooltip([end.lat, end.lng], {content: escape(text), className: 'trip', direction: 'top', offset: [0, -8], opacity: 1})
      .addTo(this.route);
  }

  hideRoute() {
    this.route.clearLayers();
  }

  showPoints(points) {
    this.points.clearLayers();
    for (const {lat, lng, name, colour, text} of points) {
      L.circleMarker([lat, lng], {pane: 'points', radius: 6, color: '#fff', weight: 1.5, fillColor: colour, fillOpacity: 1})
        .bindTooltip(escape(`${name}: ${text}`)).addTo(this.points);
    }
  }

  fitPoints(points) {
    const bounds = L.latLngBounds(points.map(({lat, lng}) => [lat, lng]));
    if (!this.map.getBounds().contains(bounds)) this.map.fitBounds(bounds.extend(this.map.getCenter()), {padding: [30, 30]});
  }
}

/** A pin as SVG. Colours are those of the service, so nothing needs escaping. */
export function pinImage(colour, width = PIN.width) {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${width * PIN.height / PIN.width}" viewBox="0 0 28 40"`
    + ` aria-hidden="true"><path d="M14 1.5C7 1.5 1.5 7 1.5 14 1.5 23 14 38 14 38S26.5 23 26.5 14C26.5 7 21 1.5 14 1.5Z"`
    + ` fill="${colour}" stroke="#fff" stroke-width="2"/><circle cx="14" cy="14" r="4.5" fill="#fff"/></svg>`;
}

export function place({lat, lng}) {
  // Five decimals are a metre.
  return {lat: Number(lat.toFixed(5)), lng: Number(L.Util.wrapNum(lng, [-180, 180], true).toFixed(5))};
}

function escape(text) {
  const element = document.createElement('span');
  element.textContent = text;
  return element.innerHTML;
}
