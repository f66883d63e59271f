import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { credentialHeaders, validateCredential } from '../bank/credentials.ts';
import { idProblem } from '../bank/ids.ts';
import { messageOf } from '../errors.ts';
import { isLoopback } from '../http/loopback.ts';
import { parseStoreUrl } from '../payments/store/store-address.ts';
import { validateViewerTemplate } from '../schema/viewer-template.ts';

/** The formats of variables as zod types. The message of an issue is the remedy. */

/** A format that a function parses. The message of its error is the remedy. */
const parsedBy = <T>(parse: (text: string) => T) =>
  z.string().transform((text, context): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue(messageOf(error));
      return z.NEVER;
    }
  });

/** A whole number from `min` to `max`. `rest`: the end of the sentence that says what is valid. */
const wholeNumberIn = (min: number, max: number, rest = '') => {
  const remedy = `give a whole number from ${min} to ${max}${rest}.`;
  const digits = z.string().regex(/^\d+$/, remedy);
  return digits.transform(Number).pipe(z.number().min(min, remedy).max(max, remedy));
};

export const wholeNumber = (fallback: number, min: number, max: number) =>
  wholeNumberIn(min, max, `, or leave it out for ${fallback}`).default(fallback);

export const anyPort = wholeNumberIn(0, 65_535);
export const port = (fallback: number) => wholeNumber(fallback, 0, 65_535);
export const milliseconds = (fallback: number) => wholeNumber(fallback, 1, 600_000);

/** The number of processes that serve; `auto`: one for each core that this process may use. */
export const workerCount = z
  .string()
  .transform((text) => (text === 'auto' ? String(availableParallelism()) : text))
  .pipe(wholeNumberIn(1, 256, ', or auto for one for each core'))
  .default(1);

export const anyFlag = z.stringbool({
  truthy: ['on', '1', 'true'],
  falsy: ['off', '0', 'false'],
  error: 'give on or off.',
});

export const flag = (fallback: boolean) => anyFlag.default(fallback);

export const flagOrLog = z.union([z.literal('log'), anyFlag], 'give on, off or log.').default(false);

export const oneOf = <const T extends readonly string[]>(words: T) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(words, `give one of ${words.join(', ')}.`));

export const nodeEnv = z
  .enum(
    ['production', 'development', 'test'],
    'give production, development or test: only production keeps the sandbox bank from starting.',
  )
  .optional();

export const anyText = z.string().optional();

/** A text that is compared byte for byte, such as with a claim of a token. */
export const line = z.string().regex(/^.*$/, 'give it in one line.').optional();

/** The address where a server listens. */
export const hostName = z
  .string()
  .refine(
    // A name that looks like a number is refused, because URL.parse would change it: 127.1 becomes 127.0.0.1.
    (host) =>
      isIP(host) !== 0 ||
      (/^\w[\w.-]*$/.test(host) && URL.parse(`http://${host}`)?.hostname === host.toLowerCase()),
    'give a host name or an address, such as localhost, 0.0.0.0 or ::1, without brackets and port.',
  )
  .default('127.0.0.1');

/** The claims of a token that become Auth-Provider-Name and Auth-ID. */
export const identityClaims = z
  .string()
  .transform((text) => text.split(/\s+/))
  .pipe(z.tuple([z.string(), z.string()], 'give two names of claims, such as bank_provider sub.'))
  .optional();

/** A word of a token's scope (RFC 6749). */
export const scopeWord = z
  .string()
  .regex(/^[!#-[\]-~]+$/, "give one word of a token's scope, such as payments.")
  .optional();

/** An id that can be a segment of a path. */
export const id = parsedBy((text) => {
  const problem = idProblem(text);
  if (problem !== null) throw new Error(problem);
  return text;
}).optional();

/** A template that makes an id from a caller's credentials. */
export const viewerTemplate = parsedBy(validateViewerTemplate).optional();

/** The operator's subscription key. */
export const subscriptionKey = parsedBy((key) => {
  try {
    return validateCredential(credentialHeaders.subscriptionKey, key);
  } catch {
    throw new Error('it has to be up to 255 printable ASCII characters.');
  }
}).optional();

const rateRemedy = 'give REST calls per seconds, such as 300/60; a day (86400) at most.';

export const rateLimit = z
  .string()
  .regex(/^\d{1,9}\/\d{1,5}$/, rateRemedy)
  .transform((text) => {
    const [calls = 0, seconds = 0] = text.split('/').map(Number);
    return { calls, seconds };
  })
  .refine(({ calls, seconds }) => calls >= 1 && seconds >= 1 && seconds <= 86_400, rateRemedy)
  .optional();

/** Words, codes or whole texts by which a bank says how a payment ended. They may contain spaces. */
export const outcomeWords = z
  .string()
  .transform((list) => list.split(',').map((word) => word.trim()))
  .refine(
    (words) => words.every((word) => /[^\s_-]/.test(word) && word.length <= 200),
    'give words, codes or texts of up to 200 characters, separated by commas, such as POSTED,AWAITING CLEARING.',
  )
  .default([]);

/** Whole texts of gateways. They may contain commas, so vertical bars separate them. */
export const gatewayTexts = z
  .string()
  .transform((list) => list.split('|').map((text) => text.trim()))
  .refine(
    (texts) => texts.every((text) => /\p{L}|\d/u.test(text) && text.length <= 200),
    'give texts of up to 200 characters, separated by |, such as Slow down, please. Try again in # s.|Key expired.',
  )
  .default([]);

const isPath = (parts: readonly string[]) =>
  parts.length <= 16 && parts.every((part) => /^\S(?:.{0,62}\S)?$/.test(part));

/**
 * A path in JSON: names and positions, separated by dots.
 * Shape: the parts of the path; none for the whole answer.
 */
export const jsonPath = z
  .string()
  .transform((path) => (path === '.' ? [] : path.split('.')))
  .refine(isPath, 'give a path such as data.status or 0.id, or . for the whole answer.')
  .optional();

/**
 * Paths of members.
 * Shape: the parts of each path. The path of the whole answer is not allowed.
 */
export const jsonPaths = z
  .string()
  .transform((list) => list.split(',').map((path) => path.trim().split('.')))
  .refine((paths) => paths.every(isPath), 'give paths separated by commas, such as data.fee,meta.')
  .default([]);

/**
 * An origin as browsers send it: scheme, host, and a port that is not the scheme's default. For the schemes of apps
 * (`capacitor://localhost`), `URL` gives no origin, so it is composed here. Pages of files have no origin.
 * Errors: an Error whose message is the remedy.
 */
function originOf(word: string): string {
  const url = URL.parse(word);
  const [, scheme = '', host = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#@\\]+)\/?$/i.exec(word) ?? [];
  const isHost = /^(\[[0-9a-f:.]+\]|[\w.~-]+)$/i.test(url?.hostname ?? '');
  if (url === null || host === '' || !isHost || /^(file|ftp|wss?)$/i.test(scheme))
    throw new Error(
      `name each origin with scheme, host and port, such as https://app.example, without a path or a pattern; ${word} is not an origin.`,
    );
  return url.origin === 'null' ? `${scheme}://${host}`.toLowerCase() : url.origin;
}

/** Origins as browsers send them, in lower case. */
export const origins = parsedBy(
  (list): ReadonlySet<string> =>
    new Set(list.split(/[\s,]+/).flatMap((word) => (word ? [originOf(word)] : []))),
).default(new Set());

/**
 * An HTTP address that `fits` accepts. Line breaks are refused first, because a parser of URLs would drop
 * them.
 */
const address = (remedy: string, fits: (url: URL, text: string) => boolean = () => true) =>
  z
    .string()
    .regex(/^\S+$/, 'leave out the white space in it.')
    .pipe(z.url({ protocol: /^https?$/, error: remedy, abort: true }))
    .refine((text) => fits(new URL(text), text), remedy);

const hasUserinfo = ({ username, password }: URL) => username !== '' || password !== '';
const hasQuery = ({ href }: URL) => /[?#]/.test(href);
const isProtected = ({ protocol, hostname }: URL) => protocol === 'https:' || isLoopback(hostname);

export const bankAddress = address('give an address such as https://bank.example.')
  .refine((text) => !hasUserinfo(new URL(text)), 'leave credentials out of it.')
  .refine((text) => !hasQuery(new URL(text)), 'leave out what follows ? or #.')
  .refine(
    (text) => !/\/v1\/api\/*$/i.test(new URL(text).pathname),
    'give the address without /v1/api, with which every path of the specification begins.',
  )
  .optional();

export const collectorAddress = address(
  'give an address without credentials, ? and #, such as http://127.0.0.1:4318.',
  (url) => !hasUserinfo(url) && !hasQuery(url),
).optional();

/** The address of the tools for agents, which is also the audience of their tokens. */
export const toolsAddress = address(
  'give the address of /mcp as agents know it, such as https://api.example/mcp: https or on loopback, without credentials, ? and #.',
  (url, text) =>
    isProtected(url) &&
    url.pathname.endsWith('/mcp') &&
    // Only one form of the URL is valid, because tokens' `aud` is compared with it.
    url.href === text &&
    !hasUserinfo(url) &&
    !hasQuery(url),
).optional();

export const proxyAddress = address(
  'give an address such as http://proxy.example:3128.',
  ({ pathname, href }) => pathname === '/' && !href.includes('?'),
)
  .refine((text) => {
    try {
      return decodeURIComponent(new URL(text).username + new URL(text).password) !== null;
    } catch {
      return false;
    }
  }, 'percent-encode user and password: a % is written as %25.')
  .optional();

/** The address of public keys, which must be https unless it is on loopback. */
export const keysAddress = address(
  'give an https address without credentials, such as https://login.example/.well-known/jwks.json.',
  (url) => isProtected(url) && !hasUserinfo(url),
).optional();

export const storeAddress = parsedBy((text) => {
  try {
    parseStoreUrl(text);
    return text;
  } catch (error) {
    throw new Error(`${messageOf(error)}.`);
  }
}).optional();
