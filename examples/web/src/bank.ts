import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { createClient, createPayments, type Payments } from 'bankql/client';
import { print } from 'graphql';

declare module '@apollo/client' {
  namespace ApolloClient {
    namespace DeclareDefaultOptions {
      interface WatchQuery {
        errorPolicy: 'all';
      }
    }
  }
}

/** What a person who has signed in talks to the bank with. */
export interface Bank {
  readonly apollo: ApolloClient;
  /** All that moves money goes through it, and nothing that moves money goes through Apollo: its links may send twice. */
  readonly payments: Payments;
}

/** The types of records: each has an `id`, by which the cache keeps one copy of it. */
const Node = [
  'Account',
  'Bank',
  'Branch',
  'Customer',
  'MetadataEntry',
  'OtherAccount',
  'Payment',
  'Product',
  'Transaction',
  'TransactionRequest',
];

/**
 * `login` is enough for the sandbox. With a real bank it would be a token of its login server (`IDENTITY=jwt`), as in
 * ../../mobile-bff.
 */
export function openBank(login: string): Bank {
  const headers = { 'Auth-ID': login };
  const apollo = new ApolloClient({
    cache: new InMemoryCache({
      possibleTypes: { Node },
      // The views do not select its id: what one view asked of it stays when another view asks for something else.
      typePolicies: { Viewer: { merge: true } },
    }),
    link: ApolloLink.from([
      new RetryLink({ attempts: { max: 3 } }),
      new HttpLink({ uri: '/graphql', headers, fetchOptions: { credentials: 'omit' } }),
    ]),
    defaultOptions: {
      // What is known is shown at once, and asked for again. Fields that failed leave the others standing.
      watchQuery: { fetchPolicy: 'cache-and-network', errorPolicy: 'all' },
    },
  });
  const payments = createPayments({
    client: createClient({ url: '/graphql', headers, print, timeoutMs: 20_000 }),
    // A reload keeps it; when the tab is closed, nothing of it stays on the machine. bankql's list of payments does.
    storage: sessionStorage,
  });
  return { apollo, payments };
}
