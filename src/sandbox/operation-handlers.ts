import type { Account, AccountBody } from '../contract/account.ts';
import type { Branch } from '../contract/branch.ts';
import type { Customer } from '../contract/customer.ts';
import type { Answer, Body, PathIds } from '../contract/operation.ts';
import type { OperationId, operations } from '../contract/operations.ts';
import type { ProductBody, ProductQuery } from '../contract/product.ts';
import type { Transaction } from '../contract/transaction.ts';
import type { TransactionRequest } from '../contract/transaction-request.ts';
import { ownAccount, ownerView, viewedAccount, views } from './access.ts';
import type { Database } from './database.ts';
import { bankId, staffId } from './identity.ts';
import { amountOf, centsOf } from './money.ts';
import { payeeOf, payeeRef } from './payee.ts';
import { found, HttpError } from './request-checks.ts';
import { requestUrl, type Transferred, transfer, transferOrder } from './transfer.ts';

type Row<Id extends OperationId> = (typeof operations)[Id];

/** The caller: null (anonymous) is possible if the operation's auth headers are optional or none. */
type Caller<Auth> = Auth extends 'required' ? string : Auth extends 'optional' ? string | null : null;

/** A request that has passed the checks which all operations share. */
interface Call<Id extends OperationId> {
  /** The path's ids, percent-decoded. */
  readonly ids: PathIds<Row<Id>>;
  readonly body: Body<Row<Id>>;
  readonly caller: Caller<Row<Id>['auth']>;
  readonly database: Database;
  /** The time of the request, as an ISO 8601 text. */
  readonly at: string;
}

/**
 * The bank's side of one operation. Returns the answer without its envelope. Handlers are synchronous, so that no two run at
 * once, and refuse before they write.
 * Errors: HttpError.
 */
type Handler<Id extends OperationId> = (call: Call<Id>) => Answer<Row<Id>>;

/**
 * Whether a branch or a product answers a POST list query: its id is the query's, or the query's id is the bank's,
 * which matches all of them; and, if the query has a name, its name contains that one, in either case.
 */
function matches(record: Branch | ProductBody, query: ProductQuery): boolean {
  if (query.id !== bankId && query.id !== record.id) return false;
  if (query.name === undefined) return true;
  return record.name?.toLowerCase().includes(query.name.toLowerCase()) ?? false;
}

const shareAccount = (database: Database, one: string, other: string): boolean =>
  database.accounts.all().some(({ owners }) => owners?.includes(one) && owners.includes(other));

/** A list entry as seen through a view: `public` hides the owners, how to pay to the account, and its amount. */
function seenThrough(viewId: string, account: Account) {
  const balance = account.balance ?? {};
  if (viewId === 'owner') return { ...account, balance };
  const { id, bank_id, label, type, views_available } = account;
  return { id, bank_id, label, type, views_available, balance: { currency: balance.currency } };
}

/** Errors: HttpError 400 if a body's field contradicts the path, such as `id`, whose `subject` is "id". */
function checkOfPath(field: string, given: string | null | undefined, ofPath: string, subject: string): void {
  if ((given ?? ofPath) !== ofPath) throw new HttpError(400, `${field}: is not the ${subject} of the path`);
}

/** Errors: HttpError 403 for customers. */
function requireStaff(caller: string | null, what: string): void {
  if (caller !== staffId) throw new HttpError(403, `Only the staff of the bank ${what}`);
}

/** Errors: HttpError 400 if the bank cannot store the body; the text names the field. */
function checkAccount(database: Database, accountId: string, body: AccountBody, caller: string): void {
  checkOfPath('id', body.id, accountId, 'id');
  if ((body.bank_id ?? bankId) !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
  if (body.owners && caller !== staffId && !body.owners.includes(caller))
    throw new HttpError(400, 'owners: have to name the caller');
  const stranger = body.owners?.find((owner) => !database.customers.get(owner));
  if (stranger !== undefined) throw new HttpError(400, `owners: there is no customer ${stranger}`);
  const unknown = body.views_available?.find((view) => !views.includes(view));
  if (unknown !== undefined) throw new HttpError(400, `views_available: there is no view ${unknown}`);
}

/**
 * The balance after the PUT. Customers may send the balance as it is, or leave it out: the PUT's body has to have one.
 * Errors: HttpError 400 for an amount that cannot be kept, 403 for a customer who would change it.
 */
function balanceOf(held: Account['balance'], given: AccountBody['balance'], caller: string) {
  const before = { currency: held?.currency ?? 'EUR', amount: held?.amount ?? '0' };
  const after = { ...before, ...given };
  const isSameAmount =
    centsOf('balance.amount', after.amount, after.currency) === centsOf('', before.amount, before.currency);
  const isSameCurrency = held === undefined || after.currency === before.currency;
  if (caller !== staffId && !(isSameAmount && isSameCurrency))
    throw new HttpError(403, 'Only the staff of the bank set balances');
  return after;
}

/** A single product gives its bank as a list, an entry of a list as one string. */
const single = (product: ProductBody) => ({ ...product, bank_id: [product.bank_id] });

/** Errors: HttpError 404. */
const customerOf = (database: Database, id: string): Customer =>
  found(database.customers.get(id), `There is no customer ${id}`);

/** Errors: HttpError 404. */
const transactionOf = (database: Database, accountId: string, id: string): Transaction =>
  found(database.transactions.get(accountId, id), `The account ${accountId} has no transaction ${id}`);

/** The values of `{TYPE}`: each is a member of the metadata that the call is about. */
const metadataTypes: readonly string[] = ['comments', 'narrative', 'tags', 'where'];

/** The members of a transaction's details that a body may change: who acted on it. The bank posted the others. */
const marks = [
  'approved_by_ip_address',
  'approved_by_user_id',
  'cancelled_by_ip_address',
  'cancelled_by_user_id',
  'paused_by_ip_address',
  'paused_by_user_id',
] as const;

/** The largest amount, in the account's currency, of a request without a challenge. */
const withoutChallenge = '1000';

/** A request's members about the transfer that it led to; a pending transfer has no end yet. */
const outcomeOf = ({ id, status }: Transferred, at: string) => ({
  status,
  transaction_ids: id,
  ...(status !== 'PENDING' && { end_date: at }),
});

/** The sandbox's handler of each operation; one that is missing or superfluous does not compile. */
export const handlers = {
  /**
   * A customer, for that customer, for owners of an account together with them, and for the staff.
   * Errors: HttpError 404 if there is no such customer, 403 for anybody else.
   */
  getCustomer: ({ ids, caller, database }) => {
    const id = ids.CUSTOMER_ID;
    const customer = customerOf(database, id);
    if (caller !== id && caller !== staffId && !shareAccount(database, caller, id))
      throw new HttpError(403, `The customer ${id} is another`);
    return customer;
  },

  /**
   * Replaces the caller's own record; the staff replace any. `metadata`, which no request may hold, is kept.
   * Errors: HttpError 403 for any other id, known or not.
   */
  putCustomerID: ({ ids, body, caller, database }) => {
    const id = ids.CUSTOMER_ID;
    if (caller !== id && caller !== staffId)
      throw new HttpError(403, 'A caller may put their own record only');
    const { metadata } = database.customers.get(id) ?? {};
    return database.customers.put(id, { bank_id: [bankId], ...body, metadata });
  },

  /**
   * Scope `views`: only the path's account. Scope `permissions`: every account that the caller may see through the
   * path's view, which is the caller's own for `owner` and all that have it for `public`.
   * Errors: HttpError 404 for another scope, and as viewedAccount.
   */
  getAccountsScope: ({ ids, caller, database }) => {
    if (ids.scope !== 'views' && ids.scope !== 'permissions') {
      throw new HttpError(404, `There is no scope ${ids.scope}: only views and permissions`);
    }
    const account = viewedAccount(database, ids, caller);
    if (ids.scope === 'views') return [seenThrough(ids.VIEW_ID, account)];
    return database.accounts
      .all()
      .filter(({ views_available }) => views_available?.includes(ids.VIEW_ID))
      .filter(({ owners }) => ids.VIEW_ID === 'public' || owners?.some((owner) => owner === caller))
      .map((entry) => seenThrough(ids.VIEW_ID, entry));
  },

  /**
   * Creates or replaces an account; its transactions and counterparties stay. Defaults of absent fields: the previous
   * balance, or zero euros; the caller as owner, or the previous owner if the staff put the account; both views.
   * Errors: HttpError 403 if it belongs to another customer; those of checkAccount and balanceOf.
   */
  putAccountID: ({ ids, body, caller, database }) => {
    const held = database.accounts.get(ids.ACCOUNT_ID);
    const isStaff = caller === staffId;
    if (held && !isStaff) ownAccount(database, ids.ACCOUNT_ID, caller);
    checkAccount(database, ids.ACCOUNT_ID, body, caller);
    return database.accounts.put(ids.ACCOUNT_ID, {
      owners: isStaff ? (held?.owners ?? []) : [caller],
      views_available: [...views],
      ...body,
      id: ids.ACCOUNT_ID,
      bank_id: bankId,
      balance: balanceOf(held?.balance, body.balance, caller),
    });
  },

  getBranches: ({ database }) => database.branches.all(),

  postBranches: ({ body, database }) => database.branches.all().filter((branch) => matches(branch, body)),

  /**
   * Creates or replaces a branch.
   * Errors: HttpError 403 for customers, 400 if the body's id is not the path's.
   */
  putBranchID: ({ ids, body, caller, database }) => {
    requireStaff(caller, 'put branches');
    checkOfPath('id', body.id, ids.BRANCH_ID, 'id');
    return database.branches.put(ids.BRANCH_ID, { ...body, id: ids.BRANCH_ID });
  },

  /** Errors: HttpError 404. */
  getProduct: ({ ids: { PRODUCT_ID: id }, database }) =>
    single(found(database.products.get(id), `There is no product ${id}`)),

  postProducts: ({ body, database }) => database.products.all().filter((product) => matches(product, body)),

  /**
   * Creates or replaces a product; one without an id gets a new one, such as `product-0001`.
   * Errors: HttpError 403 for customers, 400 if `bank_id` is another bank's.
   */
  putProduct: ({ body, caller, database }) => {
    requireStaff(caller, 'put products');
    if (body.bank_id !== bankId) throw new HttpError(400, `bank_id: this bank is ${bankId}`);
    let id = body.id ?? database.nextId('product');
    // A product may already have been put under the next id.
    while (body.id === undefined && database.products.get(id)) id = database.nextId('product');
    return single(database.products.put(id, { ...body, id }));
  },

  /** The account's counterparties. Errors: as ownerView. */
  getOtherAccounts: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    return database.otherAccounts.of(ids.ACCOUNT_ID);
  },

  /** The counterparties with exactly this IBAN, and this id if the query has one. Errors: as ownerView. */
  postOtherAccounts: ({ ids, body, caller, database }) => {
    ownerView(database, ids, caller);
    return database.otherAccounts
      .of(ids.ACCOUNT_ID)
      .filter(({ IBAN, id }) => IBAN === body.IBAN && (body.id === undefined || id === body.id));
  },

  /** A transaction of the account. Errors: HttpError 404 if the account has no transaction with this id, and as ownerView. */
  getTransaction: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    return transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
  },

  /**
   * Replaces a transaction's `metadata` and keeps what the bank posted: of `details`, the body's marks (who approved,
   * paused or cancelled it) are taken, and amounts, texts and times stay. `other_account` and `uuid` stay too.
   * Errors: HttpError 400 for a `{TYPE}` that is no kind of metadata, or if `id` or `this_account` is not the path's; 404
   *         if the account has no such transaction (only transfers make new ones); and as ownerView.
   */
  putTransactions: ({ ids, body, caller, database }) => {
    ownerView(database, ids, caller);
    if (!metadataTypes.includes(ids.TYPE))
      throw new HttpError(400, `{TYPE}: has to be one of ${metadataTypes.join(', ')}`);
    const posted = transactionOf(database, ids.ACCOUNT_ID, ids.TRANSACTION_ID);
    const id = ids.TRANSACTION_ID;
    checkOfPath('id', body.id, id, 'id');
    checkOfPath('this_account', body.this_account, ids.ACCOUNT_ID, 'account');
    const marked = Object.fromEntries(
      marks.flatMap((mark) => (body.details?.[mark] === undefined ? [] : [[mark, body.details[mark]]])),
    );
    const details = { ...posted.details, ...marked };
    return database.transactions.put(ids.ACCOUNT_ID, id, { ...posted, details, metadata: body.metadata });
  },

  /**
   * Moves money to another account of this bank, or to a counterparty at another one.
   * Shape:  `{ "id": <transaction id>, "status": "COMPLETED" }`, or another status if the payee's bank does not take
   *         it (at once); the specification shows no answer.
   * Errors: HttpError 403 if the account is another's, 400 if `from` is not the path's account, the value does not fit
   *         or the funds do not suffice, 404 if there is no account to pay to.
   */
  postMakeTransaction: ({ ids, body, caller, database, at }) => {
    ownAccount(database, ids.ACCOUNT_ID, caller);
    checkOfPath('from.account_id', body.from.account_id, ids.ACCOUNT_ID, 'account');
    checkOfPath('from.bank_id', body.from.bank_id, bankId, 'bank');
    const payee = payeeOf(database, ids.ACCOUNT_ID, body.to);
    const order = transferOrder(database, ids.ACCOUNT_ID, payee, body.value);
    const text = { type: 'TRANSFER', description: body.description, caller, at };
    return transfer(database, order, text, { isListed: true });
  },

  /** The account's transaction requests, oldest first. Errors: as ownerView. */
  getTransactionsRequest: ({ ids, caller, database }) => {
    ownerView(database, ids, caller);
    const start = ({ start_date }: TransactionRequest) => Date.parse(start_date ?? '') || 0;
    return database.transactionRequests
      .of(ids.ACCOUNT_ID)
      .toSorted((one, other) => start(one) - start(other));
  },

  /**
   * Asks for a transfer to another account of this bank, or to a counterparty at another one. Up to 1,000 it is made at
   * once (COMPLETED, or what the payee's bank does with it); above that, or without a value, the request waits for its
   * challenge (INITIATED), which no operation can answer.
   * Shape:  only the new request.
   * Errors: HttpError 400 if the value does not fit or the funds do not suffice, 404 if there is nobody to pay to, and
   *         as ownerView.
   */
  putTransactionsRequestAccount: (call) => {
    const { ids, body, caller, database, at } = call;
    ownerView(database, ids, caller);
    ownAccount(database, ids.ACCOUNT_ID, caller);
    const payee = payeeOf(database, ids.ACCOUNT_ID, body.to);
    const order = body.value && transferOrder(database, ids.ACCOUNT_ID, payee, body.value);
    const atOnce = order && order.cents <= centsOf('value.amount', withoutChallenge, order.currency);
    const text = { type: ids.TYPE, description: body.description, caller, at };
    const made = atOnce && transfer(database, order, text);

    const id = database.nextId('request');
    const request = database.transactionRequests.put(ids.ACCOUNT_ID, id, {
      description: body.description,
      resource_url: requestUrl(ids.ACCOUNT_ID, id),
      start_date: at,
      ...(made ? outcomeOf(made, at) : { status: 'INITIATED', challenge: body.challenge_type ?? ids.TYPE }),
      from: { account_id: ids.ACCOUNT_ID, bank_id: bankId },
      body: {
        to: payeeRef(payee),
        value: order && { currency: order.currency, amount: amountOf(order.cents, order.currency) },
      },
    });
    return [request];
  },

  /** The calling customer's messages, oldest first. */
  getMessagesOwner: ({ caller, database }) => database.messages.of(caller),

  /**
   * Leaves a message of the bank for a customer, with the time.
   * Errors: HttpError 403 for customers, 404 if there is no such customer.
   */
  putCustomerMessage: ({ ids, body, caller, database, at }) => {
    requireStaff(caller, 'write messages');
    customerOf(database, ids.CUSTOMER_ID);
    return database.messages.put(ids.CUSTOMER_ID, null, { ...body, date: at });
  },

  /** The metadata entries with this id; none if the bank does not know it. */
  postMetadata: ({ body, database }) => database.metadata.of(body.id),
} satisfies { readonly [Id in OperationId]: Handler<Id> };
