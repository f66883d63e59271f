import {
  type CredentialName,
  type Credentials,
  credentialHeaders,
  validateCredential,
} from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { orStop, StartError } from '../errors.ts';
import { trimmed } from '../plain-text.ts';

/** The options that identify a record of the bank. */
const idOptions = {
  'bank-id': { value: 'ID', meaning: "the bank's code" },
  account: { value: 'ID', meaning: 'an account that the caller may see' },
  view: { value: 'ID', meaning: 'a view of that account' },
  transaction: { value: 'ID', meaning: 'a transaction of that account' },
  customer: { value: 'ID', meaning: 'a customer whom the caller may see' },
  product: { value: 'ID', meaning: 'a product' },
  branch: { value: 'ID', meaning: 'the id by which branches are searched' },
  iban: { value: 'ID', meaning: 'the IBAN by which counterparties of the account are searched' },
  metadata: { value: 'ID', meaning: 'the id by which metadata is searched' },
} as const;

export type IdOption = keyof typeof idOptions;
export type DoctorIds = Readonly<Partial<Record<IdOption, string>>>;

const credentialOption = (credential: CredentialName, variable: string) =>
  ({
    value: 'TEXT',
    meaning: `the header ${credentialHeaders[credential]}; better ${variable}`,
    credential,
    variable,
  }) as const;

/**
 * The options with the caller's credentials, and the variables that replace them, so that credentials need not be on the command
 * line.
 */
export const credentialOptions = {
  key: credentialOption('subscriptionKey', 'DOCTOR_SUBSCRIPTION_KEY'),
  'auth-provider': credentialOption('authProviderName', 'DOCTOR_AUTH_PROVIDER_NAME'),
  'auth-id': credentialOption('authId', 'DOCTOR_AUTH_ID'),
} as const;

export const doctorOptions = { ...idOptions, ...credentialOptions } as const;

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
