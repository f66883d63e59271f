import { Page } from '../parts.tsx';

const customers = [
  ['alice', 'Alice', 'A salary account, savings, and a household shared with Carol'],
  ['bob', 'Bob', 'A business with 200 suppliers'],
  ['carol', 'Carol', 'A joint account, and a studio of her own'],
  ['yuki', 'Yuki', 'A student who begins: no money, no payees'],
  ['omar', 'Omar', 'Overdrawn'],
] as const;

export function SignInView({ onSignIn }: { readonly onSignIn: (login: string) => void }) {
  return (
    <main className="narrow">
      <p className="brand">
        <span aria-hidden="true" className="brand-mark" />
        Sandbox Bank
      </p>
      <Page title="Who are you today?">
        <p className="lead">Five customers of the sandbox bank, each with another life.</p>
        <ul className="card list">
          {customers.map(([login, name, what]) => (
            <li key={login}>
              <button type="button" className="row" onClick={() => onSignIn(login)}>
                <span aria-hidden="true" className="avatar">
                  {name[0]}
                </span>
                <span className="grow">
                  <strong>{name}</strong>
                  <small>{what}</small>
                </span>
              </button>
            </li>
          ))}
        </ul>
      </Page>
    </main>
  );
}
