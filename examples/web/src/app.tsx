import { ApolloProvider } from '@apollo/client/react';
import { useState } from 'react';
import { openBank } from './bank.ts';
import { useRoute } from './route.ts';
import { endSession, keepLogin, keptLogin, type Session, SessionContext } from './session.ts';
import { AccountView } from './views/account.tsx';
import { OverviewView } from './views/overview.tsx';
import { PayeesView } from './views/payees.tsx';
import { SignInView } from './views/sign-in.tsx';
import { TransferView } from './views/transfer.tsx';

const open = (login: string): Session => ({ login, bank: openBank(login) });

export function App() {
  const [session, setSession] = useState<Session | null>(() => {
    const login = keptLogin();
    return login === null ? null : open(login);
  });
  if (session === null) {
    return (
      <SignInView
        onSignIn={(login) => {
          keepLogin(login);
          setSession(open(login));
        }}
      />
    );
  }
  const signOut = () => {
    endSession();
    location.hash = '#/';
    setSession(null);
  };
  return (
    <SessionContext value={session}>
      <ApolloProvider client={session.bank.apollo}>
        <Frame onSignOut={signOut} />
      </ApolloProvider>
    </SessionContext>
  );
}

function Frame({ onSignOut }: { readonly onSignOut: () => void }) {
  const { view, id, query } = useRoute();
  const link = (to: string, text: string) => (
    <a href={`#/${to}`} aria-current={view === to ? 'page' : undefined}>
      {text}
    </a>
  );
  return (
    <>
      <header className="bar">
        <div className="bar-inside">
          <a className="brand" href="#/">
            <span aria-hidden="true" className="brand-mark" />
            Sandbox Bank
          </a>
          <nav aria-label="Main">
            {link('', 'Overview')}
            {link('payees', 'Payees')}
            {link('pay', 'Pay')}
          </nav>
          <button type="button" className="quiet" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </header>
      {/* A view begins anew where its record is another one. */}
      <main key={`${view}/${id}`}>{viewOf(view, id, query)}</main>
    </>
  );
}

function viewOf(view: string, id: string, query: URLSearchParams) {
  if (view === 'account') return <AccountView accountId={id} />;
  if (view === 'payees') return <PayeesView />;
  if (view === 'pay') return <TransferView id={id} query={query} />;
  return <OverviewView />;
}
