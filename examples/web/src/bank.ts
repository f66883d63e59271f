import { ApolloClient, ApolloLink, type DocumentNode, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { createPayments, type Payments, paymentQuery } from 'bankql/client';

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
  /** All that moves money goes through it. Apollo's links may send a payment twice: it has the same key. */
  readonly payments: Payments;
}

/** The types of records: each has an `id`, by which the cache keeps one copy of it. */
const Node = [
  'Account',
  'Bank',
  'Branch',
  'Customer',
  'Message',
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
      new HttpLink({ uri: '/graphql', headers, fetchOptions: { credentials: 'omit', redirect: 'error' } }),
    ]),
    defaultOptions: {
      // What is known is shown at once, and asked for again. Fields that failed leave the others standing.
      watchQuery: { fetchPolicy: 'cache-and-network', errorPolicy: 'all' },
    },
  });
  const query = gql(paymentQuery);
  const payments = createPayments({
    send: (document: DocumentNode, variables) =>
      document === query
        ? apollo.query({ query, variables, fetchPolicy: 'no-cache' })
        : apollo.mutate({ mutation: document, variables, errorPolicy: 'all' }),
    paymentQuery: query,
    // A reload keeps it; when the tab is closed, nothing of it stays on the machine. bankql's list of payments does.
    storage: sessionStorage,
  });
  return { apollo, payments };
}
