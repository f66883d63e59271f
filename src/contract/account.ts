import { references, textOrArray, textsOrText } from './common-schemas.ts';
import { get, operation, put } from './operation.ts';
import { type Answer, type Body, id, onlyText, part, resource, text, texts } from './resource.ts';
import { money } from './shared-parts.ts';

/** An account as putAccountID answers it (model AccountDef). */
export const account = resource(
  'Account',
  'An account as seen through one of its views; through another view it is another node. REST: getAccountsScope.',
  {
    balance: part('balance', 'The balance of the account.', money, {
      required: 'bodies',
      notes: { changes: ', which the bank requires: it can be changed, and not cleared' },
    }),
    bankIds: onlyText('bank_id', 'The banks that the account belongs to.', textOrArray, {
      notes: { answer: ', as a list as for customers and products', input: ': one entry' },
      formerly: { name: 'bankId' },
    }),
    iban: text('IBAN', 'The international account number.'),
    accountId: id('id', "The account's id at the bank.", { isOwnId: true, formerly: { name: 'id' } }),
    label: text('label', 'A name for the account, such as "Everyday".'),
    number: text('number', "The account's number at the bank."),
    ownerIds: texts('owners', 'The customers who own the account, by their ids.', {
      answer: references,
      holdsIds: true,
      notes: { answer: ', as the bank wrote them' },
    }),
    swiftBic: text('swift_bic', "The bank's BIC."),
    types: texts(
      'type',
      'The kinds of the account. The specification lists no values; the sandbox has `current`, `savings`, `joint`, `business` and `trust`.',
      {
        answer: textsOrText,
        also: {
          name: 'typeCodes',
          enum: 'AccountType',
          values: ['current', 'savings', 'joint', 'business', 'trust'],
        },
      },
    ),
    viewsAvailable: texts(
      'views_available',
      'The views through which the account can be seen; the sandbox has `owner` and `public`.',
      { answer: references },
    ),
  },
);
export type Account = Answer<typeof account>;
export type AccountBody = Body<typeof account>;

/** An entry of the account list, which has to hold a balance. */
const accountItem = account.answer.extend({ balance: money.answer });

const accounts = { audience: 'caller', resource: 'account' } as const;

/** `{scope}` is `permissions` or `views`. */
export const getAccountsScope = operation({
  id: 'getAccountsScope',
  ...get,
  ...accounts,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}/{VIEW_ID}/{scope}',
  auth: 'optional',
  envelope: 'accounts',
  answer: accountItem,
});

export const putAccountID = operation({
  id: 'putAccountID',
  ...put,
  ...accounts,
  path: '/v1/api/banks/{BANK_ID}/accounts/{ACCOUNT_ID}',
  body: account.body,
  envelope: null,
  answer: account.answer,
});
