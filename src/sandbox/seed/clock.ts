const day = 86_400_000;

/** A time of day (UTC) so many days before the start, as an ISO 8601 text. */
export type Ago = (days: number, time?: string) => string;

/** `now`: the start, in milliseconds since 1970. */
export const agoFrom =
  (now: number): Ago =>
  (days, time = '09:00') =>
    `${new Date(now - days * day).toISOString().slice(0, 10)}T${time}:00.000Z`;
