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

/**
 * Rows below a row of headings, as a text. The attribution is the last column: a line above would be read as headings,
 * and one below as a row.
 */
export const csv = ([headings, ...rows], attribution) =>
  [[...headings, 'attribution'], ...rows.map(row => [...row, attribution])].map(row => row.map(field).join(',')).join('\n');

/** A field of a CSV file: nothing for null, numbers as they are, texts in quotation marks. */
const field = value => value === null ? '' : typeof value === 'number' ? value : `"${value.replaceAll('"', '""')}"`;
