import { AddressError, type PostgresAddress, parsePostgresUrl } from './postgres/address.ts';

/** The address of a payment store. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress };

const allowed =
  'memory: (forgets all payments at the end of the process; for the sandbox), sqlite:PATH with a path such as sqlite:.bankql/state.db or sqlite:/var/lib/bankql/state.db, or postgres://user[:password]@host[:port]/database[?sslmode=…], with user and password percent-encoded';

/**
 * The parsed STATE_URL. Only opening the store shows whether it exists.
 * Errors: AddressError.
 */
export function parseStoreUrl(url: string): StoreAddress {
  // A line end is refused, because it would be a part of the file's name. If somebody removed it later, bankql
  // would use a new store.
  if (/^\s|\s$|\p{Cc}/u.test(url))
    throw new AddressError('it has white space at an end, or a control character: remove it');
  if (url === 'memory:') return { kind: 'memory' };
  const path = /^sqlite:(.+)$/s.exec(url)?.[1];
  // `sqlite://state.db` would name a file of the root folder, and `sqlite::memory:` one called ":memory:".
  if (path !== undefined && !path.startsWith('//') && !path.startsWith(':')) return { kind: 'sqlite', path };
  const address = parsePostgresUrl(url);
  if (address !== null) return { kind: 'postgres', address };
  throw new AddressError(`it names no payment store: use ${allowed}`);
}

/** A URL for messages, valid or not, without the user and without any part that may be a password. */
export function shownStoreUrl(url: string, mask: string): string {
  return (
    url
      .replace(/(:\/{0,2}).*@/s, `$1${mask}@`)
      // Without an @, the text after a colon may also be a password, unless it is a port.
      .replace(/(:\/\/)(?!.*@)[^/]*:(?!\d{1,5}(?:[,/?#]|$)).*$/s, `$1${mask}`)
      .replace(/[?#].*$/s, `?${mask}`)
  );
}

/** The passwords in STATE_URL, in the written form and in the decoded form. */
export function passwordsOf(url: string): string[] {
  const all = [URL.parse(url)?.password];
  try {
    const named = parseStoreUrl(url);
    if (named.kind === 'postgres') all.push(named.address.password);
  } catch (error) {
    // The error is reported when the store is opened.
    if (!(error instanceof AddressError)) throw error;
  }
  return all.flatMap((password) => password || []);
}
