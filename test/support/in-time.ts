/**
 * A limit for events that a timeout of milliseconds ends, or that nothing delays: they end long before this time, in
 * milliseconds, however slow the machine is. Events that must be distinguished from them last a minute, or for ever.
 */
export const inTimeMs = 30_000;
