// Moments and durations: wall clocks of a place to UTC, seconds to words.

/** Milliseconds by which the clocks of a time zone are ahead of UTC at an instant. */
function offset(instant, zone) {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric',
    second: 'numeric',
  });
  const part = Object.fromEntries(format.formatToParts(instant).map(({type, value}) => [type, Number(value)]));
  return Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute, part.second) - instant;
}

/** An input's local time, such as 2026-03-02T08:00, as a moment in UTC; null if it is none. */
export function toUtc(local, zone) {
  const wall = Date.parse(`${local}Z`);
  if (Number.isNaN(wall)) return null;
  // The second guess is right also when the clocks change in between.
  const instant = wall - offset(wall - offset(wall, zone), zone);
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

export function minutes(seconds) {
  const whole = Math.round(seconds / 60);
  if (whole < 60) return `${whole} min`;
  return `${Math.floor(whole / 60)} h${whole % 60 ? ` ${whole % 60} min` : ''}`;
}

export function distance(metres) {
  return metres < 1000 ? `${Math.round(metres)} m` : `${(metres / 1000).toFixed(1)} km`;
}
