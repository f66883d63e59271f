import { unwrap } from '../bank/answer.ts';
import { badUserInput } from '../errors.ts';
import type { CustomerIds, ViewIds } from '../loaders/loaders.ts';
import { Account } from './account.ts';
import { builder } from './builder.ts';
import { bankIdOr, type ReadContext, type ResolverContext, viewIdOr } from './context.ts';
import { Customer } from './customer.ts';
import { Message, messageList } from './message.ts';
import { encodeGlobalId, globalIdTypes } from './plugin/global-id.ts';
import { fillViewerTemplate, type ViewerTemplates, viewerVariables } from './viewer-template.ts';

/** The ids of the viewer. */
type Viewer = ReturnType<typeof viewerOf>;

/**
 * Determines the viewer from the request's credentials and the configured templates. An id that is unknown or invalid is
 * an error, which the fields that need the id report.
 * Errors: MISSING_CREDENTIALS and BAD_USER_INPUT if neither the customer nor the account is known.
 */
export function viewerOf({ defaults, credentials }: ReadContext, bankId?: string | null) {
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
  return { bankId: bankIdOr(defaults, bankId), viewId: viewIdOr(defaults, null), customerId, accountId };
}

const notConfigured = (variable: string) =>
  badUserInput(`This server does not know who is logged in: its operator says how with ${variable}.`);

/** The viewer's record. Errors: as viewerOf. */
const viewerCustomer = ({ bankId, customerId }: Viewer): CustomerIds => ({
  bankId,
  customerId: unwrap(customerId),
});

/** The account that the viewer's ids name, through the default view. Errors: as viewerOf. */
const viewerAccount = ({ bankId, accountId, viewId }: Viewer): ViewIds => ({
  bankId,
  accountId: unwrap(accountId),
  viewId,
});

/** The accounts that the viewer may use. Errors: as viewerOf. */
export const viewerAccounts = (viewer: Viewer) => ({
  ...viewerAccount(viewer),
  scope: 'permissions' as const,
});

/**
 * The viewer at the customer's bank, if this customer is the viewer.
 * Errors: as viewerOf; BAD_USER_INPUT for another customer, because the bank's interface has no more data about other
 * customers.
 */
export function viewerWhoIs(customer: CustomerIds, context: ReadContext): Viewer {
  const viewer = viewerOf(context, customer.bankId);
  if (viewerCustomer(viewer).customerId !== customer.customerId)
    throw badUserInput("The bank tells this of the caller's own customer record only: ask `viewer`.");
  return viewer;
}

globalIdTypes.set('Viewer', null);
const ViewerObject = builder.objectRef<Viewer>('Viewer').implement({
  description: 'The logged-in customer, with whom an app without any ids starts.',
  fields: (t) => ({
    id: t.id({
      nullable: false,
      description: 'Unique to the login and the bank, for caches: `node` cannot read it.',
      resolve: ({ bankId, viewId, customerId, accountId }) => {
        const ids = [customerId, accountId].map((id) => (id instanceof Error ? null : id));
        return encodeGlobalId('Viewer', JSON.stringify([bankId, viewId, ...ids]));
      },
    }),
    customer: t.link(Customer, {
      description: "The caller's own customer record.",
      ids: viewerCustomer,
    }),
    account: t.link(Account, {
      description: 'The default account of the login.',
      ids: viewerAccount,
    }),
    accounts: t.bankList(Account, {
      description: 'The accounts that the caller may see.',
      ids: viewerAccounts,
    }),
    messages: t.bankList(Message, {
      ...messageList,
      description: "The bank's messages to the caller.",
      load: (viewer, _args, { session }) => session.loaders.messagesOwner.load(viewer),
    }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerObject,
    description: 'The customer whom the credentials of the request name, else an error.',
    args: {
      bankId: t.arg.id({ description: 'The code of the bank; the configured one if it is left out.' }),
    },
    resolve: (_root: object, { bankId }, { bankql }: ResolverContext) => viewerOf(bankql, bankId),
  }),
);
