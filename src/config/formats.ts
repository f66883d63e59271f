import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { credentialHeaders, validateCredential } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { AddressError } from '../payments/stores/postgres/address.ts';
import { parseStoreUrl, shownStoreUrl } from '../payments/stores/store-address.ts';
import { parseViewerTemplate, type ViewerTemplate } from '../schema/viewer-template.ts';
import { jwtAlgorithms } from '../server/auth/jwt-options.ts';
import { parseCounterUrl } from '../server/rate-limit/counter-address.ts';
import { isLoopback } from '../server/request.ts';

/**
 * How variables are written: a format has the default of a variable that is not set, the text that documents it, and a
 * schema of its text whose messages say what to give.
 */
export interface Format<T> {
  readonly fallback: T;
  readonly shownFallback: string;
  readonly schema: z.ZodType<T, string>;
  /** A value as it may be shown, be it refused or in force. As it is, where this is left out. */
  readonly show?: (text: string) => string;
}

const day = 24 * 60 * 60;

/** A whole number from `min` to `max`. */
export function wholeNumber(fallback: number, min: number, max: number): Format<number> {
  const remedy = `give a whole number from ${min} to ${max}, or leave it out for ${fallback}.`;
  return {
    fallback,
    shownFallback: String(fallback),
    schema: z
      .string()
      .regex(/^\d+$/, remedy)
      .transform(Number)
      .pipe(z.number(remedy).min(min, remedy).max(max, remedy)),
  };
}

export const milliseconds = (fallback: number) => wholeNumber(fallback, 1, 600_000);
export const count = (fallback: number) => wholeNumber(fallback, 1, 1_000_000);
export const port = (fallback: number) => wholeNumber(fallback, 0, 65_535);

const maxWorkers = 256;

/** How many processes serve: a number, or as many as there are cores (of a container, as many as it may use). */
export const workerCount: Format<number> = {
  fallback: 1,
  shownFallback: '1',
  schema: z.string().transform((given, context) => {
    const workers = given === 'auto' ? availableParallelism() : /^\d{1,3}$/.test(given) ? Number(given) : 0;
    if (workers >= 1 && workers <= maxWorkers) return workers;
    context.addIssue(`give a whole number from 1 to ${maxWorkers}, or auto for one for each core.`);
    return z.NEVER;
  }),
};

/** A share, from 0 to 1; with `above: 0` more than none. */
export function share(fallback: number, { above }: { readonly above?: 0 } = {}): Format<number> {
  const range = above === undefined ? 'from 0 to 1' : 'above 0, up to 1';
  const remedy = `give a number ${range}, or leave it out for ${fallback}.`;
  return {
    fallback,
    shownFallback: String(fallback),
    schema: z
      .string()
      .regex(/^[\d.]+$/, remedy)
      .transform(Number)
      .pipe(
        z
          .number(remedy)
          .min(above === undefined ? 0 : Number.MIN_VALUE, remedy)
          .max(1, remedy),
      ),
  };
}

const flags: Readonly<Record<string, boolean>> = {
  on: true,
  1: true,
  true: true,
  off: false,
  0: false,
  false: false,
};
const flagSchema = z
  .string()
  .transform((text) => flags[text])
  .pipe(z.boolean('give on or off.'));

export const flag = (fallback: boolean): Format<boolean> => ({
  fallback,
  shownFallback: fallback ? 'on' : 'off',
  schema: flagSchema,
});

/** One of a few words. */
export const oneOf = <T extends string>(words: readonly T[], fallback: T): Format<T> => ({
  fallback,
  shownFallback: `\`${fallback}\``,
  schema: z.enum(words, `give one of ${words.join(', ')}.`),
});

/** Any text. */
export const text = (fallback: string): Format<string> => ({
  fallback,
  shownFallback: `\`${fallback}\``,
  schema: z.string(),
});

/** The format of a variable that need not be set. `unset` says what happens then. */
export function optional<T>(
  { schema, show }: Pick<Format<T>, 'schema' | 'show'>,
  unset = 'none',
): Format<T | undefined> {
  return { schema, fallback: undefined, shownFallback: unset, ...(show === undefined ? {} : { show }) };
}

export const anyText: Pick<Format<string>, 'schema'> = { schema: z.string() };
export const anyFlag: Pick<Format<boolean>, 'schema'> = { schema: flagSchema };
export const anyPort = wholeNumber(0, 0, 65_535);

/** Names and values as OpenTelemetry writes them: `name=value,name=value`, values percent-encoded. */
export const collectorHeaders: Pick<Format<Readonly<Record<string, string>>>, 'schema' | 'show'> = {
  show: () => '…',
  schema: z.string().transform((list, context) => {
    try {
      const pairs = list.split(',').map((pair) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([!-~ ]*)$/.exec(pair));
      if (pairs.every((pair) => pair !== null))
        return Object.fromEntries(
          pairs.map(([, name = '', value = '']) => [name, decodeURIComponent(value.trim())]),
        );
    } catch {
      // Not percent-encoded.
    }
    context.addIssue('give names and values such as api-key=secret, several with commas.');
    return z.NEVER;
  }),
};

/** An id that can be a segment of a path; the message is validateId's own. */
export const id = (variable: string): Pick<Format<string>, 'schema'> => ({
  schema: z.string().superRefine((given, context) => {
    try {
      validateId(variable, given);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : 'give an id.');
    }
  }),
});

/** How an id is made of what a request shows. */
export const viewerTemplate: Pick<Format<ViewerTemplate>, 'schema'> = {
  schema: z.string().transform((given, context) => {
    try {
      return parseViewerTemplate(given);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : 'give a template such as {auth-id}.');
      return z.NEVER;
    }
  }),
};

/** The operator's subscription key, which is never shown. */
export const subscriptionKey: Pick<Format<string>, 'schema' | 'show'> = {
  show: () => '…',
  schema: z.string().refine((key) => {
    try {
      validateCredential(credentialHeaders.subscriptionKey, key);
      return true;
    } catch {
      return false;
    }
  }, 'it has to be up to 255 printable ASCII characters.'),
};

/** A time in ISO 8601, as milliseconds since 1970; UTC where it names no zone. */
export const time: Pick<Format<number>, 'schema'> = {
  schema: z.string().transform((given, context) => {
    const [, date, clock = '00:00', zone = 'Z'] =
      /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(given) ?? [];
    const milliseconds = Date.parse(`${date}T${clock}${zone}`);
    // Date.parse takes the 30th of February for the 2nd of March.
    const isDay = date !== undefined && new Date(`${date}T00:00Z`).getUTCDate() === Number(date.slice(8));
    if (isDay && !Number.isNaN(milliseconds)) return milliseconds;
    context.addIssue('give a time such as 2026-01-31 or 2026-01-31T09:00Z.');
    return z.NEVER;
  }),
};

/** REST calls per seconds. */
export const rateLimit: Pick<Format<{ calls: number; seconds: number }>, 'schema'> = {
  schema: z.string().transform((given, context) => {
    const [, calls = 0, seconds = 0] = (/^(\d{1,9})\/(\d{1,5})$/.exec(given) ?? []).map(Number);
    if (calls >= 1 && seconds >= 1 && seconds <= day) return { calls, seconds };
    context.addIssue('give REST calls per seconds, such as 300/60; a day (86400) at most.');
    return z.NEVER;
  }),
};

/** Statuses of a refusal, separated by commas or white space. */
export const refusalStatuses: Pick<Format<ReadonlySet<number>>, 'schema'> = {
  schema: z.string().transform((list, context) => {
    const given = wordsOf(list);
    if (given.length > 0 && given.every((status) => /^4\d\d$/.test(status)))
      return new Set(given.map(Number));
    context.addIssue('give statuses from 400 to 499, such as 400,401,402,403,404,405,409,413,415,422,429.');
    return z.NEVER;
  }),
};

/** The words by which a bank says how a payment ended, separated by commas. They may contain spaces. */
export const outcomeWords: Format<readonly string[]> = {
  fallback: [],
  shownFallback: 'none',
  schema: z.string().transform((list, context) => {
    const given = list.split(',').map((word) => word.trim());
    if (given.every((word) => /[^\s_-]/.test(word) && word.length <= 64)) return given;
    context.addIssue(
      'give words of up to 64 characters, separated by commas, such as POSTED,AWAITING CLEARING.',
    );
    return z.NEVER;
  }),
};

const wordsOf = (list: string) => list.split(/[\s,]+/).filter((word) => word !== '');

/** Origins as browsers send them, separated by commas or white space. */
export const origins: Format<ReadonlySet<string>> = {
  fallback: new Set(),
  shownFallback: 'none',
  schema: z.string().transform((list, context) => {
    const given = wordsOf(list);
    const wrong = given.find((origin) => URL.parse(origin)?.origin !== origin);
    if (wrong === undefined) return new Set(given);
    context.addIssue(`give origins such as https://app.example; ${wrong} is none.`);
    return z.NEVER;
  }),
};

/** Names of request headers, separated by commas or white space. */
export const headerNames: Format<readonly string[]> = {
  fallback: [],
  shownFallback: 'none',
  schema: z.string().transform((list, context) => {
    const given = wordsOf(list);
    const wrong = given.find((name) => !/^[!#$%&'*+.^`|~\w-]+$/.test(name));
    if (wrong === undefined) return given;
    context.addIssue(`give names of headers such as Apollographql-Client-Name; ${wrong} is not one.`);
    return z.NEVER;
  }),
};

/** Algorithms of signatures: public keys only. */
export const signatureAlgorithms = {
  schema: z.string().transform((list, context) => {
    const given = wordsOf(list);
    const wrong = given.find((word) => !jwtAlgorithms.some((known) => known === word));
    if (wrong === undefined) return given;
    context.addIssue(`give some of ${jwtAlgorithms.join(' ')}; none and HS* are never accepted.`);
    return z.NEVER;
  }),
  show: (list: string) =>
    wordsOf(list).find((word) => !jwtAlgorithms.some((known) => known === word)) ?? list,
} satisfies Pick<Format<string[]>, 'schema' | 'show'>;

/** How addresses are written. None is shown with the credentials that may be in it. */
type AddressFormat = Pick<Format<string>, 'schema' | 'show'>;

const withoutUserinfo = (address: string) => address.replace(/\/\/.*@/s, '//…@');

/** The bank's address. */
export const bankAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().superRefine((address, context) => {
    const refuse = (remedy: string) => context.addIssue(remedy);
    const url = URL.parse(address);
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
      return refuse('give an address such as https://bank.example.');
    if (url.username !== '' || url.password !== '') return refuse('leave credentials out of it.');
    if (url.search !== '' || url.hash !== '') return refuse('leave out what follows ? or #.');
  }),
};

/** The address of a collector of traces. */
export const collectorAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    return (
      (url?.protocol === 'http:' || url?.protocol === 'https:') && url.username === '' && url.password === ''
    );
  }, 'give an address without credentials, such as http://127.0.0.1:4318.'),
};

/** The address of a proxy, shown without its password. */
export const proxyAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    return (
      (url?.protocol === 'http:' || url?.protocol === 'https:') && url.pathname === '/' && url.search === ''
    );
  }, 'give an address such as http://proxy.example:3128.'),
};

/** The address of the payment store, shown without any part that may be a password. */
export const storeAddress: AddressFormat = {
  // A readable one has no password but in front of its hosts.
  show: (address) =>
    storeFaultOf(address) === null ? withoutUserinfo(address) : shownStoreUrl(address, '…'),
  schema: z.string().superRefine((address, context) => {
    const fault = storeFaultOf(address);
    if (fault !== null) context.addIssue(`${fault}.`);
  }),
};

function storeFaultOf(address: string): string | null {
  try {
    parseStoreUrl(address);
    return null;
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    throw error;
  }
}

/** Where REST calls are counted; a password is not shown. */
export const counterAddress: Format<string> = {
  fallback: 'memory:',
  shownFallback: '`memory:`',
  show: (address) =>
    counterFaultOf(address) === null ? withoutUserinfo(address) : shownStoreUrl(address, '…'),
  schema: z.string().superRefine((address, context) => {
    const fault = counterFaultOf(address);
    if (fault !== null) context.addIssue(`${fault}.`);
  }),
};

function counterFaultOf(address: string): string | null {
  try {
    if (parseCounterUrl(address) !== null) return null;
    return 'give memory:, redis[s]://[[user]:password@]host[:port][/database] or postgres://user[:password]@host[:port]/database (one host), with user and password percent-encoded';
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    throw error;
  }
}

/** An address of public keys: https, or loopback. */
export const keysAddress: AddressFormat = {
  show: withoutUserinfo,
  schema: z.string().refine((address) => {
    const url = URL.parse(address);
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
    return isSafe && url.username === '' && url.password === '';
  }, 'give an https address without credentials, such as https://login.example/.well-known/jwks.json.'),
};
