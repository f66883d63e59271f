import type { OtherAccount } from '../contract/other-account.ts';
import { builder } from './builder.ts';
import { answeredByIds, idFromPath, nodeFromIds, recordOf } from './node-type.ts';
import { AccountObject, accountNode } from './node-types/account.ts';
import { type OtherAccountNode, OtherAccountObject, otherAccountNode } from './node-types/other-account.ts';

const AccountHolderObject = builder
  .objectRef<NonNullable<OtherAccount['holder']>>('AccountHolder')
  .implement({
    description: 'Who holds a counterparty account.',
    fields: (t) => ({
      name: t.exposeString('name', { nullable: true, description: 'REST `name`.' }),
      isAlias: t.exposeBoolean('is_alias', { nullable: true, description: 'REST `is_alias`.' }),
    }),
  });
OtherAccountObject.implement({
  description:
    'A counterparty of an account, as seen through one of its views. REST: getOtherAccounts, or postOtherAccounts.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.id(otherAccountNode.idField),
    bankId: t.exposeID('bankId', idFromPath("The bank's code, from the path.")),
    accountId: t.exposeID(
      'accountId',
      idFromPath('The account that it is a counterparty of, from the path.'),
    ),
    viewId: t.exposeID('viewId', idFromPath('The view through which it is seen, from the path.')),
    otherAccountId: t.id({
      nullable: true,
      description: 'REST `id`, which the bank may leave out; `id` is then positional.',
      extensions: answeredByIds,
      // Where the bank wrote something else than a text, that error is what the record holds.
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
    bankName: t.string({
      nullable: true,
      description: "REST `bank`: the counterparty's bank, as the bank wrote it.",
      resolve: (other) => recordOf(other).bank,
    }),
    holder: t.field({
      type: AccountHolderObject,
      nullable: true,
      description: 'REST `holder`.',
      resolve: (other) => recordOf(other).holder,
    }),
    kind: t.string({ nullable: true, description: 'REST `kind`.', resolve: (other) => recordOf(other).kind }),
    number: t.string({
      nullable: true,
      description: 'REST `number`.',
      resolve: (other) => recordOf(other).number,
    }),
    iban: t.string({ nullable: true, description: 'REST `IBAN`.', resolve: (other) => recordOf(other).IBAN }),
    swiftBic: t.string({
      nullable: true,
      description: 'REST `swift_bic`.',
      resolve: (other) => recordOf(other).swift_bic,
    }),
  }),
});
