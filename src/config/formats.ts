import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { credentialHeaders, validateCredential } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { messageOf } from '../errors.ts';
import { parseStoreUrl, shownStoreUrl } from '../payments/stores/store-address.ts';
import { parseDateTime } from '../schema/date-time.ts';
import { validateViewerTemplate } from '../schema/viewer-template.ts';
import { isLoopback } from '../server/request.ts';

/** How a variable is written. */
interface TextFormat<T> {
  /** Errors: an Error whose message is the remedy. */
  readonly read: (text: string) => T;
  /** A value as it may be shown, whether it is refused or in force; by default as it is. */
  readonly show?: (text: string) => string;
  /**
   * It is sent, compared or listened on as it is. White space, line breaks and marks at its ends are refused; other variables
   * lose them.
   */
  readonly isVerbatim?: boolean;
  /** Its parts may be in several lines. */
  readonly isList?: boolean;
}

/** The format of a variable, with its default and the text that documents that. */
export interface Format<T> extends TextFormat<T> {
  readonly fallback: T;
  readonly shownFallback: string;
}

export const withDefault = <T>(
  format: TextFormat<T>,
  fallback: T,
  shownFallback = String(fallback),
): Format<T> => ({ ...format, fallback, shownFallback });

/** A text that `parse` understands; undefined if it does not. */
const parsed =
  <T>(remedy: string, parse: (text: string) => T | undefined) =>
  (text: string): T => {
    const value = parse(text);
    if (value === undefined) throw new Error(remedy);
    return value;
  };

/** A text for which `holds` is true. */
const checked = (remedy: string, holds: (text: string) => boolean) =>
  parsed(remedy, (text) => (holds(text) ? text : undefined));

/** A whole number from `min` to `max`; `rest` ends the remedy. */
const wholeNumberIn = (min: number, max: number, rest = ''): TextFormat<number> => ({
  read: parsed(`give a whole number from ${min} to ${max}${rest}.`, (text) =>
    /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  ),
});

export const wholeNumber = (fallback: number, min: number, max: number) =>
  withDefault(wholeNumberIn(min, max, `, or leave it out for ${fallback}`), fallback);

export const anyPort = wholeNumberIn(0, 65_535);
export const milliseconds = (fallback: number) => wholeNumber(fallback, 1, 600_000);
export const port = (fallback: number) => wholeNumber(fallback, 0, 65_535);

/** How many processes serve: a number, or as many as there are cores (of a container, as many as it may use). */
export const workerCount = withDefault(
  {
    read: parsed('give a whole number from 1 to 256, or auto for one for each core.', (given) => {
      const workers = given === 'auto' ? availableParallelism() : Number(/^\d{1,3}$/.exec(given)?.[0] ?? 0);
      return workers >= 1 && workers <= 256 ? workers : undefined;
    }),
  },
  1,
);

const flags = new Map([
  ...['on', '1', 'true'].map((word) => [word, true] as const),
  ...['off', '0', 'false'].map((word) => [word, false] as const),
]);

export const anyFlag: TextFormat<boolean> = {
  read: parsed('give on or off.', (text) => flags.get(text.toLowerCase())),
};

export const flag = (fallback: boolean) => withDefault(anyFlag, fallback, fallback ? 'on' : 'off');

export const oneOf = <T extends string>(words: readonly T[], fallback: T): Format<T> => {
  const read = parsed(`give one of ${words.join(', ')}.`, (text) =>
    words.find((word) => word === text.toLowerCase()),
  );
  return withDefault({ read }, fallback, `\`${fallback}\``);
};

export const anyText: TextFormat<string> = { read: (text) => text };

/** A text that is compared byte for byte, such as with a claim of a token. */
export const verbatimText: TextFormat<string> = { ...anyText, isVerbatim: true };

/** Where a server listens. */
export const hostName: TextFormat<string> = {
  isVerbatim: true,
  read: checked(
    'give a host name or an address, such as localhost, 0.0.0.0 or ::1, without brackets and port.',
    // The parser of addresses changes a name that it takes for a number, such as 127.1.
    (host) =>
      isIP(host) !== 0 ||
      (/^\w[\w.-]*$/.test(host) && URL.parse(`http://${host}`)?.hostname === host.toLowerCase()),
  ),
};

/** The claims of a token that become Auth-Provider-Name and Auth-ID. */
export const identityClaims: TextFormat<readonly [provider: string, authId: string]> = {
  read: parsed('give two names of claims, such as bank_provider sub.', (text) => {
    const [provider, authId, ...more] = text.split(' ').filter((word) => word !== '');
    return provider === undefined || authId === undefined || more.length > 0 ? undefined : [provider, authId];
  }),
};

/** The format of a variable that need not be set. `unset` describes the default. */
export const optional = <T>(format: TextFormat<T>, unset = 'none') =>
  withDefault<T | undefined>(format, undefined, unset);

/** An id that can be a segment of a path. */
export const id = (variable: string): TextFormat<string> => ({
  read: (given) => validateId(variable, given),
});

/** A template that makes an id from a caller's credentials. */
export const viewerTemplate: TextFormat<string> = { read: validateViewerTemplate };

/** The operator's subscription key, which is never shown. */
export const subscriptionKey: TextFormat<string> = {
  show: () => '…',
  isVerbatim: true,
  read(key) {
    try {
      return validateCredential(credentialHeaders.subscriptionKey, key);
    } catch {
      throw new Error('it has to be up to 255 printable ASCII characters, without white space at its ends.');
    }
  },
};

/** A time as milliseconds since 1970. */
export const time: TextFormat<number> = {
  read: parsed('give a time such as 2026-01-31 or 2026-01-31T09:00Z.', (given) =>
    parseDateTime(given)?.getTime(),
  ),
};

export const rateLimit: TextFormat<{ calls: number; seconds: number }> = {
  read: parsed('give REST calls per seconds, such as 300/60; a day (86400) at most.', (given) => {
    const [, calls = 0, seconds = 0] = (/^(\d{1,9})\/(\d{1,5})$/.exec(given) ?? []).map(Number);
    return calls >= 1 && seconds >= 1 && seconds <= 86_400 ? { calls, seconds } : undefined;
  }),
};

const wordsOf = (list: string) => list.split(/[\s,]+/).filter((word) => word !== '');

const maxOutcomeWord = 200;

/** Words, codes or whole texts by which a bank says how a payment ended, separated by commas. They may contain spaces. */
export const outcomeWords = withDefault<readonly string[]>(
  {
    isList: true,
    read: parsed(
      `give words, codes or texts of up to ${maxOutcomeWord} characters, separated by commas, such as POSTED,AWAITING CLEARING.`,
      (list) => {
        const given = list.split(',').map((word) => word.trim());
        return given.every((word) => /[^\s_-]/.test(word) && word.length <= maxOutcomeWord)
          ? given
          : undefined;
      },
    ),
  },
  [],
  'none',
);

/** A path in JSON: names and positions, separated by dots. Shape: its parts; none for the whole. */
export const jsonPath: TextFormat<readonly string[]> = {
  read: parsed('give a path such as data.status or 0.id, or . for the whole answer.', (path) => {
    if (path === '.') return [];
    const parts = path.split('.');
    return parts.length <= 16 && parts.every((part) => /^\S(?:.{0,62}\S)?$/.test(part)) ? parts : undefined;
  }),
};

/**
 * An origin as browsers send it: scheme, host, and a port that is not the scheme's own. Apps have schemes of their own
 * (`capacitor://localhost`), whose origin a URL does not tell.
 * Errors: an Error whose message is the remedy.
 */
function originOf(word: string): string {
  const refuse = (why: string) => new Error(`give origins such as https://app.example; ${word} is ${why}.`);
  if (/[*|{}()^$\\]/.test(word)) throw refuse('a pattern, which no browser sends: name each origin');
  if (/^(null|file:\/*)$/i.test(word))
    throw refuse('what pages without an origin send, whoever wrote them: serve the page from a host');
  if (/^(wss?|ftp):/i.test(word))
    throw refuse('not one of a page: pages have http, https or the scheme of an app');
  const url = URL.parse(word);
  const [, scheme = '', host = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@\\]+)\/?$/i.exec(word) ?? [];
  if (url === null || !/^(\[[0-9a-f:.]+\]|[\w.~-]+)$/i.test(url.hostname)) throw refuse('not one');
  if (host === '') throw refuse('not one: give scheme, host and port, without a path');
  return url.origin === 'null' ? `${scheme}://${host}`.toLowerCase() : url.origin;
}

/** Origins as browsers send them, in lower case. */
export const origins = withDefault<ReadonlySet<string>>(
  { isList: true, read: (list) => new Set(wordsOf(list).map(originOf)) },
  new Set(),
  'none',
);

const withoutUserinfo = (address: string) => address.replace(/\/\/.*@/s, '//…@');

/** An address, which is never shown with the credentials that may be in it. */
const address = (read: (text: string) => string): TextFormat<string> => ({
  show: withoutUserinfo,
  read(given) {
    // A parser of URLs leaves out a line break, and puts %20 in the place of a blank.
    if (/\s/.test(given)) throw new Error('leave out the white space in it.');
    return read(given);
  },
});

const isHttp = (url: URL | null): url is URL => url?.protocol === 'https:' || url?.protocol === 'http:';
const hasUserinfo = ({ username, password }: URL) => username !== '' || password !== '';

export const bankAddress = address((given) => {
  const url = URL.parse(given);
  if (!isHttp(url)) throw new Error('give an address such as https://bank.example.');
  if (hasUserinfo(url)) throw new Error('leave credentials out of it.');
  if (url.search !== '' || url.hash !== '') throw new Error('leave out what follows ? or #.');
  if (/\/v1\/api\/*$/i.test(url.pathname))
    throw new Error('give the address without /v1/api, with which every path of the specification begins.');
  return given;
});

export const collectorAddress = address(
  checked('give an address without credentials, ? and #, such as http://127.0.0.1:4318.', (given) => {
    const url = URL.parse(given);
    return isHttp(url) && !hasUserinfo(url) && url.search === '' && url.hash === '';
  }),
);

export const proxyAddress = address((given) => {
  const url = URL.parse(given);
  if (!isHttp(url) || url.pathname !== '/' || url.search !== '')
    throw new Error('give an address such as http://proxy.example:3128.');
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new Error('percent-encode user and password: a % is written as %25.');
  }
  return given;
});

/** An address of public keys: https, or loopback. */
export const keysAddress = address(
  checked(
    'give an https address without credentials, such as https://login.example/.well-known/jwks.json.',
    (given) => {
      const url = URL.parse(given);
      return isHttp(url) && (url.protocol === 'https:' || isLoopback(url.hostname)) && !hasUserinfo(url);
    },
  ),
);

/** An address of a store, shown without any part that may be a password. */
export const storeAddress: TextFormat<string> = {
  // A readable one has no password but in front of its hosts.
  show: (given) => (faultOf(given) === null ? withoutUserinfo(given) : shownStoreUrl(given, '…')),
  read(given) {
    const fault = faultOf(given);
    if (fault !== null) throw new Error(`${fault}.`);
    return given;
  },
};

function faultOf(address: string): string | null {
  try {
    parseStoreUrl(address);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
