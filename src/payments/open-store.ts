import { createMemoryStore } from './memory-store.ts';
import { createSqliteStore } from './sqlite-store.ts';
import type { PaymentStore } from './store.ts';

/** How long a payment may wait for its record; the bank's own deadline is thirty times as long. */
const timeoutMs = 500;

const allowed =
  'memory: (forgets all payments at the end of the process; for the sandbox), or sqlite:PATH with a path such as sqlite:.bankql/state.db or sqlite:/var/lib/bankql/state.db';

/**
 * The payment store that STATE_URL names.
 * Shape:  a PaymentStore that is ready; a relative PATH starts at the working folder.
 * Errors: an Error that names the value and what is allowed, or the path and the remedy.
 */
export async function openStore(
  url: string,
  { retentionMs }: { readonly retentionMs: number },
): Promise<PaymentStore> {
  if (url === 'memory:') return createMemoryStore({ retentionMs });
  const path = /^sqlite:(.+)$/s.exec(url)?.[1];
  // `sqlite://state.db` would name a file of the root folder, and `sqlite::memory:` one called ":memory:".
  if (path !== undefined && !path.startsWith('//') && !path.startsWith(':')) {
    return createSqliteStore({ path, retentionMs, timeoutMs });
  }
  throw new Error(`STATE_URL is ${withoutPassword(url)}, which names no payment store: use ${allowed}.`);
}

/** A Redis URL may hold a password, and the message goes to the terminal and to logs. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/.*@/s, '//***@');
}
