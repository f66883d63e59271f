import { type Credentials, credentialHeaders } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { BankqlError } from '../errors.ts';

/**
 * Templates for the viewer's ids, which are derived from a request's credentials, such as `{auth-id}-current`; null
 * for an id that is not configured.
 */
export interface ViewerTemplates {
  readonly customerId: string | null;
  readonly accountId: string | null;
}

/** The configuration variables that hold the templates. */
export const viewerVariables = {
  customerId: 'VIEWER_CUSTOMER_ID',
  accountId: 'VIEWER_ACCOUNT_ID',
} as const satisfies Record<keyof ViewerTemplates, string>;

const placeholders = /\{([^{}]*)\}/g;
const claimPrefix = 'claim:';
const credentialPlaceholders = { 'auth-id': 'authId', provider: 'authProviderName' } as const;

const isClaim = (name: string) => name.startsWith(claimPrefix) && name.length > claimPrefix.length;
const isCredential = (name: string): name is keyof typeof credentialPlaceholders =>
  Object.hasOwn(credentialPlaceholders, name);

/** The claims that a template uses. */
export const claimsOf = (template: string): readonly string[] =>
  Array.from(template.matchAll(placeholders), ([, name = '']) => name)
    .filter(isClaim)
    .map((name) => name.slice(claimPrefix.length));

/** Checks a template, and returns it. Errors: an Error whose message says how to correct it. */
export function validateViewerTemplate(template: string): string {
  const filled = template.replace(placeholders, (text, name: string) => {
    if (isCredential(name) || isClaim(name)) return 'x';
    throw new Error(`${text} is unknown: give {auth-id}, {provider} or {claim:name}.`);
  });
  if (/[{}]/.test(filled))
    throw new Error('a brace is not closed, or was not opened: give {auth-id}, for example.');
  // The result has to be a valid id, whatever replaces the placeholders.
  validateId('it', filled);
  return template;
}

/**
 * The id that a template yields for a caller.
 * Errors: MISSING_CREDENTIALS if the caller lacks what the template uses; BAD_USER_INPUT if the result is not a
 * valid id.
 */
export function fillViewerTemplate(variable: string, template: string, caller: Credentials): string {
  const missing = (what: string) =>
    new BankqlError(
      'MISSING_CREDENTIALS',
      `Who is logged in is not known: ${what}, which ${variable} names.`,
    );
  const id = template.replace(placeholders, (_text, name: string) => {
    if (isCredential(name)) {
      const credential = credentialPlaceholders[name];
      const value = caller[credential];
      if (value === null) throw missing(`the request lacks the header ${credentialHeaders[credential]}`);
      return value;
    }
    const claim = name.slice(claimPrefix.length);
    const { claims = {} } = caller;
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (value === undefined) throw missing(`the token has no claim ${claim}`);
    return value;
  });
  return validateId(`What ${variable} makes of this login`, id);
}
