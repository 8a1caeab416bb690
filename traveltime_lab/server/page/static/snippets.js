// A request as code to run elsewhere. Credentials come from the environment, so that code can be shared.

const ID = 'TRAVELTIME_LAB_APP_ID', KEY = 'TRAVELTIME_LAB_API_KEY';

/** The request {url, accept, body} in curl, python or javascript. */
export function snippet(language, request) {
  return {curl, python, javascript}[language](request);
}

function curl({url, accept, body}) {
  const data = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return `curl '${url}' \\
  -H "X-Application-Id: $${ID}" -H "X-Api-Key: $${KEY}" \\
  -H 'Content-Type: application/json' -H 'Accept: ${accept}' \\
  -d '${data}'
`;
}

function python({url, accept, body}) {
  return `import json
import os
from urllib.request import Request, urlopen

body = ${literal(body)}
headers = {
    "X-Application-Id": os.environ["${ID}"],
    "X-Api-Key": os.environ["${KEY}"],
    "Content-Type": "application/json",
    "Accept": "${accept}",
}
request = Request("${url}", json.dumps(body).encode(), headers)
with urlopen(request) as response:
    answer = json.load(response)
print(json.dumps(answer))
`;
}

function javascript({url, accept, body}) {
  return `const response = await fetch("${url}", {
  method: "POST",
  headers: {
    "X-Application-Id": process.env.${ID},
    "X-Api-Key": process.env.${KEY},
    "Content-Type": "application/json",
    "Accept": "${accept}",
  },
  body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')}),
});
if (!response.ok) throw new Error(await response.text());
const answer = await response.json();
console.log(JSON.stringify(answer));
`;
}

/** A value in Python's notation. */
function literal(value, indent = '') {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const deeper = `${indent}    `;
  const entries = Array.isArray(value)
    ? value.map(item => literal(item, deeper))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${literal(item, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const line = open + entries.join(', ') + close;
  if (line.length < 90 && !line.includes('\n')) return line;
  return `${open}\n${entries.map(entry => `${deeper}${entry},\n`).join('')}${indent}${close}`;
}
