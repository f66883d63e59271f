import type { Caller } from '../bank/credentials.ts';
import { validateId } from '../bank/ids.ts';
import { BankqlError } from '../errors.ts';

/** A part of a template: literal text, or a placeholder. */
type Part =
  | { readonly text: string }
  | { readonly credential: 'authId' | 'authProviderName' }
  | { readonly claim: string };

/** How an id is derived from a request's credentials, such as `{auth-id}-current`. */
export interface ViewerTemplate {
  readonly text: string;
  readonly parts: readonly Part[];
}

/** The templates of the viewer's ids; null for one that is not configured. */
export interface ViewerTemplates {
  readonly customerId: ViewerTemplate | null;
  readonly accountId: ViewerTemplate | null;
}

/** The configuration variables that hold the templates. */
export const viewerVariables = {
  customerId: 'VIEWER_CUSTOMER_ID',
  accountId: 'VIEWER_ACCOUNT_ID',
} as const satisfies Record<keyof ViewerTemplates, string>;

const credentialPlaceholders: ReadonlyMap<string, 'authId' | 'authProviderName'> = new Map([
  ['auth-id', 'authId'],
  ['provider', 'authProviderName'],
]);

/** The claims that a template uses. */
export const claimsOf = ({ parts }: ViewerTemplate): readonly string[] =>
  parts.flatMap((part) => ('claim' in part ? [part.claim] : []));

/** Errors: an Error whose message says what to give instead. */
export function parseViewerTemplate(text: string): ViewerTemplate {
  const parts = text.split(/(\{[^{}]*\})/).flatMap((piece): Part[] => {
    if (piece === '') return [];
    return [piece.startsWith('{') && piece.endsWith('}') ? placeholder(piece.slice(1, -1)) : plain(piece)];
  });
  // The result has to be a valid id, whatever replaces the placeholders.
  validateId('it', parts.map((part) => ('text' in part ? part.text : 'x')).join(''));
  return { text, parts };
}

function placeholder(name: string): Part {
  const credential = credentialPlaceholders.get(name);
  if (credential !== undefined) return { credential };
  const claim = /^claim:(.+)$/s.exec(name)?.[1];
  if (claim !== undefined) return { claim };
  throw new Error(`{${name}} is unknown: give {auth-id}, {provider} or {claim:name}.`);
}

function plain(text: string): Part {
  if (/[{}]/.test(text))
    throw new Error('a brace is not closed, or was not opened: give {auth-id}, for example.');
  return { text };
}

/**
 * The id that a template yields for a caller.
 * Errors: MISSING_CREDENTIALS if the caller lacks what the template uses; BAD_USER_INPUT if the result is not a
 * valid id.
 */
export function fillViewerTemplate(variable: string, { parts }: ViewerTemplate, caller: Caller): string {
  const missing = (what: string) =>
    new BankqlError(
      'MISSING_CREDENTIALS',
      `Who is logged in is not known: ${what}, which ${variable} names.`,
    );
  const values = parts.map((part) => {
    if ('text' in part) return part.text;
    if ('claim' in part) {
      const { claims = {} } = caller;
      const value = Object.hasOwn(claims, part.claim) ? claims[part.claim] : undefined;
      if (value === undefined) throw missing(`the token has no claim ${part.claim}`);
      return value;
    }
    const value = caller[part.credential];
    if (value === null)
      throw missing(
        `the request lacks the header ${part.credential === 'authId' ? 'Auth-ID' : 'Auth-Provider-Name'}`,
      );
    return value;
  });
  return validateId(`What ${variable} makes of this login`, values.join(''));
}
