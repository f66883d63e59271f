/**
 * A date, a time, an offset from UTC, and tags in brackets. RFC 9557 does not allow a tag that begins with
 * `!` to be ignored.
 */
const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)(?:(Z|[+-]\d\d:\d\d)|[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:\s?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)(?:\[[^![\]]+\])*)?)?$/i;

/**
 * The range of RFC 3339, whose years have four digits. With an offset, a time may be outside of it: 9999-12-31T23:59:59-05:00
 * is in the year 10000.
 */
const firstTime = Date.parse('0000-01-01T00:00:00Z');
const lastTime = Date.parse('9999-12-31T23:59:59.999Z');

/** The forms that parseDateTime reads, for descriptions. */
export const dateTimeForms =
  'The forms that are read: a date, `2026-11-22`; a date with an offset, `2026-11-22Z`, `2026-11-22+02:00`; a date and a time, `2026-11-22T10:30`, `2026-11-22 10:30:00.123`, each also with an offset, `Z`, `UTC`, `+02:00`, `+0200` or `+02`. Without an offset, the time is UTC. In `2026-11-22T10:30:00+01:00[Europe/Paris]`, the offset counts, and the time zone in brackets is ignored. A time zone without an offset, a time outside of the years 0000 to 9999 in UTC, and any other form are not read.';

/** The time that a text of the bank, or of an operator, means: see `dateTimeForms`. Null if it is not a time. */
export function parseDateTime(text: string): Date | null {
  const parts = dateTime.exec(text.trim());
  if (parts === null) return null;
  const [, year, month, day, ofDate, hour = '00', minute = '00', second = '00', fraction = '0', ofTime] =
    parts;
  const zone = (ofDate ?? ofTime ?? 'Z')
    .toUpperCase()
    .replace(/^(UTC|GMT)$/, 'Z')
    .replace(/^([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}${zone}`);
  // JavaScript's Date would convert the 31st of February to a day in March.
  const isDay = new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() === Number(day);
  const time = date.getTime();
  return firstTime <= time && time <= lastTime && isDay ? date : null;
}
