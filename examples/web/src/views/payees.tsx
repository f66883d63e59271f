import { useQuery } from '@apollo/client/react';
import { useState } from 'react';
import { graphql } from '../gql/gql.ts';
import { Iban, Page, QueryState } from '../parts.tsx';
import { newTransfer } from '../route.ts';

export const PayeesDocument = graphql(`
  query Payees {
    viewer {
      accounts {
        nodes { id bankId accountId label iban balance { amount currency } }
      }
      account {
        id
        accountId
        otherAccounts {
          nodes { id iban number bankName holder { name } payee { bankId accountId } }
        }
      }
    }
  }
`);

export function PayeesView() {
  const { data, loading, error, refetch } = useQuery(PayeesDocument);
  const [wanted, setWanted] = useState('');
  const all = data?.viewer?.account?.otherAccounts?.nodes ?? [];
  const found = all.filter((payee) =>
    `${payee?.holder?.name} ${payee?.iban} ${payee?.bankName}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  return (
    <Page title="Payees">
      <QueryState loading={loading} error={error} hasData={data !== undefined} onRetry={refetch} />
      {data && (
        <>
          <div className="field">
            <label htmlFor="search">Search by name, IBAN or bank</label>
            <input
              id="search"
              type="search"
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
            />
          </div>
          <p role="status" className="count">
            {found.length} of {all.length} payees
          </p>
          <ul className="card list">
            {found.map((payee) => {
              const name = payee?.holder?.name ?? 'Without a name';
              return (
                <li key={payee?.id} className="row">
                  <span className="grow">
                    <strong>{name}</strong>
                    <small>
                      {payee?.iban ? <Iban iban={payee.iban} /> : payee?.number}
                      {payee?.bankName && ` · ${payee.bankName}`}
                    </small>
                  </span>
                  {payee?.payee && (
                    <a className="button secondary" href={newTransfer({ to: payee.id })}>
                      Pay<span className="hidden"> {name}</span>
                    </a>
                  )}
                </li>
              );
            })}
          </ul>
        </>
      )}
    </Page>
  );
}
