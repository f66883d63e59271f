/**
 * The time within which a prompt event ends, however slow the machine is, in milliseconds. Nothing delays such an event, or a
 * timeout of milliseconds ends it. The events that a test distinguishes from it last a minute, or for ever.
 */
export const inTimeMs = 30_000;
