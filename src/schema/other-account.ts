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
      name: t.exposeString('name', { nullable: true, description: "The holder's name. REST `name`." }),
      isAlias: t.exposeBoolean('is_alias', {
        nullable: true,
        description: 'Whether the name is an alias. REST `is_alias`.',
      }),
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
      description:
        "The counterparty's id at the bank. REST `id`, which the bank may leave out; `id` is then positional.",
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
      description: "The counterparty's bank, by its name or code. REST `bank`.",
      resolve: (other) => recordOf(other).bank,
    }),
    holder: t.field({
      type: AccountHolderObject,
      nullable: true,
      description: 'Who holds the account. REST `holder`.',
      resolve: (other) => recordOf(other).holder,
    }),
    kind: t.string({
      nullable: true,
      description:
        'What kind of counterparty it is. The specification lists no values; the sandbox has `employer`, `landlord`, `shop`, `travel`, `insurance`, `utility`, `culture`, `person` and `cash machine`. REST `kind`.',
      resolve: (other) => recordOf(other).kind,
    }),
    number: t.string({
      nullable: true,
      description: "The account's number at its bank. REST `number`.",
      resolve: (other) => recordOf(other).number,
    }),
    iban: t.string({
      nullable: true,
      description: 'The international account number. REST `IBAN`.',
      resolve: (other) => recordOf(other).IBAN,
    }),
    swiftBic: t.string({
      nullable: true,
      description: "The BIC of the counterparty's bank. REST `swift_bic`.",
      resolve: (other) => recordOf(other).swift_bic,
    }),
  }),
});
