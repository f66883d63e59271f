import { STATUS_CODES } from 'node:http';
import { comparableTextOf, type HttpResponse, isSaidToEnd } from './http-message.ts';

/**
 * Recognises answers with which a gateway refuses a request before the bank sees it, and answers with which a bank refuses a
 * caller's credentials. An answer must match as a whole, because an additional member may be about the payment. Reads and
 * payments use the same list.
 */

/** Why a gateway refuses a request. `operator key`: it refuses BANK_SUBSCRIPTION_KEY, which is the operator's and not the caller's. */
export type GatewayRefusal = 'rate limit' | 'operator key' | 'credentials';

/** A pattern that matches a whole text, in which `#` stands for digits. */
const patternOf = (text: string): RegExp =>
  new RegExp(
    `^${oneSpaced(text)
      .replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
      .replaceAll(/#+/g, '\\d+')}$`,
  );

const oneSpaced = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

interface KnownText {
  readonly status: number;
  readonly pattern: RegExp;
  readonly means: 'rate limit' | 'subscription key' | 'credentials';
}

const texts = (
  means: KnownText['means'],
  status: number,
  ...lines: readonly [string, ...string[]]
): KnownText[] => lines.map((text) => ({ status, pattern: patternOf(text), means }));

const knownTexts: readonly KnownText[] = [
  // Azure API Management, as its gateways send them and as in "Error handling in API Management policies, predefined errors":
  // https://learn.microsoft.com/azure/api-management/api-management-error-handling-policies
  ...texts(
    'rate limit',
    429,
    'Rate limit is exceeded. Try again in # second.',
    'Rate limit is exceeded. Try again in # seconds.',
  ),
  ...texts(
    'rate limit',
    403,
    'Out of call volume quota. Quota will be replenished in #:#:#.',
    'Out of call volume quota. Quota will be replenished in #.#:#:#.',
    'Out of call volume quota. Quota will be replenished in #.# days.',
    'Out of bandwidth quota. Quota will be replenished in #:#:#.',
    'Out of bandwidth quota. Quota will be replenished in #.#:#:#.',
    'Out of bandwidth quota. Quota will be replenished in #.# days.',
  ),
  ...texts(
    'subscription key',
    401,
    'Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.',
    'Access denied due to missing subscription key. Make sure to include subscription key when making requests to this API.',
    'Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription.',
    'Access denied due to invalid subscription key. Make sure you are subscribed to an API you are trying to call and provide the right key.',
  ),
  // Kong's plugin rate-limiting: https://docs.konghq.com/hub/kong-inc/rate-limiting/#headers-sent-to-the-client
  ...texts('rate limit', 429, 'API rate limit exceeded'),
  // AWS API Gateway, THROTTLED and QUOTA_EXCEEDED: https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
  ...texts('rate limit', 429, 'Too Many Requests', 'Limit Exceeded'),
  // The name of the status: https://www.iana.org/assignments/http-status-codes
  ...texts('credentials', 401, 'Unauthorized', 'unauthorized', 'UNAUTHORIZED', '401 Unauthorized'),
  // The error codes of https://www.rfc-editor.org/rfc/rfc6750#section-3.1
  ...texts('credentials', 401, 'invalid_request', 'invalid_token', 'insufficient_scope'),
  // Keycloak, UserInfoEndpoint and the error handler of its REST services: https://github.com/keycloak/keycloak/tree/main/services
  ...texts('credentials', 401, 'Token verification failed', 'HTTP 401 Unauthorized'),
  // Spring Security: https://github.com/spring-projects/spring-security, messages.properties. Its other text is the status' name.
  ...texts('credentials', 401, 'Full authentication is required to access this resource', 'Bad credentials'),
  // Open Bank Project: https://github.com/OpenBankProject/OBP-API, ErrorMessages.scala. JwtUtil.scala appends the text of its library,
  // and newer versions the exception too.
  ...texts(
    'credentials',
    401,
    'OBP-20001: User not logged in. Authentication is required!',
    'OBP-20004: Invalid login credentials. Check username/password.',
    'OBP-20008: Invalid Consumer Key.',
    'OBP-20009: Invalid consumer credentials',
    'OBP-20012: Invalid direct login parameters',
    'OBP-20058: Consumer is disabled.',
    'OBP-20080: Authorization Header format is not supported at this instance.',
    'OBP-20082: Missing DirectLogin or Authorization header.',
    'OBP-20083: Missing DirectLogin word at the value of Authorization header.',
    'OBP-20200: The application cannot be identified.',
    'OBP-20201: OAuth2 is not allowed at this instance.',
    "OBP-20202: OAuth2's Access Token cannot be verified.",
    'OBP-20204: Bad JWT error. Expired JWT',
    'OBP-20204: Bad JWT error. Expired JWT <- com.nimbusds.jwt.proc.BadJWTException: Expired JWT',
    'OBP-20208: Cannot match the issuer and JWKS URI at this server instance.',
    'OBP-20209: The token have no linked consumer.',
    'OBP-20214: OAuth2 Access Token is not recognised at this instance.',
    'OBP-20215: There was a problem validating the OAuth2 access token.',
  ),
];

export interface GatewayOptions {
  /** The operator's texts (BANK_PAYMENT_NOT_SENT), for a 401, 403 or 429; `#` stands for digits. */
  readonly notSent?: readonly string[] | undefined;
  /** Whether the subscription key is the operator's (BANK_SUBSCRIPTION_KEY). */
  readonly hasOperatorKey?: boolean | undefined;
}

/** The maximum length of a body that is read, in bytes. */
const maxLength = 4096;

/** A plain value in a body, as text, with the name of its member in lower case, without spaces, `-` and `_`. */
type Leaf = readonly [name: string, value: string];

export class GatewayAnswers {
  readonly #notSent: readonly RegExp[];
  readonly #hasOperatorKey: boolean;

  constructor({ notSent = [], hasOperatorKey = false }: GatewayOptions = {}) {
    this.#notSent = notSent.map(patternOf);
    this.#hasOperatorKey = hasOperatorKey;
  }

  /**
   * Why this answer refuses the request; null if it is not a known refusal. Every value in the answer must be a known text, or
   * say nothing about the payment. A 401 may have no text. The operator's texts (BANK_PAYMENT_NOT_SENT) may stand under
   * members of any name.
   */
  refusalIn(response: Pick<HttpResponse, 'status' | 'headers' | 'body'>): GatewayRefusal | null {
    const { status, headers } = response;
    if (status !== 401 && status !== 403 && status !== 429) return null;
    if (headers.location !== undefined) return null;
    if (status === 401 && !areKnownChallenges(headers['www-authenticate'])) return null;
    const said = readAnswer(response);
    if (said === null) return null;
    // Names are checked too, because the name of a member may contradict its text: {"executed":"Unauthorized"}.
    const isPlain = said.names.every((name) => refusalName.test(name));
    const meanings: GatewayRefusal[] = [];
    for (const leaf of said.leaves) {
      const meaning =
        (isPlain ? this.#knownMeaning(leaf[1], status) : null) ?? this.#taughtMeaning(leaf[1], response);
      if (meaning !== null) meanings.push(meaning);
      else if (!saysNothing(leaf, status)) return null;
    }
    return meanings[0] ?? (status === 401 && isPlain ? 'credentials' : null);
  }

  #knownMeaning(text: string, status: number): GatewayRefusal | null {
    const known = knownTexts.find((each) => each.status === status && each.pattern.test(text));
    if (known?.means === 'subscription key') return this.#hasOperatorKey ? 'operator key' : 'credentials';
    return known?.means ?? null;
  }

  #taughtMeaning(
    text: string,
    { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  ): GatewayRefusal | null {
    if (!this.#notSent.some((pattern) => pattern.test(text))) return null;
    // A 403 concerns a quota if it has a Retry-After.
    const isLimit = status === 429 || (status === 403 && headers['retry-after'] !== undefined);
    return isLimit ? 'rate limit' : 'credentials';
  }
}

/** Recognises refusals without the operator's texts. */
export const knownGatewayAnswers = new GatewayAnswers();

/** A body's plain values, and the names of all its members, even of those without a plain value. */
interface Said {
  readonly leaves: Leaf[];
  readonly names: string[];
}

/** Reads a body; null if the body may contain parts that are not read. */
function readAnswer(response: Pick<HttpResponse, 'headers' | 'body'>): Said | null {
  const text = comparableTextOf(response, maxLength);
  const said: Said = { leaves: [], names: [] };
  if (text === null) return null;
  if (response.body.length === 0) return said;
  const isWhole = isSaidToEnd(response.headers);
  try {
    const json: unknown = JSON.parse(text);
    if ((typeof json !== 'object' || json === null) && !isWhole) return null;
    collect('', json, said);
    // JSON.parse keeps only the last of two members with the same name, so the names are counted in the text.
    const colons = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1;
    return said.names.length === colons ? said : null;
  } catch {
    return isWhole ? { leaves: [['', oneSpaced(text)]], names: [] } : null;
  }
}

/** Adds a JSON value's plain values and member names to `said`. Spellings of one name count once. */
function collect(name: string, value: unknown, said: Said): void {
  if (typeof value !== 'object' || value === null) {
    said.leaves.push([name, oneSpaced(String(value))]);
    return;
  }
  const isList = Array.isArray(value);
  const members = Object.entries(value).map(
    ([key, member]) => [isList ? name : foldName(key), member] as const,
  );
  if (!isList) said.names.push(...new Set(members.map(([key]) => key)));
  for (const [key, member] of members) collect(key, member, said);
}

const foldName = (name: string): string => name.replaceAll(/[-_ ]/g, '').toLowerCase();

const statusName = /^(?:http)?(?:status|statuscode|code|errorcode|error)$/;
const timeName = /^(?:time|timestamp|date|datetime|retryafter)$/;
/** The names that banks and gateways give to the id of a request, with separators or without. */
export const requestIdNames = '(?:(?:x[-_]?)?(?:request|correlation)|trace|activity)[-_]?id';
const idName = new RegExp(`^${requestIdNames}$`);
const textName = /^(?:message|title|details?|description|errordescription|reason|fault|errors|path)$/;
/** The member names that a refusal may have. */
const refusalName = new RegExp(
  [statusName, timeName, idName, textName].map(({ source }) => source).join('|'),
);

/**
 * Whether a member says nothing about the payment: the answer's status, a time, a request's id or path, or an
 * empty message.
 */
function saysNothing([name, value]: Leaf, status: number): boolean {
  if (statusName.test(name))
    return value === String(status) || foldName(value) === foldName(STATUS_CODES[status] ?? '');
  if (timeName.test(name)) return /^\d[\d:.,TZ+ -]{0,39}$/.test(value);
  // Spring Boot's BasicErrorController sends `message` and `path`.
  if (status === 401 && name === 'message') return value === '';
  if (status === 401 && name === 'path') return /^\/[\w./~%:-]*$/.test(value);
  return idName.test(name) && /^(?=.*\d)[\w.:/+=-]{1,128}$/.test(value);
}

const parameter = String.raw`(?:realm|charset|scope|name|type|nonce|opaque|qop|algorithm|stale|domain)\s*=\s*(?:"[^"\\]*"|[\w.~+/-]+)`;
const challenge = String.raw`(?:basic|bearer|digest|negotiate|ntlm|oauth|directlogin|azureapimanagementkey)(?:\s+${parameter}(?:\s*,\s*${parameter})*)?`;
const challenges = new RegExp(String.raw`^${challenge}(?:\s*,\s*${challenge})*$`, 'i');

/**
 * Whether WWW-Authenticate only asks for credentials. An unknown scheme may ask for a confirmation of the payment, and a
 * parameter `error` may say anything.
 */
const areKnownChallenges = (header: string | string[] | undefined): boolean =>
  header === undefined || challenges.test([header].flat().join(', ').trim());
