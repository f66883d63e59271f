/** A date and time with its offset from UTC, as RFC 3339 writes it; many banks leave out the offset or the time. */
const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** The time that a text of the bank, or of an operator, means: UTC unless it names an offset. Null if it is not a time. */
export function parseDateTime(text: string): Date | null {
  const parts = dateTime.exec(text.trim());
  if (parts === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', offset = 'Z'] = parts;
  const zone = offset
    .toUpperCase()
    .replace(/^([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
  const fraction = /[.,](\d{1,3})/.exec(text.slice(10))?.[1] ?? '0';
  const date = new Date(
    `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}${zone}`,
  );
  // Date would read the 31st of February as a day of March.
  const isDay = new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() === Number(day);
  return Number.isNaN(date.getTime()) || !isDay ? null : date;
}
