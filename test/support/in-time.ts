/**
 * The time within which a prompt event ends, however slow the machine is, in milliseconds. A test
 * distinguishes such an event from one that takes a minute or never ends.
 */
export const inTimeMs = 30_000;
