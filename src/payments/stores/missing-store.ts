/** The error for a missing store. `shown`: the store's address, without a password. */
export const missingStore = (shown: string): Error =>
  new Error(
    `There is no payment store at ${shown}: without the records of earlier payments their idempotency keys are free again, and payments may be sent twice. If it is a new store, make it with \`bankql payments init\`; if not, put the backup back, or mount the volume that holds it.`,
  );

/** The error for something at this address that is not a usable store. `reason`: what was found. */
export const otherStore = (shown: string, reason: string): Error =>
  new Error(`The payment store ${shown} cannot be used: ${reason}.`);

export const madeByOther = (version: string | number): string =>
  `another version of bankql made it (format ${version}): use that version, or make a new store elsewhere when its payments are settled`;
