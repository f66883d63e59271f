import { AddressError } from './postgres/address.ts';
import { parseStoreUrl } from './store-address.ts';

/** The passwords in STATE_URL: as they are written there, and as they are sent. */
export function passwordsOf(url: string): string[] {
  const sent = addressOf(url);
  // A URL with several hosts is none to URL.parse.
  const written = sent === null ? undefined : /:([^:@/]*)@/.exec(url)?.[1];
  const all = [URL.parse(url)?.password, written, sent?.password];
  return all.flatMap((password) => password || []);
}

/** Opening the store tells what is wrong with it. */
function addressOf(url: string) {
  try {
    const named = parseStoreUrl(url);
    return 'address' in named ? named.address : null;
  } catch (error) {
    if (error instanceof AddressError) return null;
    throw error;
  }
}
