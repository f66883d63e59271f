/** The longest wait that a server may ask for, in seconds: a wrong header or clock must not stop an app for hours. */
export const longestRetryAfter = 60;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The three forms of a date in HTTP (RFC 9110, 5.6.7). The last has no zone and is in UTC too. */
const imfFixdate =
  /^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/;
const rfc850 =
  /^[A-Z][a-z]+day, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/;
const asctime =
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/;

/** A date of HTTP in milliseconds; NaN for any other text. */
function parseHttpDate(text: string, now: number): number {
  const {
    day = '',
    month = '',
    year = '',
    time = '',
  } = (imfFixdate.exec(text) ?? rfc850.exec(text) ?? asctime.exec(text))?.groups ?? {};
  const number = String(months.indexOf(month) + 1).padStart(2, '0');
  const at = (fullYear: string) => Date.parse(`${fullYear}-${number}-${day.replace(' ', '0')}T${time}Z`);
  if (year.length !== 2) return at(year);
  // Two digits are a year of this century, unless it is more than 50 years ahead.
  const next = at(`20${year}`);
  return new Date(next).getUTCFullYear() > new Date(now).getUTCFullYear() + 50 ? at(`19${year}`) : next;
}

/**
 * The seconds to wait that a header `Retry-After` asks for, at most longestRetryAfter. It has digits or a date; a date in the past
 * means now. Undefined if the header is absent or has another form.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  const text = header ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : (parseHttpDate(text, now) - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), longestRetryAfter);
}
