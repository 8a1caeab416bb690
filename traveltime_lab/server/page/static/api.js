// Requests to the service that the page comes from.

/** An answer that is an error, with the service's own words. */
export class Refusal extends Error {
  constructor(status, body) {
    const details = Object.entries(body?.additional_info ?? {}).flatMap(([, texts]) => texts);
    super([body?.description ?? `The service answered with status ${status}`, ...details].join('. '));
    this.status = status;
  }
}

/** The answer to a request: its size, its JSON, and what the service warns of; throws a Refusal unless it is a success. */
export async function ask(method, path, body, accept = 'application/json') {
  const headers = {Accept: accept};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, {method, headers, body: body === undefined ? undefined : JSON.stringify(body)});
  } catch {
    throw new Refusal(0, {description: 'The service does not answer; is it still running?'});
  }
  const text = await response.text();
  let json = null;
  try {
    json = JSON.parse(text);
  } catch { /* No answer, or one of something between page and service. */ }
  if (!response.ok) throw new Refusal(response.status, json);
  return {bytes: text.length, json, warning: response.headers.get('X-Warning')};
}

/** Runs one task at a time and of those that wait only the latest: pins and pointers move faster than answers come. */
export class Latest {
  #isBusy = false;
  #next = null;

  async run(task) {
    if (this.#isBusy) {
      this.#next = task;
      return;
    }
    this.#isBusy = true;
    try {
      for (let now = task; now; now = this.#next) {
        this.#next = null;
        await now();
      }
    } finally {
      this.#isBusy = false;
      if (this.#next) this.run(this.#next);
    }
  }

  /** Whether there is a newer task than the one that runs. */
  get isOutdated() {
    return this.#next !== null;
  }

  drop() {
    this.#next = null;
  }
}
