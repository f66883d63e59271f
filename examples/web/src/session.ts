import { createContext, useContext } from 'react';
import type { Bank } from './bank.ts';

/** The person who is signed in. */
export interface Session {
  readonly login: string;
  readonly bank: Bank;
}

export const SessionContext = createContext<Session | null>(null);

/** Errors: an Error if nobody is signed in; the views are then not shown. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('Nobody is signed in.');
  return session;
}

const name = 'sandbox-bank:login';
export const keptLogin = (): string | null => sessionStorage.getItem(name);
export const keepLogin = (login: string): void => sessionStorage.setItem(name, login);

/** Signs out, and deletes everything that is stored, including drafts and keys of payments. */
export const endSession = (): void => sessionStorage.clear();
