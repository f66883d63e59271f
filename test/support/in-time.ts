/**
 * The time within which a prompt event ends, however slow the machine is, in milliseconds. Nothing delays such an event, or a
 * timeout of some milliseconds ends it. The events from which a test distinguishes it take a minute or never end.
 */
export const inTimeMs = 30_000;
