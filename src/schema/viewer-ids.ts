import { unwrap } from '../bank/answer.ts';
import { badUserInput } from '../errors.ts';
import type { CustomerIds } from '../loaders/loaders.ts';
import { bankIdOr, type ReadContext } from './context.ts';
import { fillViewerTemplate, type ViewerTemplates, viewerVariables } from './viewer-template.ts';

/** The logged-in customer. */

/** The ids of the viewer. */
export type Viewer = ReturnType<typeof viewerOf>;

/**
 * Determines the viewer from the request's credentials and the configured templates. An id that is unknown or invalid is
 * an error, which the fields that need the id report.
 * Errors: MISSING_CREDENTIALS and BAD_USER_INPUT if neither the customer nor the account is known.
 */
export function viewerOf({ defaults, credentials }: ReadContext, bankId: string | null | undefined) {
  const idOf = (name: keyof ViewerTemplates): string | Error => {
    const template = defaults.viewer?.[name] ?? null;
    if (template === null) return notConfigured(viewerVariables[name]);
    try {
      return fillViewerTemplate(viewerVariables[name], template, credentials);
    } catch (error) {
      return error as Error;
    }
  };
  const [customerId, accountId] = [idOf('customerId'), idOf('accountId')];
  if (customerId instanceof Error && accountId instanceof Error)
    throw defaults.viewer?.customerId ? customerId : accountId;
  return { bankId: bankIdOr(defaults, bankId), viewId: defaults.viewId, customerId, accountId };
}

const notConfigured = (variable: string) =>
  badUserInput(`This server does not know who is logged in: its operator says how with ${variable}.`);

/**
 * The viewer at the customer's bank, if this customer is the viewer. Errors: those of viewerOf; BAD_USER_INPUT for
 * any other customer, because the bank's interface has such data only about the caller.
 */
export function viewerWhoIs(customer: CustomerIds, _args: object, context: ReadContext): Viewer {
  const viewer = viewerOf(context, customer.bankId);
  if (unwrap(viewer.customerId) !== customer.customerId)
    throw badUserInput("The bank tells this of the caller's own customer record only: ask `viewer`.");
  return viewer;
}
