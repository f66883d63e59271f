import { createContext, useContext } from 'react';
import type { Bank } from './bank.ts';

/** Who is signed in. */
export interface Session {
  readonly login: string;
  readonly bank: Bank;
}

export const SessionContext = createContext<Session | null>(null);

/** Errors: where nobody is signed in, whose views do not ask. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('Nobody is signed in.');
  return session;
}

const name = 'sandbox-bank:login';
export const keptLogin = (): string | null => sessionStorage.getItem(name);
export const keepLogin = (login: string): void => sessionStorage.setItem(name, login);

/** Signing out leaves nothing behind, drafts and keys of payments included. */
export const endSession = (): void => sessionStorage.clear();
