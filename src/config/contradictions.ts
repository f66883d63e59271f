import { isLoopback } from '../http/loopback.ts';
import { duplicateCodes, foldValue } from '../payments/answer/payment-words.ts';
import { parseStoreUrl } from '../payments/store/store-address.ts';
import { sandboxHost } from '../sandbox/identity.ts';
import { claimsOf, viewerVariables } from '../schema/viewer-template.ts';
import { type Environment, givenOf, shownValue } from './environment.ts';
import type { Values, VariableName } from './variables.ts';

/** Reports a problem: the variable to change, the remedy, and the other variables involved. */
type Refuse = (variable: VariableName, remedy: string, ...others: readonly VariableName[]) => void;

/**
 * Finds values that contradict each other, or that require a missing value. `involved`: the variables that cause a
 * problem.
 */
export function contradictions(environment: Environment, values: Values) {
  const problems: { variable: string; value: string; remedy: string; involved: string[] }[] = [];
  const refuse: Refuse = (variable, remedy, ...others) => {
    const value = shownValue(variable, givenOf(environment, variable) ?? String(values[variable] ?? ''));
    problems.push({ variable, value, remedy, involved: [variable, ...others] });
  };
  checkPaymentWords(values, refuse);
  checkPaymentPaths(values, refuse);
  checkPorts(values, refuse);
  checkBank(values, refuse);
  checkCallers(values, refuse);
  checkTools(values, refuse);
  checkWorkersAndStore(values, refuse);
  // With this variable, Node accepts every certificate. Anybody on the network path could answer as the bank, or as the issuer
  // of tokens.
  if (environment.NODE_TLS_REJECT_UNAUTHORIZED === '0' && values.BANK_BASE_URL !== undefined)
    problems.push({
      variable: 'NODE_TLS_REJECT_UNAUTHORIZED',
      value: '0',
      remedy:
        "with a bank, certificates have to be checked: leave it out, and name the authority of the bank's certificate with BANK_TLS_CA.",
      involved: [],
    });
  return problems;
}

function checkPaymentWords(values: Values, refuse: Refuse): void {
  const rejected = values.BANK_PAYMENT_REJECTED.map(foldValue);
  const both = values.BANK_PAYMENT_DONE.find((word) => rejected.includes(foldValue(word)));
  if (both !== undefined)
    refuse('BANK_PAYMENT_DONE', `BANK_PAYMENT_REJECTED has this word too: ${both}.`, 'BANK_PAYMENT_REJECTED');
  const notSent = values.BANK_PAYMENT_NOT_SENT.map(foldValue);
  for (const name of ['BANK_PAYMENT_DONE', 'BANK_PAYMENT_REJECTED'] as const) {
    const shared = values[name].find((word) => notSent.includes(foldValue(word)));
    if (shared !== undefined) refuse('BANK_PAYMENT_NOT_SENT', `${name} has this text too: ${shared}.`, name);
  }
  const duplicate = values.BANK_PAYMENT_REJECTED.find((word) => duplicateCodes.has(foldValue(word)));
  if (duplicate !== undefined)
    refuse('BANK_PAYMENT_REJECTED', `${duplicate} means a duplicate, which the bank may have executed.`);
}

function checkPaymentPaths(values: Values, refuse: Refuse): void {
  const paths = [values.BANK_PAYMENT_STATUS, values.BANK_PAYMENT_RECEIPT].filter(
    (path) => path !== undefined,
  );
  if (values.BANK_PAYMENT_NEUTRAL.length === 0) return;
  if (paths.length === 0)
    refuse('BANK_PAYMENT_NEUTRAL', 'it needs BANK_PAYMENT_RECEIPT or BANK_PAYMENT_STATUS.');
  const isOnTheWay = (neutral: readonly string[]) =>
    paths.some((path) => neutral.every((part, index) => part === path[index]));
  if (values.BANK_PAYMENT_NEUTRAL.some(isOnTheWay))
    refuse(
      'BANK_PAYMENT_NEUTRAL',
      'it contains the place of the status or of the receipt.',
      'BANK_PAYMENT_STATUS',
      'BANK_PAYMENT_RECEIPT',
    );
}

function checkPorts({ BANK_BASE_URL, SANDBOX_PORT, PORT, METRICS_PORT, HOST }: Values, refuse: Refuse): void {
  if (PORT !== 0 && PORT === METRICS_PORT) refuse('METRICS_PORT', 'give another port than PORT.', 'PORT');
  // The sandbox bank listens at 127.0.0.1, so only these addresses can conflict with it.
  const isShared = HOST === sandboxHost || HOST === '0.0.0.0' || HOST === '::';
  if (BANK_BASE_URL !== undefined || SANDBOX_PORT === 0 || !isShared) return;
  const other = SANDBOX_PORT === PORT ? 'PORT' : 'METRICS_PORT';
  if (SANDBOX_PORT === PORT || SANDBOX_PORT === METRICS_PORT)
    refuse('SANDBOX_PORT', `give another port than ${other}.`, other, 'HOST', 'BANK_BASE_URL');
}

function checkBank(values: Values, refuse: Refuse): void {
  const { BANK_BASE_URL, BANK_TLS_CERT, BANK_TLS_KEY, BANK_TLS_CA, NODE_ENV } = values;
  if (BANK_BASE_URL === undefined && NODE_ENV === 'production')
    refuse(
      'BANK_BASE_URL',
      "in production name the bank's address; NODE_ENV=development starts the sandbox bank.",
      'NODE_ENV',
    );
  const url = URL.parse(BANK_BASE_URL ?? '');
  if (url?.protocol === 'http:' && !isLoopback(url.hostname) && !values.BANK_ALLOW_HTTP)
    refuse('BANK_BASE_URL', 'use https, or accept plain http with BANK_ALLOW_HTTP=1.', 'BANK_ALLOW_HTTP');
  if (BANK_TLS_CERT !== undefined && BANK_TLS_KEY === undefined)
    refuse('BANK_TLS_KEY', 'BANK_TLS_CERT needs the private key of its certificate.', 'BANK_TLS_CERT');
  if (BANK_TLS_KEY !== undefined && BANK_TLS_CERT === undefined)
    refuse('BANK_TLS_CERT', 'BANK_TLS_KEY needs the certificate that it belongs to.', 'BANK_TLS_KEY');
  const unused = BANK_TLS_CERT === undefined ? 'BANK_TLS_CA' : 'BANK_TLS_CERT';
  if (url?.protocol !== 'https:' && (BANK_TLS_CERT ?? BANK_TLS_CA) !== undefined)
    refuse(unused, 'it needs a BANK_BASE_URL that is https.', 'BANK_BASE_URL');
}

/** The variables that IDENTITY=jwt requires, and their meanings. */
const neededForTokens = [
  ['BANK_SUBSCRIPTION_KEY', "the operator's subscription key, because apps have none"],
  ['IDENTITY_JWKS_URL', "the address of the issuer's public keys"],
  ['IDENTITY_ISSUER', 'the name of the issuer, which is the iss of tokens'],
  ['IDENTITY_AUDIENCE', 'the name of this bankql, which is the aud of tokens'],
] as const;

const onlyForTokens = [
  'IDENTITY_JWKS_URL',
  'IDENTITY_ISSUER',
  'IDENTITY_AUDIENCE',
  'IDENTITY_CLAIMS',
  'IDENTITY_PAYMENT_SCOPE',
  'MCP_URL',
] as const;

function checkCallers(values: Values, refuse: Refuse): void {
  const { HOST, IDENTITY } = values;
  if (values.PERSISTED_ONLY && values.PERSISTED_DOCUMENTS === undefined)
    refuse('PERSISTED_ONLY', 'name the manifest with PERSISTED_DOCUMENTS.', 'PERSISTED_DOCUMENTS');
  // Without IDENTITY, a caller may send any Auth-ID. That is unsafe if bankql adds the operator's key to all requests.
  if (values.BANK_SUBSCRIPTION_KEY !== undefined && !isLoopback(HOST) && IDENTITY === undefined)
    refuse(
      'IDENTITY',
      `with BANK_SUBSCRIPTION_KEY and HOST=${HOST}, a caller could claim any Auth-ID: set IDENTITY=jwt if tokens identify callers, or IDENTITY=headers if a trusted proxy sets the auth headers.`,
    );
  if (IDENTITY === 'jwt') {
    for (const [name, meaning] of neededForTokens)
      if (values[name] === undefined) refuse(name, `IDENTITY=jwt needs ${meaning}.`, 'IDENTITY');
    return;
  }
  const why = 'needs IDENTITY=jwt: without that no token is verified.';
  for (const name of onlyForTokens) if (values[name] !== undefined) refuse(name, `it ${why}`, 'IDENTITY');
  for (const name of Object.values(viewerVariables))
    if (claimsOf(values[name] ?? '').length > 0) refuse(name, `{claim:name} ${why}`, 'IDENTITY');
}

function checkTools({ MCP_DOCUMENTS, MCP_URL, ...values }: Values, refuse: Refuse): void {
  const { IDENTITY, IDENTITY_AUDIENCE, BANK_BASE_URL } = values;
  if (MCP_DOCUMENTS !== undefined && BANK_BASE_URL !== undefined && IDENTITY !== 'jwt')
    refuse(
      'MCP_DOCUMENTS',
      'with a bank, agents need tokens: set IDENTITY=jwt and MCP_URL.',
      'IDENTITY',
      'BANK_BASE_URL',
    );
  if (MCP_DOCUMENTS !== undefined && IDENTITY === 'jwt' && MCP_URL === undefined)
    refuse(
      'MCP_URL',
      'MCP_DOCUMENTS and IDENTITY=jwt need the address of /mcp, which is the aud of agents’ tokens: with the tokens of apps, an agent could pay at /graphql without a question.',
      'MCP_DOCUMENTS',
      'IDENTITY',
    );
  if (MCP_URL !== undefined && MCP_DOCUMENTS === undefined)
    refuse('MCP_URL', 'name the folder of tools with MCP_DOCUMENTS.', 'MCP_DOCUMENTS');
  if (MCP_URL !== undefined && MCP_URL === IDENTITY_AUDIENCE)
    refuse(
      'MCP_URL',
      'give another value than IDENTITY_AUDIENCE: with a token for both, an agent could pay at /graphql without a question.',
      'IDENTITY_AUDIENCE',
    );
}

function checkWorkersAndStore(values: Values, refuse: Refuse): void {
  const { WORKERS, BANK_BASE_URL } = values;
  const url = stateUrlOf(values);
  if (url === null)
    refuse(
      'STATE_URL',
      'say where records of payments are kept, for example sqlite:/var/lib/bankql/state.db, or postgres://user@host/bankql: without them a payment could be sent twice.',
      'BANK_BASE_URL',
      'NODE_ENV',
    );
  if (WORKERS === 1) return;
  if (BANK_BASE_URL === undefined)
    refuse(
      'WORKERS',
      'each worker would have a sandbox bank of its own: name the bank with BANK_BASE_URL (`bankql sandbox` serves only a sandbox bank).',
      'BANK_BASE_URL',
    );
  else if (url !== null && parseStoreUrl(url).kind === 'memory')
    refuse(
      'WORKERS',
      'with STATE_URL=memory: each worker would know only its own payments, and one could be sent twice: name a store that they share, for example sqlite:/var/lib/bankql/state.db or postgres://user@host/bankql.',
      'STATE_URL',
    );
}

/** The store of payment records; null if the operator has to name it. */
export function stateUrlOf({ STATE_URL, BANK_BASE_URL, NODE_ENV }: Values): string | null {
  if (STATE_URL !== undefined) return STATE_URL;
  if (BANK_BASE_URL === undefined) return 'memory:';
  // In production, no store is made by default: a bank on loopback may be a tunnel to a real bank, and a new store in place of
  // one whose volume is missing would send payments again.
  if (NODE_ENV === 'production') return null;
  // For a bank on this machine, this store is the default, and the start creates it.
  return isLoopback(URL.parse(BANK_BASE_URL)?.hostname ?? '') ? 'sqlite:.bankql/state.db' : null;
}
