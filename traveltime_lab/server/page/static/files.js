// Files that the browser saves: areas as GeoJSON, tables as CSV.

/** Let the browser save a text under a name. */
export function save(name, media, text) {
  const address = URL.createObjectURL(new Blob([text], {type: media}));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A name of a file: letters, digits and hyphens of some texts. */
export const fileName = (texts, ending) =>
  `${texts.map(text => String(text).replaceAll(/[^\p{L}\p{N}]+/gu, '-')).join('-')}.${ending}`;

/** Features of areas with what they are about, as a text. */
export function geojson(features, attribution) {
  return JSON.stringify({type: 'FeatureCollection', attribution, features}, null, 1);
}
