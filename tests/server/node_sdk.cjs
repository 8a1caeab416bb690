// Calls every method of the public Node client (traveltime-api) against a service and prints what each gave, as JSON.
// Arguments: the folder that node_modules is in, the address, application id, API key.

const path = require('path');

const [folder, address, applicationId, apiKey] = process.argv.slice(2);
const { TravelTimeClient, TravelTimeProtoClient } = require(path.join(folder, 'node_modules', 'traveltime-api'));

const client = new TravelTimeClient({ applicationId, apiKey }, { baseURL: `${address}/v4` });
const proto = new TravelTimeProtoClient({ applicationId, apiKey }, { baseUrl: `${address}/api/v3` });
const stranger = new TravelTimeClient({ applicationId, apiKey: 'wrong' }, { baseURL: `${address}/v4` });

const station = { lat: 60.1711, lng: 24.9414 };
const forum = { lat: 60.1690, lng: 24.9383 };
const market = { lat: 60.1679, lng: 24.9524 };
const sea = { lat: 40, lng: -40 };
const walking = { type: 'walking' };
const departure_time = new Date('2026-03-02T08:00:00Z').toISOString();
const locations = [station, forum, market].map((coords, i) => ({ id: `p${i}`, coords }));
const one = { id: 'a', coords: station, departure_time, travel_time: 300, transportation: walking };
const quick = {
  id: 'f', coords: station, travel_time: 300, transportation: walking, arrival_time_period: 'weekday_morning',
};
const matrix = {
  id: 'm', departure_location_id: 'p0', arrival_location_ids: ['p1', 'p2'], departure_time, travel_time: 1800,
  transportation: walking, properties: ['travel_time', 'distance'],
};
const both = [{ id: 'u', search_ids: ['a', 'b'] }];
const pair = { departure_searches: [one, { ...one, id: 'b', coords: forum }], unions: both };
const cells = (resolution) => ({ resolution, properties: ['min', 'max', 'mean'], departure_searches: [one] });
const fastCells = (resolution) => ({
  resolution, properties: ['mean'], arrival_searches: { one_to_many: [quick], many_to_one: [{ ...quick, id: 'g' }] },
});
const fastMatrix = {
  locations,
  arrival_searches: {
    one_to_many: [{
      id: 'm', departure_location_id: 'p0', arrival_location_ids: ['p1', 'p2'], transportation: walking,
      travel_time: 1800, arrival_time_period: 'weekday_morning', properties: ['travel_time', 'distance'],
    }],
  },
};
const zones = {
  departure_searches: [{ ...one, reachable_postcodes_threshold: 0.1, properties: ['coverage', 'travel_time_all'] }],
};
const postcodes = { departure_searches: [{ ...one, properties: ['travel_time', 'distance'] }] };
const fastMap = { arrival_searches: { one_to_many: [quick], many_to_one: [] } };
const distance = { departure_searches: [{ ...one, travel_time: undefined, travel_distance: 400 }] };
const routes = { locations, departure_searches: [{ ...matrix, properties: ['travel_time', 'distance', 'route'] }] };
const many = {
  coordsFrom: [station, forum], coordsTo: [market, forum, sea], transportation: walking, travelTime: 1800,
  leaveTime: departure_time, properties: ['travel_time', 'distance'],
};
const protoMatrix = {
  country: 'fi', departureLocation: station, destinationCoordinates: [forum, market, sea], transportation: 'walking',
  travelTime: 1800,
};
const protoCells = (resolution) => ({
  country: 'fi', arrivalLocation: station, transportation: 'walking', travelTime: 300, resolution,
  properties: ['min', 'max', 'mean'],
});
const formats = [
  'application/json', 'application/vnd.wkt+json', 'application/vnd.wkt-no-holes+json', 'application/geo+json',
  'application/vnd.bounding-boxes+json', 'application/kml+xml', 'application/vnd.google-earth.kml+xml',
];

const calls = {
  mapInfo: () => client.mapInfo(),
  supportedLocations: () => client.supportedLocations({ locations: [...locations, { id: 'sea', coords: sea }] }),
  timeFilter: () => client.timeFilter({ locations, departure_searches: [matrix] }),
  timeFilterBatch: () => client.timeFilterBatch([{ locations, departure_searches: [matrix] }, { locations }]),
  timeFilterFast: () => client.timeFilterFast(fastMatrix),
  timeFilterFastBatch: () => client.timeFilterFastBatch([fastMatrix]),
  manyToManyMatrix: () => client.manyToManyMatrix(many),
  manyToManyMatrixFast: () => client.manyToManyMatrixFast(many),
  timeFilterPostcodes: () => client.timeFilterPostcodes(postcodes),
  timeFilterPostcodesBatch: () => client.timeFilterPostcodesBatch([postcodes]),
  timeFilterPostcodeDistricts: () => client.timeFilterPostcodeDistricts(zones),
  timeFilterPostcodeDistrictsBatch: () => client.timeFilterPostcodeDistrictsBatch([zones]),
  timeFilterPostcodeSectors: () => client.timeFilterPostcodeSectors(zones),
  timeFilterPostcodeSectorsBatch: () => client.timeFilterPostcodeSectorsBatch([zones]),
  timeMap: () => Promise.all(formats.map((format) => client.timeMap(pair, format))),
  timeMapBatch: () => client.timeMapBatch([pair], formats[1]),
  timeMapFast: () => Promise.all(formats.slice(0, 5).map((format) => client.timeMapFast(fastMap, format))),
  timeMapFastBatch: () => client.timeMapFastBatch([fastMap]),
  distanceMap: () => Promise.all(formats.map((format) => client.distanceMap(distance, format))),
  distanceMapBatch: () => client.distanceMapBatch([distance]),
  routes: () => client.routes(routes),
  routesBatch: () => client.routesBatch([routes]),
  h3: () => client.h3(cells(9)),
  h3Fast: () => client.h3Fast(fastCells(9)),
  geohash: () => client.geohash(cells(7)),
  geohashFast: () => client.geohashFast(fastCells(7)),
  geocoding: () => client.geocoding('Forum', { params: { limit: 2, 'within.country': ['FI', 'SE'] } }),
  geocodingBatch: () => client.geocodingBatch(['Forum']),
  geocodingReverse: () => client.geocodingReverse(station),
  geocodingReverseBatch: () => client.geocodingReverseBatch([station]),
  'proto.timeFilterFast': () => proto.timeFilterFast(protoMatrix),
  'proto.timeFilterFastDistance': () => proto.timeFilterFastDistance(protoMatrix),
  'proto.timeFilterFastFares': () => proto.timeFilterFastFares(protoMatrix),
  'proto.geohashFast': () => proto.geohashFast(protoCells(7)),
  'proto.h3Fast': () => proto.h3Fast(protoCells(9)),
  'error.credentials': () => stranger.mapInfo(),
  'error.schema': () => client.timeMap({ departure_searches: [{ ...one, travel_time: 1e6 }] }),
  'error.coverage': () => client.timeMap({ departure_searches: [{ ...one, coords: sea }] }),
  'error.timetable': () => client.timeMap({ departure_searches: [{ ...one, transportation: { type: 'bus' } }] }),
  'error.format': () => client.timeMapFast(fastMap, 'application/kml+xml'),
  'error.proto': () => proto.timeFilterFast({ ...protoMatrix, departureLocation: sea }),
};

const methods = (object, prefix) => [
  ...Object.getOwnPropertyNames(object), ...Object.getOwnPropertyNames(Object.getPrototypeOf(object)),
].filter((name) => typeof object[name] === 'function').map((name) => prefix + name);

(async () => {
  const results = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      results[name] = { answer: await call() };
    } catch (error) {
      const { status, errorCode, description, additionalInfo, isRetryable, message } = error;
      results[name] = { error: { status, errorCode, description, additionalInfo, isRetryable, message } };
    }
  }
  const known = [...methods(client, ''), ...methods(proto, 'proto.')];
  const replacer = (key, value) => (value instanceof Error
    ? { status: value.status, errorCode: value.errorCode, description: value.description } : value);
  process.stdout.write(JSON.stringify({ known, results }, replacer));
})();
