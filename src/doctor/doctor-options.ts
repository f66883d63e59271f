import {
  type CredentialName,
  type Credentials,
  credentialHeaders,
  validateCredential,
} from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { orStop, StartError } from '../errors.ts';
import { trimmed } from '../plain-text.ts';

/** The options that identify a record of the bank, with descriptions. */
export const idOptions = {
  'bank-id': "the bank's code",
  account: 'an account that the caller may see',
  view: 'a view of that account',
  transaction: 'a transaction of that account',
  customer: 'a customer whom the caller may see',
  product: 'a product',
  branch: 'the id by which branches are searched',
  iban: 'the IBAN by which counterparties of the account are searched',
  metadata: 'the id by which metadata is searched',
} as const;

export type IdOption = keyof typeof idOptions;
export type DoctorIds = Readonly<Partial<Record<IdOption, string>>>;

/**
 * The options with the caller's credentials, and the variables that replace them, so that credentials need not be on the command
 * line.
 */
export const credentialOptions = {
  key: { credential: 'subscriptionKey', variable: 'DOCTOR_SUBSCRIPTION_KEY' },
  'auth-provider': { credential: 'authProviderName', variable: 'DOCTOR_AUTH_PROVIDER_NAME' },
  'auth-id': { credential: 'authId', variable: 'DOCTOR_AUTH_ID' },
} as const satisfies Record<string, { credential: CredentialName; variable: string }>;

/** The ids and the credentials with which the doctor calls the bank. */
export interface DoctorOptions {
  readonly ids: DoctorIds;
  readonly credentials: Credentials;
}

/**
 * The ids and credentials of the command line (`given`, by option) and of the environment; `defaults` provides the others.
 * Errors: StartError, in one line, without a value.
 */
export function readDoctorOptions(
  given: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
  defaults: DoctorOptions,
): DoctorOptions {
  const ids: Partial<Record<IdOption, string>> = { ...defaults.ids };
  for (const name of Object.keys(idOptions) as IdOption[]) {
    const value = given[name];
    if (value !== undefined) ids[name] = orStop(() => validateId(`--${name}`, value));
  }
  const credential = (option: keyof typeof credentialOptions) => {
    const { credential: name, variable } = credentialOptions[option];
    const value = given[option] ?? (trimmed(environment[variable] ?? '') || defaults.credentials[name]);
    if (value === null) return null;
    const source = given[option] === undefined ? variable : `--${option}`;
    return orStop(() => validateCredential(credentialHeaders[name], value), `${source}: `);
  };
  const subscriptionKey = credential('key');
  if (subscriptionKey === null)
    throw new StartError(
      `No operation can be called without a subscription key: set ${credentialOptions.key.variable}, or give --key.`,
    );
  return {
    ids,
    credentials: {
      subscriptionKey,
      authProviderName: credential('auth-provider'),
      authId: credential('auth-id'),
    },
  };
}
