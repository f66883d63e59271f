import { parseArgs } from 'node:util';
import { type Credentials, credentialHeaders, validateCredential } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { orStop, StartError } from '../errors.ts';
import { withoutLineEnds } from '../plain-text.ts';

/** The options that identify a record of the bank, with descriptions. */
export const idOptions = {
  'bank-id': "the bank's code",
  account: 'an account that the caller may see',
  view: 'a view of that account',
  transaction: 'a transaction of that account',
  customer: 'a customer whom the caller may see',
  product: 'a product',
  branch: 'what branches are searched by (the id of the query)',
  iban: 'what counterparties of the account are searched by',
  metadata: 'what metadata is searched by (the id of the query)',
} as const;

export type IdOption = keyof typeof idOptions;
export type DoctorIds = Readonly<Partial<Record<IdOption, string>>>;

/** Options that are not part of a path: any text is valid. */
const queries: readonly IdOption[] = ['branch', 'iban', 'metadata'];

const isIdOption = (name: string): name is IdOption => Object.hasOwn(idOptions, name);

/** The options with the caller's credentials, and the variables that keep these off the command line. */
export const credentialOptions = {
  key: { credential: 'subscriptionKey', variable: 'DOCTOR_SUBSCRIPTION_KEY' },
  'auth-provider': { credential: 'authProviderName', variable: 'DOCTOR_AUTH_PROVIDER_NAME' },
  'auth-id': { credential: 'authId', variable: 'DOCTOR_AUTH_ID' },
} as const satisfies Record<string, { credential: keyof Credentials; variable: string }>;

type CredentialOption = keyof typeof credentialOptions;

/** What the doctor asks the bank for, and with whose credentials. */
export interface DoctorOptions {
  readonly ids: DoctorIds;
  readonly credentials: Credentials;
}

const pad = (name: string) => `  --${name}`.padEnd(18);

export const doctorUsage = [
  'usage: bankql doctor [options]',
  '',
  'Calls every read operation of the bank and compares the answers with the contract.',
  '',
  ...Object.entries(idOptions).map(([name, what]) => `${pad(name)}${what}`),
  ...Object.entries(credentialOptions).map(
    ([name, { credential, variable }]) =>
      `${pad(name)}the header ${credentialHeaders[credential]}; better ${variable}`,
  ),
  '  --payment-answer  a status and a body, such as 200 {"id":"T"}: explains, without a call, what they mean for a payment',
  '',
  '  bankql doctor --env-file production.env --account a-1',
  '',
].join('\n');

/**
 * Reads the command line and the environment; `defaults` provides what both leave out.
 * Errors: StartError, in one line, without a value.
 */
export function readDoctorOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  defaults: DoctorOptions,
): DoctorOptions {
  const given = parse(args);
  const ids: Partial<Record<IdOption, string>> = { ...defaults.ids };
  for (const [name, value] of given) {
    if (!isIdOption(name)) continue;
    ids[name] = queries.includes(name) ? value : orStop(() => validateId(`--${name}`, value));
  }
  const credential = (option: CredentialOption) => {
    const { credential: name, variable } = credentialOptions[option];
    const set = withoutLineEnds(environment[variable] ?? '');
    const value = given.get(option) ?? (set || defaults.credentials[name]);
    const words = set === value ? `${variable} cannot be used: ` : '';
    return value === null ? null : orStop(() => validateCredential(credentialHeaders[name], value), words);
  };
  const credentials = {
    subscriptionKey: credential('key'),
    authProviderName: credential('auth-provider'),
    authId: credential('auth-id'),
  };
  if (credentials.subscriptionKey === null) {
    throw new StartError(
      `No operation can be called without a subscription key: set ${credentialOptions.key.variable}, or give --key.`,
    );
  }
  return { ids, credentials };
}

/** The options as given. Arguments that are not options are not repeated in messages: they may be credentials. */
function parse(args: readonly string[]): Map<string, string> {
  const known = [...Object.keys(idOptions), ...Object.keys(credentialOptions)];
  const options = Object.fromEntries(known.map((name) => [name, { type: 'string' as const }]));
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const given = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== 'option') {
      throw new StartError('Give options only, such as --account alice-current; --help lists them.');
    }
    const { name, value } = token;
    if (!known.includes(name)) throw new StartError(`There is no option --${name}; --help lists them.`);
    const isSwallowed = !token.inlineValue && value?.startsWith('--');
    if (!value || isSwallowed) throw new StartError(`--${name} needs a value.`);
    given.set(name, value);
  }
  return given;
}
