import { foldValue } from '../payments/payment-words.ts';
import { parseStoreUrl, type StoreAddress } from '../payments/stores/store-address.ts';
import { sandboxHost } from '../sandbox/identity.ts';
import { claimsOf, viewerVariables } from '../schema/viewer-template.ts';
import { isLoopback } from '../server/request.ts';
import { type Values, type VariableName, variables } from './variables.ts';

/** What is wrong: the variable to change, how, and the other variables that it rests on. */
type Finding = readonly [variable: VariableName, remedy: string, ...others: VariableName[]];

type Rule = (values: Values) => Finding | readonly Finding[] | '' | false | undefined;

/** A variable has no effect without another one. */
const needs =
  (variable: VariableName, other: VariableName, remedy: string): Rule =>
  (values) =>
    isGiven(values[variable]) && !isGiven(values[other]) && [variable, remedy, other];

/** A variable cannot be used without another one, which is missing. */
const lacks =
  (variable: VariableName, missing: VariableName, what: string): Rule =>
  (values) =>
    isGiven(values[variable]) &&
    !isGiven(values[missing]) && [missing, `${variable} needs ${what}.`, variable];

const isGiven = (value: unknown) => value !== undefined && value !== false;

/** What variables demand of each other. */
const rules: readonly Rule[] = [
  ({ BANK_PAYMENT_DONE: done, BANK_PAYMENT_REJECTED: rejected }) => {
    const both = done.find((word) => rejected.some((other) => foldValue(other) === foldValue(word)));
    return (
      both && [
        'BANK_PAYMENT_DONE',
        `BANK_PAYMENT_REJECTED has this word too: ${both}.`,
        'BANK_PAYMENT_REJECTED',
      ]
    );
  },

  ({ BANK_BASE_URL, NODE_ENV }) =>
    BANK_BASE_URL === undefined &&
    NODE_ENV === 'production' && [
      'BANK_BASE_URL',
      "in production name the bank's address; NODE_ENV=development starts the sandbox bank.",
      'NODE_ENV',
    ],

  ({ NODE_ENV = 'test' }) =>
    !['production', 'development', 'test'].includes(NODE_ENV) && [
      'NODE_ENV',
      'give production, development or test: only production keeps the sandbox bank from starting.',
    ],

  ({ PORT, METRICS_PORT }) =>
    PORT !== 0 && PORT === METRICS_PORT && ['METRICS_PORT', 'give another port than PORT.', 'PORT'],

  ({ BANK_BASE_URL, SANDBOX_PORT, PORT, METRICS_PORT, HOST }) => {
    // Its host is 127.0.0.1.
    const isShared = HOST === sandboxHost || HOST === '0.0.0.0' || HOST === '::';
    if (BANK_BASE_URL !== undefined || SANDBOX_PORT === 0 || !isShared) return;
    const other = SANDBOX_PORT === PORT ? 'PORT' : SANDBOX_PORT === METRICS_PORT && 'METRICS_PORT';
    return other && ['SANDBOX_PORT', `give another port than ${other}.`, other, 'HOST', 'BANK_BASE_URL'];
  },

  ({ BANK_BASE_URL = '', BANK_ALLOW_HTTP }) => {
    const url = URL.parse(BANK_BASE_URL);
    const remedy = 'use https, or accept plain http with BANK_ALLOW_HTTP=1.';
    const isOpen = url?.protocol === 'http:' && !isLoopback(url.hostname) && !BANK_ALLOW_HTTP;
    return isOpen && ['BANK_BASE_URL', remedy, 'BANK_ALLOW_HTTP'];
  },

  lacks('BANK_TLS_CERT', 'BANK_TLS_KEY', 'the private key of its certificate'),
  lacks('BANK_TLS_KEY', 'BANK_TLS_CERT', 'the certificate that it belongs to'),

  (values) => {
    if (URL.parse(values.BANK_BASE_URL ?? '')?.protocol === 'https:') return;
    const useless = (['BANK_TLS_CERT', 'BANK_TLS_CA'] as const).find((name) => values[name] !== undefined);
    return useless && [useless, 'it needs a BANK_BASE_URL that is https.', 'BANK_BASE_URL'];
  },

  needs('PERSISTED_ONLY', 'PERSISTED_DOCUMENTS', 'name the manifest with PERSISTED_DOCUMENTS.'),

  // A caller that may name any Auth-ID could be anyone: with the operator's key somebody has to vouch for it.
  ({ BANK_SUBSCRIPTION_KEY, HOST, IDENTITY }) =>
    BANK_SUBSCRIPTION_KEY !== undefined &&
    !isLoopback(HOST) &&
    IDENTITY === undefined && [
      'IDENTITY',
      `with BANK_SUBSCRIPTION_KEY and HOST=${HOST}, a caller could claim any Auth-ID: set IDENTITY=jwt if tokens identify callers, or IDENTITY=headers if a trusted proxy sets the auth headers.`,
    ],

  (values) =>
    values.IDENTITY === 'jwt'
      ? neededForTokens
          .filter(([name]) => values[name] === undefined)
          .map(([name, meaning]) => [name, `IDENTITY=jwt needs ${meaning}.`, 'IDENTITY'])
      : [
          ...onlyForTokens
            .filter((name) => values[name] !== undefined)
            .map((name) => [name, 'it needs IDENTITY=jwt: without that no token is verified.'] as const),
          ...Object.values(viewerVariables)
            .filter((name) => claimsOf(values[name] ?? '').length > 0)
            .map(
              (name) =>
                [name, '{claim:name} needs IDENTITY=jwt: without that no token is verified.'] as const,
            ),
        ].map((finding) => [...finding, 'IDENTITY']),

  // Each worker would have its own.
  ({ WORKERS, BANK_BASE_URL }) =>
    WORKERS > 1 &&
    BANK_BASE_URL === undefined && [
      'WORKERS',
      'each worker would have a sandbox bank of its own: name the bank with BANK_BASE_URL (`bankql sandbox` serves only a sandbox bank).',
      'BANK_BASE_URL',
    ],

  (values) =>
    values.WORKERS > 1 &&
    values.BANK_BASE_URL !== undefined &&
    storeOf(values)?.kind === 'memory' && [
      'WORKERS',
      'with STATE_URL=memory: each worker would know only its own payments, and one could be sent twice: name a store that they share, for example sqlite:/var/lib/bankql/state.db or postgres://user@host/bankql.',
      'STATE_URL',
    ],

  (values) =>
    storeOf(values) === null && [
      'STATE_URL',
      'say where records of payments are kept, for example sqlite:/var/lib/bankql/state.db, or postgres://user@host/bankql: without them a payment could be sent twice.',
      'BANK_BASE_URL',
    ],
];

/** The variables that IDENTITY=jwt requires, and their meanings. */
const neededForTokens = [
  ['BANK_SUBSCRIPTION_KEY', "the operator's subscription key: apps hold none"],
  ['IDENTITY_JWKS_URL', "where the issuer's keys are"],
  ['IDENTITY_ISSUER', 'the issuer of tokens, their iss'],
  ['IDENTITY_AUDIENCE', 'whom tokens are meant for, their aud'],
] as const;

const onlyForTokens = [
  'IDENTITY_JWKS_URL',
  'IDENTITY_ISSUER',
  'IDENTITY_AUDIENCE',
  'IDENTITY_CLAIMS',
] as const;

/** The store of a bank on this machine. It is made by the start. */
const localStateUrl = 'sqlite:.bankql/state.db';

/** The store of payment records; null if the operator has to name it. */
export function stateUrlOf({ STATE_URL, BANK_BASE_URL }: Values): string | null {
  if (STATE_URL !== undefined) return STATE_URL;
  if (BANK_BASE_URL === undefined) return 'memory:';
  return isLoopback(URL.parse(BANK_BASE_URL)?.hostname ?? '') ? localStateUrl : null;
}

function storeOf(values: Values): StoreAddress | null {
  const url = stateUrlOf(values);
  return url === null ? null : parseStoreUrl(url);
}

/** What the values demand of each other and do not have, with the variables that each problem rests on. */
export const contradictions = (values: Values) =>
  rules.flatMap((rule) => {
    const found = rule(values) || [];
    return (isOne(found) ? [found] : found).map(([variable, remedy, ...others]) => {
      const value = values[variable];
      const text = value === true ? 'on' : [value ?? []].flat().join(', ');
      const involved = [variable, ...others];
      return { variable, value: text && variables[variable].show(text), remedy, involved };
    });
  });

const isOne = (found: Finding | readonly Finding[]): found is Finding => typeof found[0] === 'string';
