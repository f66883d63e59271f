import { validateBankId, validateId } from '../bank/ids.ts';
import { unwrap } from '../bank/response.ts';
import { otherAccount } from '../contract/other-account.ts';
import type { ViewIds } from '../loaders/loaders.ts';
import { builder } from './builder.ts';
import { fieldExtensions } from './field-extensions.ts';
import { recordFields } from './fields.ts';
import { AccountObject, accountNode } from './node-lookups/account.ts';
import { BankObject, bankNode } from './node-lookups/bank.ts';
import { type OtherAccountNode, OtherAccountObject, otherAccountNode } from './node-lookups/other-account.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { type ViewArgument, validateViewIds } from './view-ids.ts';

OtherAccountObject.implement({
  description: otherAccount.description,
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    ...recordFields(t, otherAccount),
    id: t.id(otherAccountNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    accountId: t.exposeID(
      'accountId',
      idFromPath('The account that it is a counterparty of, from the path.'),
    ),
    viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
    otherAccountId: t.id({
      nullable: true,
      description:
        "The counterparty's id at the bank. REST `id`, which the bank may leave out; `id` is then positional.",
      extensions: answeredByIds,
      // If the bank sent something other than text, the record holds an error here.
      resolve: ({ otherAccountId, record }) => otherAccountId ?? record?.id,
    }),
    account: t.field({
      type: AccountObject,
      nullable: true,
      description: 'The account that it is a counterparty of. REST: getAccountsScope.',
      ...nodeFromIds(
        () => accountNode,
        ({ bankId, accountId, viewId }: OtherAccountNode) => ({ bankId, accountId, viewId }),
      ),
    }),
    bank: t.field({
      type: BankObject,
      nullable: false,
      description: 'The bank through which the counterparty is read. Costs no REST call.',
      ...nodeFromIds(
        () => bankNode,
        ({ bankId }: OtherAccountNode) => ({ bankId }),
      ),
    }),
    linkedAccount: t.field({
      type: AccountObject,
      nullable: true,
      description:
        "The counterparty's account, where it is one of this bank: where REST `bank` or `swift_bic` is this bank's code, and REST `id` the account's. Null where it is not. REST: getAccountsScope.",
      args: {
        viewId: t.arg.id({
          description: 'The view through which it is read; that of the counterparty where left out.',
        }),
      },
      extensions: fieldExtensions({
        estimateUnknown: (other: OtherAccountNode, { viewId }: ViewArgument, context, unknownId) =>
          accountNode.estimate(validateViewIds(other.bankId, unknownId(), viewId ?? other.viewId), context),
      }),
      resolve: (other, { viewId }, context, info) => {
        const ids = linkedAccountOf(other, viewId);
        return ids === null ? null : accountNode.load(ids, context, info);
      },
    }),
  }),
});

/** The account of this bank behind a counterparty; null if it has none. Errors: BANK_BAD_RESPONSE, BAD_USER_INPUT. */
function linkedAccountOf(other: OtherAccountNode, viewId: string | null | undefined): ViewIds | null {
  const { bank, swift_bic, id } = recordOf(other);
  // A bank identifier code has eight characters, or eleven with XXX for the head office.
  if (![bank, swift_bic].some((code) => code === other.bankId || code === `${other.bankId}XXX`)) return null;
  const accountId = unwrap(id);
  if (!accountId) return null;
  return {
    bankId: other.bankId,
    accountId: validateBankId('an account', accountId),
    viewId: validateId('viewId', viewId ?? other.viewId),
  };
}
