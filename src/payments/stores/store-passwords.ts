import { AddressError, parsePostgresUrl } from './postgres/address.ts';
import { parseRedisUrl, parseSentinelUrl } from './redis/address.ts';

/** The passwords in STATE_URL: as they are written there, and as they are sent. */
export function passwordsOf(url: string): string[] {
  const sent = parseRedisUrl(url) ?? parseSentinelUrl(url) ?? postgresOf(url);
  // A URL with several hosts is none to URL.parse.
  const written = sent === null ? undefined : /:([^:@/]*)@/.exec(url)?.[1];
  const all = [URL.parse(url)?.password, written, sent?.password];
  return all.flatMap((password) => password || []);
}

/** Opening the store tells what is wrong with it. */
function postgresOf(url: string) {
  try {
    return parsePostgresUrl(url);
  } catch (error) {
    if (error instanceof AddressError) return null;
    throw error;
  }
}
