import { availableParallelism } from 'node:os';
import { credentialHeaders, validateCredential } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { messageOf } from '../errors.ts';
import { defaultRejectedStatuses } from '../payments/outcome-words.ts';
import { parseStoreUrl, shownStoreUrl } from '../payments/stores/store-address.ts';
import { parseDateTime } from '../schema/date-time.ts';
import { validateViewerTemplate } from '../schema/viewer-template.ts';
import { jwtAlgorithms } from '../server/auth/jwt-options.ts';
import { parseCounterUrl } from '../server/rate-limit/counter-address.ts';
import { isLoopback } from '../server/request.ts';

/** How a variable is written. */
interface TextFormat<T> {
  /** Errors: an Error whose message says what to give. */
  readonly read: (text: string) => T;
  /** A value as it may be shown, whether it is refused or in force; by default as it is. */
  readonly show?: (text: string) => string;
}

/** The format of a variable, with its default and the text that documents that. */
export interface Format<T> extends TextFormat<T> {
  readonly fallback: T;
  readonly shownFallback: string;
}

const withDefault = <T>(format: TextFormat<T>, fallback: T, shownFallback = String(fallback)): Format<T> => ({
  ...format,
  fallback,
  shownFallback,
});

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

/** A number from `min` to `max` that is written so. */
const numberIn = (form: RegExp, min: number, max: number, remedy: string) =>
  parsed(remedy, (text) =>
    form.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );

const day = 24 * 60 * 60;

/** A whole number from `min` to `max`; `rest` ends the remedy. */
const wholeNumberIn = (min: number, max: number, rest = ''): TextFormat<number> => ({
  read: numberIn(/^\d+$/, min, max, `give a whole number from ${min} to ${max}${rest}.`),
});

export const wholeNumber = (fallback: number, min: number, max: number) =>
  withDefault(wholeNumberIn(min, max, `, or leave it out for ${fallback}`), fallback);

export const anyPort = wholeNumberIn(0, 65_535);
export const milliseconds = (fallback: number) => wholeNumber(fallback, 1, 600_000);
export const count = (fallback: number) => wholeNumber(fallback, 1, 1_000_000);
export const port = (fallback: number) => wholeNumber(fallback, 0, 65_535);

const maxWorkers = 256;

/** How many processes serve: a number, or as many as there are cores (of a container, as many as it may use). */
export const workerCount = withDefault(
  {
    read: parsed(`give a whole number from 1 to ${maxWorkers}, or auto for one for each core.`, (given) => {
      const workers = given === 'auto' ? availableParallelism() : /^\d{1,3}$/.test(given) ? Number(given) : 0;
      return workers >= 1 && workers <= maxWorkers ? workers : undefined;
    }),
  },
  1,
);

export function share(fallback: number, { above }: { readonly above?: 0 } = {}): Format<number> {
  const range = above === undefined ? 'from 0 to 1' : 'above 0, up to 1';
  const remedy = `give a number ${range}, or leave it out for ${fallback}.`;
  const min = above === undefined ? 0 : Number.MIN_VALUE;
  return withDefault({ read: numberIn(/^[\d.]+$/, min, 1, remedy) }, fallback);
}

const flags = new Map([
  ...['on', '1', 'true'].map((word) => [word, true] as const),
  ...['off', '0', 'false'].map((word) => [word, false] as const),
]);

export const anyFlag: TextFormat<boolean> = { read: parsed('give on or off.', (text) => flags.get(text)) };

export const flag = (fallback: boolean) => withDefault(anyFlag, fallback, fallback ? 'on' : 'off');

export const oneOf = <T extends string>(words: readonly T[], fallback: T): Format<T> => {
  const read = parsed(`give one of ${words.join(', ')}.`, (text) => words.find((word) => word === text));
  return withDefault({ read }, fallback, `\`${fallback}\``);
};

export const anyText: TextFormat<string> = { read: (text) => text };

export const text = (fallback: string) => withDefault(anyText, fallback, `\`${fallback}\``);

/** The format of a variable that need not be set. `unset` says what happens then. */
export const optional = <T>(format: TextFormat<T>, unset = 'none') =>
  withDefault<T | undefined>(format, undefined, unset);

/** Names and values as OpenTelemetry writes them: `name=value,name=value`, values percent-encoded. */
export const collectorHeaders: TextFormat<Readonly<Record<string, string>>> = {
  show: () => '…',
  read: parsed('give names and values such as api-key=secret, several with commas.', (list) => {
    try {
      const pairs = list.split(',').map((pair) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([!-~ ]*)$/.exec(pair));
      if (!pairs.every((pair) => pair !== null)) return undefined;
      return Object.fromEntries(
        pairs.map(([, name = '', value = '']) => [name, decodeURIComponent(value.trim())]),
      );
    } catch {
      // Not percent-encoded.
      return undefined;
    }
  }),
};

/** An id that can be a segment of a path. */
export const id = (variable: string): TextFormat<string> => ({
  read: (given) => validateId(variable, given),
});

/** How an id is made of what a request shows. */
export const viewerTemplate: TextFormat<string> = { read: validateViewerTemplate };

/** The operator's subscription key, which is never shown. */
export const subscriptionKey: TextFormat<string> = {
  show: () => '…',
  read: checked(
    'it has to be up to 255 printable ASCII characters, without white space or a line break at its end.',
    (key) => {
      try {
        validateCredential(credentialHeaders.subscriptionKey, key);
        return true;
      } catch {
        return false;
      }
    },
  ),
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
    return calls >= 1 && seconds >= 1 && seconds <= day ? { calls, seconds } : undefined;
  }),
};

const wordsOf = (list: string) => list.split(/[\s,]+/).filter((word) => word !== '');

const shownStatuses = [...defaultRejectedStatuses].join(',');

/** Statuses of a refusal, separated by commas or white space. */
export const refusalStatuses: Format<ReadonlySet<number>> = withDefault(
  {
    read: parsed(
      // Without 409, which may mean that the payment was executed before.
      `give statuses from 400 to 499, such as ${shownStatuses}.`,
      (list) => {
        const given = wordsOf(list);
        const areStatuses = given.length > 0 && given.every((status) => /^4\d\d$/.test(status));
        return areStatuses ? new Set(given.map(Number)) : undefined;
      },
    ),
  },
  defaultRejectedStatuses,
  `\`${shownStatuses}\``,
);

/** The words by which a bank says how a payment ended, separated by commas. They may contain spaces. */
export const outcomeWords = withDefault<readonly string[]>(
  {
    read: parsed(
      'give words of up to 64 characters, separated by commas, such as POSTED,AWAITING CLEARING.',
      (list) => {
        const given = list.split(',').map((word) => word.trim());
        return given.every((word) => /[^\s_-]/.test(word) && word.length <= 64) ? given : undefined;
      },
    ),
  },
  [],
  'none',
);

/** Words separated by commas or white space; `holds` is true for each. */
const wordsThat = (holds: (word: string) => boolean, remedy: (wrong: string) => string) => (list: string) => {
  const given = wordsOf(list);
  const wrong = given.find((word) => !holds(word));
  if (wrong !== undefined) throw new Error(remedy(wrong));
  return given;
};

const readOrigins = wordsThat(
  (origin) => URL.parse(origin)?.origin === origin,
  (wrong) => `give origins such as https://app.example; ${wrong} is not one.`,
);

/** Origins as browsers send them. */
export const origins = withDefault<ReadonlySet<string>>(
  { read: (list) => new Set(readOrigins(list)) },
  new Set(),
  'none',
);

const readHeaderNames = wordsThat(
  (name) => /^[!#$%&'*+.^`|~\w-]+$/.test(name),
  (wrong) => `give names of headers such as Apollographql-Client-Name; ${wrong} is not one.`,
);

export const headerNames = withDefault<readonly string[]>({ read: readHeaderNames }, [], 'none');

const isAlgorithm = (word: string) => jwtAlgorithms.some((known) => known === word);

/** Algorithms of signatures: public keys only. */
export const signatureAlgorithms: TextFormat<string[]> = {
  read: wordsThat(
    isAlgorithm,
    () => `give some of ${jwtAlgorithms.join(' ')}; none and HS* are never accepted.`,
  ),
  show: (list) => wordsOf(list).find((word) => !isAlgorithm(word)) ?? list,
};

const withoutUserinfo = (address: string) => address.replace(/\/\/.*@/s, '//…@');

/** An address, which is never shown with the credentials that may be in it. */
const address = (read: (text: string) => string): TextFormat<string> => ({ show: withoutUserinfo, read });

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
  checked('give an address without credentials, such as http://127.0.0.1:4318.', (given) => {
    const url = URL.parse(given);
    return isHttp(url) && !hasUserinfo(url);
  }),
);

export const proxyAddress = address(
  checked('give an address such as http://proxy.example:3128.', (given) => {
    const url = URL.parse(given);
    return isHttp(url) && url.pathname === '/' && url.search === '';
  }),
);

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

/** An address of a store, shown without any part that may be a password. `check` throws what is wrong with it. */
function databaseAddress(check: (address: string) => void): TextFormat<string> {
  const faultOf = (given: string): string | null => {
    try {
      check(given);
      return null;
    } catch (error) {
      return messageOf(error);
    }
  };
  return {
    // A readable one has no password but in front of its hosts.
    show: (given) => (faultOf(given) === null ? withoutUserinfo(given) : shownStoreUrl(given, '…')),
    read(given) {
      const fault = faultOf(given);
      if (fault !== null) throw new Error(`${fault}.`);
      return given;
    },
  };
}

export const storeAddress = databaseAddress(parseStoreUrl);

export const counterAddress = withDefault(
  databaseAddress((given) => {
    if (parseCounterUrl(given) === null)
      throw new Error(
        'give memory:, redis[s]://[[user]:password@]host[:port][/database] or postgres://user[:password]@host[:port]/database (one host), with user and password percent-encoded',
      );
  }),
  'memory:',
  '`memory:`',
);
