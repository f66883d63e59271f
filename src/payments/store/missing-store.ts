/** The error for a missing store. `shown`: the store's address, without a password. */
export const missingStore = (shown: string): Error =>
  new Error(
    `There is no payment store at ${shown}: without the records of earlier payments their idempotency keys are free again, and payments may be sent twice. If it is a new store, make it with \`bankql payments init\`; if not, put the backup back, or mount the volume that holds it.`,
  );

/** The error for an address at which there is no usable store. `reason`: a description of what is there. */
export const otherStore = (shown: string, reason: string): Error =>
  new Error(`The payment store ${shown} cannot be used: ${reason}.`);

/** The format of the tables in both databases. bankql 0.4 had format 4 in SQLite and 3 in PostgreSQL. From 5 on, each format stays readable. */
export const storeFormat = 5;

/** Why a store of another format cannot be used, and the remedy. */
export const madeByOther = (format: number): string =>
  format > storeFormat
    ? `a newer bankql made it (format ${format}): use that version`
    : `bankql 0.4 or older made it (format ${format}): settle its unknown payments with that version, make a new store elsewhere with \`bankql payments init\`, and record the earlier payments there with \`bankql payments accept-loss --from-log FILE\`, so that none is sent again`;
