import type { PaymentState } from '../../store.ts';

/**
 * The keys of a payment store in Redis.
 *
 * A record is a hash with PaymentRecord's field names; null fields are absent. It also has `awaited` (its attempt may
 * still write the outcome) and `version` (see migrateCallers). Numbers stay text, because Lua's would lose digits.
 *
 * An index is a sorted set of records' ids. There is one for each state, sorted by the time that the state is searched
 * by: the lease's end (PENDING), the beginning (UNKNOWN), the last change (DONE, REJECTED; a record that expired is
 * still in it). A caller has two, sorted by the beginning: of the records that never expire (PENDING, UNKNOWN), and of
 * the others, which expires with the last of them. No score is less than the record's `createdAt`: see searchRecords.
 */

/** Names the store (see nameStore): without it, the records are gone. */
export const storeKey = '{bankql}:store';
/** What is known of the whole store: see StoreMetadata. */
export const metaKey = '{bankql}:meta';
/** The store's high-water mark, beside what it has to fit. */
export const markKey = '{bankql}:mark';

export const recordPrefix = '{bankql}:payment:';
export const recordKey = (id: string): string => `${recordPrefix}${id}`;

/**
 * In the order in which a record goes through them, so that reading the indexes one by one misses no record that moves.
 */
export const states: readonly PaymentState[] = ['PENDING', 'UNKNOWN', 'DONE', 'REJECTED'];
export const stateIndex = (state: PaymentState): string => `{bankql}:payments:${state}`;

export const callerPrefix = '{bankql}:payments:caller:';
export const openIndex = (caller: string): string => `${callerPrefix}${caller}:open`;
export const finishedIndex = (caller: string): string => `${callerPrefix}${caller}:finished`;
