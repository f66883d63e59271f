/**
 * What a timeout of milliseconds ends, or nothing holds up, has ended long before this many milliseconds, however slow the
 * machine; what is meant to be told from it goes on for a minute, or for ever.
 */
export const inTimeMs = 30_000;
