import { createServer } from 'node:http';
import {
  context,
  each,
  type FieldArgs,
  get,
  lambda,
  loadOne,
  makeGrafastSchema,
  object,
  type Step,
} from 'grafast';
import { grafserv } from 'grafserv/node';
import { credentialHeaders, paths, typeDefs } from './bank-schema.ts';
import { readOnce } from './undici-bank.ts';

/**
 * grafserv: bankql's schema as grafast plans over one loader. (The loader alone would ask for an owner once for each
 * alias: a path is asked for once in a request.)
 */

// biome-ignore lint/suspicious/noExplicitAny: what the bank answers has no type, as in any plan over REST.
type Any = Step<any>;

type Read = ReturnType<typeof readOnce>;
declare global {
  namespace Grafast {
    interface Context {
      readonly read: Read;
    }
  }
}
const reader = {
  load: (paths: readonly string[], { shared }: { readonly shared: Read }) => Promise.all(paths.map(shared)),
  shared: () => context().get('read'),
};

/** The record at the path that the function makes of these. */
const load = <T extends readonly Step<string>[]>(ids: T, pathOf: (...ids: string[]) => string): Any =>
  loadOne(
    lambda(ids as readonly Step<string>[], (values) => pathOf(...(values as string[])), true),
    reader,
  );

const firstOf = ($list: Any, args: FieldArgs) => {
  const $nodes: Any = lambda(
    [$list, args.getRaw('first')],
    ([list, first]) => (first == null ? list : list.slice(0, first)),
    true,
  );
  return { $nodes, $totalCount: lambda($list, (list) => list.length, true) };
};

const schema = makeGrafastSchema({
  typeDefs,
  objects: {
    Query: {
      plans: {
        bank: (_$root: Any, args: FieldArgs) =>
          object({ bankId: lambda(args.getRaw('bankId'), (id) => id ?? process.env.BANK_ID, true) }),
      },
    },
    Bank: {
      plans: {
        branches($bank: Any) {
          const $nodes = get(load([get($bank, 'bankId')], paths.branches), 'branches');
          return object({ nodes: $nodes });
        },
        account($bank: Any, args: FieldArgs) {
          const [$bankId, $accountId] = [get($bank, 'bankId'), args.getRaw('accountId') as Step<string>];
          const $record: Any = lambda(
            [get(load([$bankId, $accountId], paths.account), 'accounts'), $accountId],
            ([accounts, accountId]) => accounts.find(({ id }: { id: string }) => id === accountId),
            true,
          );
          return object({
            bankId: $bankId,
            accountId: $accountId,
            label: get($record, 'label'),
            balance: get($record, 'balance'),
            ownerIds: get($record, 'owners'),
          });
        },
      },
    },
    Branch: { plans: { branchId: ($branch: Any) => get($branch, 'id') } },
    Account: {
      plans: {
        owners: ($account: Any) =>
          each(get($account, 'ownerIds'), ($id: Any) => load([get($account, 'bankId'), $id], paths.customer)),
        otherAccounts($account: Any, args: FieldArgs) {
          const $answer = load([get($account, 'bankId'), get($account, 'accountId')], paths.otherAccounts);
          const { $nodes, $totalCount } = firstOf(get($answer, 'otherAccounts'), args);
          return object({ nodes: $nodes, totalCount: $totalCount });
        },
        transactionRequests($account: Any, args: FieldArgs) {
          const [$bankId, $accountId] = [get($account, 'bankId'), get($account, 'accountId')];
          const $answer = load([$bankId, $accountId], paths.transactionRequests);
          const { $nodes, $totalCount } = firstOf(get($answer, 'transaction-requests'), args);
          const $requests = each($nodes, ($request: Any) =>
            object({ bankId: $bankId, accountId: $accountId, request: $request }),
          );
          return object({ nodes: $requests, totalCount: $totalCount });
        },
      },
    },
    Customer: { plans: { legalName: ($customer: Any) => get($customer, 'legal_name') } },
    OtherAccount: { plans: { iban: ($other: Any) => get($other, 'IBAN') } },
    TransactionRequest: {
      plans: {
        status: ($entry: Any) => get(get($entry, 'request'), 'status'),
        transactions($entry: Any) {
          const $ids = lambda(
            get(get($entry, 'request'), 'transaction_ids'),
            (ids: string) => ids.split(','),
            true,
          );
          return each($ids, ($id: Any) =>
            load([get($entry, 'bankId'), get($entry, 'accountId'), $id], paths.transaction),
          );
        },
      },
    },
    Transaction: { plans: { transactionId: ($transaction: Any) => get($transaction, 'id') } },
  },
});

const preset: GraphileConfig.Preset = {
  grafast: {
    context: ({ node }) => ({
      read: readOnce(
        Object.fromEntries(credentialHeaders.map((name) => [name, String(node?.req.headers[name])])),
      ),
    }),
  },
  grafserv: { graphqlPath: '/graphql', graphiql: false },
};
const server = createServer();
await grafserv({ schema, preset }).addTo(server);
server.listen(Number(process.env.PORT), '127.0.0.1');
