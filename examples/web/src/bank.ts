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

/** The connections of a person who has signed in. */
export interface Bank {
  readonly apollo: ApolloClient;
  /** Makes all payments. Apollo's links may send a payment twice: both requests have the same key. */
  readonly payments: Payments;
}

/**
 * `login` is enough for the sandbox. With a real bank, it would be a token of the bank's login server (`IDENTITY=jwt`), as in
 * ../../mobile-bff.
 */
export function openBank(login: string): Bank {
  const headers = { 'Auth-ID': login };
  const apollo = new ApolloClient({
    cache: new InMemoryCache({
      // The views do not select the id of `viewer`. With `merge`, the fields of one view stay when another view selects others.
      typePolicies: { Viewer: { merge: true } },
    }),
    link: ApolloLink.from([
      new RetryLink({ attempts: { max: 3 } }),
      new HttpLink({ uri: '/graphql', headers, fetchOptions: { credentials: 'omit', redirect: 'error' } }),
    ]),
    defaultOptions: {
      // Cached data is shown at once, and then read again. If fields fail, the others are shown.
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
    // sessionStorage survives a reload. When the tab is closed, no key stays on the machine; bankql's list of payments has them.
    storage: sessionStorage,
  });
  return { apollo, payments };
}
