import { builder } from './builder.ts';
import { connectionFromIds } from './connection.ts';
import type { ReadContext } from './context.ts';
import { type EstimateContext, fieldExtensions } from './field-extensions.ts';
import { MessageConnection, MessageObject } from './message.ts';
import {
  AccountConnection,
  AccountObject,
  accountNode,
  loadAccounts,
  toAccountNode,
} from './node-lookups/account.ts';
import { CustomerObject, customerNode } from './node-lookups/customer.ts';
import { nodeFromIds } from './node-type.ts';
import { type Viewer, viewerAccount, viewerCustomer, viewerOf } from './viewer-ids.ts';

const ViewerObject = builder.objectRef<Viewer>('Viewer').implement({
  description:
    'Who is logged in, at the configured bank and through the default view: where an app starts that knows nothing else.',
  fields: (t) => ({
    customer: t.field({
      type: CustomerObject,
      nullable: true,
      description: "The caller's own customer record. REST: getCustomer.",
      ...nodeFromIds(() => customerNode, viewerCustomer),
    }),
    account: t.field({
      type: AccountObject,
      nullable: true,
      description: 'The account that the login starts from. REST: getAccountsScope.',
      ...nodeFromIds(() => accountNode, viewerAccount),
    }),
    accounts: t.connection(
      {
        type: AccountObject,
        nullable: true,
        description:
          'The accounts that the caller may see, asked for through `account`. REST: getAccountsScope, scope `permissions`.',
        ...connectionFromIds(
          (viewer: Viewer, _args: object, context) =>
            loadAccounts(viewerAccount(viewer), 'permissions', context),
          (viewer, record) => toAccountNode(viewerAccount(viewer), record),
        ),
      },
      AccountConnection,
    ),
    messages: t.connection(
      {
        type: MessageObject,
        nullable: true,
        description: "The bank's messages to the caller. REST: getMessagesOwner.",
        ...connectionFromIds(
          ({ bankId }: Viewer, _args: object, { session }) => session.loaders.messagesOwner.load({ bankId }),
          (_viewer, record) => record,
        ),
      },
      MessageConnection,
    ),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerObject,
    nullable: true,
    description:
      'Who is logged in, as the request shows it; an error where nothing says who it is. Costs no REST call.',
    extensions: fieldExtensions({
      estimate: (_root: object, _args: object, context: EstimateContext) => ({ parent: viewerOf(context) }),
    }),
    resolve: (_root: object, _args: object, context: ReadContext) => viewerOf(context),
  }),
);
