import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql/gql.ts';
import { Iban, Money, Page, QueryState, When } from '../parts.tsx';

const OverviewDocument = graphql(`
  query Overview {
    viewer {
      customer { id legalName }
      accounts {
        nodes { id accountId label iban types balance { amount currency } }
      }
      messages(last: 1) {
        nodes { date fromDepartment message }
      }
    }
    payments(first: 5) {
      nodes { id state createdAt trackId value { amount currency } account { id accountId } to { accountId } }
    }
  }
`);

/** The state of a payment in one word. */
const words = {
  DONE: 'Accepted',
  REJECTED: 'Refused',
  PENDING: 'Under way',
  UNKNOWN: 'Not confirmed',
} as const;

export function OverviewView() {
  const { data, loading, error, refetch } = useQuery(OverviewDocument);
  const { customer, accounts, messages } = data?.viewer ?? {};
  const message = messages?.nodes?.[0];
  /** The customer's label of an account; the id for an account of somebody else. */
  const nameOf = (accountId: string | null | undefined) =>
    accounts?.nodes?.find((account) => account?.accountId === accountId)?.label ?? accountId;
  const payments = data?.payments?.nodes ?? [];
  return (
    <Page title={customer ? `Hello, ${customer.legalName}` : 'Overview'}>
      <QueryState loading={loading} error={error} hasData={data !== undefined} onRetry={refetch} />
      <div className="columns">
        {accounts && (
          <section aria-labelledby="accounts">
            <h2 id="accounts">Accounts</h2>
            <ul className="card list">
              {accounts.nodes?.map(
                (account) =>
                  account && (
                    <li key={account.id}>
                      {/* Without an id of the bank there is no page to lead to. */}
                      <a
                        className="row"
                        href={
                          account.accountId ? `#/account/${encodeURIComponent(account.accountId)}` : undefined
                        }
                      >
                        <span className="grow">
                          <strong>{account.label ?? account.accountId}</strong>
                          <small>
                            <Iban iban={account.iban} />
                          </small>
                        </span>
                        <Money value={account.balance} />
                      </a>
                    </li>
                  ),
              )}
            </ul>
          </section>
        )}
        <div>
          {data && (
            <section aria-labelledby="payments">
              <h2 id="payments">Your payments</h2>
              {payments.length === 0 && (
                <p className="card empty">
                  None yet. <a href="#/pay">Pay somebody</a>
                </p>
              )}
              <ul className="card list">
                {payments.map(
                  (payment) =>
                    payment && (
                      <li key={payment.id} className="row">
                        <span className="grow">
                          <strong>{nameOf(payment.to?.accountId)}</strong>
                          <small>
                            <When date={payment.createdAt} /> · from {nameOf(payment.account?.accountId)}
                          </small>
                        </span>
                        <span className="end">
                          <Money value={payment.value} />
                          <small className={`state ${payment.state.toLowerCase()}`}>
                            {words[payment.state]}
                          </small>
                        </span>
                      </li>
                    ),
                )}
              </ul>
            </section>
          )}
          {message && (
            <section aria-labelledby="message">
              <h2 id="message">Message</h2>
              <div className="card text">
                <p>{message.message}</p>
                <small>
                  {message.fromDepartment}, <When date={message.date} />
                </small>
              </div>
            </section>
          )}
        </div>
      </div>
    </Page>
  );
}
