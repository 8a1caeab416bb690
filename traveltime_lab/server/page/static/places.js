// The search for places by name: a field, what it finds, and what becomes of it.

/** `on` has the functions find(text), which returns features of GeoJSON, and chosen(place, name). */
export class PlaceSearch {
  constructor({form, field, list, note}, on) {
    this.field = field;
    this.list = list;
    this.note = note;
    this.on = on;
    this.round = 0;
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.#search();
    });
    field.addEventListener('input', () => {
      // Also by the field's own button, which empties it.
      if (!field.value) this.clear();
    });
    list.addEventListener('keydown', event => {
      if (event.key !== 'Escape') return;
      this.clear();
      field.focus();
    });
  }

  clear() {
    this.round += 1;
    this.list.replaceChildren();
    this.#tell('');
  }

  async #search() {
    const text = this.field.value.trim();
    this.clear();
    if (!text) return this.#tell('Type a place or an address.', true);
    const round = this.round;
    try {
      const found = await this.on.find(text);
      if (round !== this.round) return;
      this.#tell(found.length ? '' : `There is no place called ${text} in this map.`, !found.length);
      this.list.replaceChildren(...found.map(feature => this.#row(feature)));
    } catch (error) {
      if (round === this.round) this.#tell(error.message, true);
    }
  }

  #row({properties: {label, name}, geometry: {coordinates: [lng, lat]}}) {
    const item = document.createElement('li');
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = label || name;
    button.addEventListener('click', () => {
      this.clear();
      this.on.chosen({lat, lng}, name || label);
    });
    item.append(button);
    return item;
  }

  #tell(text, isError = false) {
    this.note.textContent = text;
    this.note.classList.toggle('error', isError);
  }
}
