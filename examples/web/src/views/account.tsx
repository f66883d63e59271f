import { useQuery } from '@apollo/client/react';
import { graphql } from '../gql/gql.ts';
import { Iban, Money, Page, QueryState, When } from '../parts.tsx';
import { newTransfer } from '../route.ts';

const AccountDocument = graphql(`
  query Account($accountId: ID!) {
    bank {
      id
      account(accountId: $accountId) {
        id
        accountId
        label
        iban
        swiftBic
        balance { amount currency }
        owners { id legalName }
        otherAccounts { totalCount }
        transactionRequests(last: 8) {
          nodes { id status description endDate startDate value { amount currency } to { accountId } }
        }
      }
    }
  }
`);

export function AccountView({ accountId }: { readonly accountId: string }) {
  const { data, loading, error, refetch } = useQuery(AccountDocument, { variables: { accountId } });
  const account = data?.bank?.account;
  // A statement has no payee, so its amount is not a payment.
  const requests = (account?.transactionRequests?.nodes ?? []).filter((request) => request?.to?.accountId);
  return (
    <Page title={account?.label ?? 'Account'}>
      <QueryState loading={loading} error={error} hasData={account != null} onRetry={refetch} />
      {account && (
        <>
          <div className="card balance">
            <p>
              <small>Balance</small>
              <strong>
                <Money value={account.balance} />
              </strong>
            </p>
            {account.accountId && (
              <a className="button" href={newTransfer({ from: account.accountId })}>
                Pay from this account
              </a>
            )}
          </div>
          <div className="columns">
            <section aria-labelledby="requests">
              <h2 id="requests">Transfer requests</h2>
              {requests.length === 0 && <p className="card empty">None so far.</p>}
              <ul className="card list">
                {requests.toReversed().map(
                  (request) =>
                    request && (
                      <li key={request.id} className="row">
                        <span className="grow">
                          <strong>{request.description || request.to?.accountId}</strong>
                          <small>
                            <When date={request.startDate} /> · to {request.to?.accountId}
                          </small>
                        </span>
                        <span className="end">
                          <Money value={request.value} />
                          <small>{request.status?.toLowerCase()}</small>
                        </span>
                      </li>
                    ),
                )}
              </ul>
            </section>
            <section aria-labelledby="details">
              <h2 id="details">Details</h2>
              <dl className="card facts">
                <dt>IBAN</dt>
                <dd>
                  <Iban iban={account.iban} />
                </dd>
                <dt>BIC</dt>
                <dd className="digits">{account.swiftBic}</dd>
                <dt>Owners</dt>
                <dd>{account.owners?.map((owner) => owner?.legalName).join(', ')}</dd>
                <dt>Payees</dt>
                <dd>
                  <a href="#/payees">{account.otherAccounts?.totalCount ?? 0}</a>
                </dd>
              </dl>
            </section>
          </div>
        </>
      )}
    </Page>
  );
}
