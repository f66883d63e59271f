import { useSyncExternalStore } from 'react';

/** Where the person is, by the address after its `#`: `#/account/alice-current` and `#/pay/<draft>?to=<the payee's id>`. */
export interface Route {
  readonly view: string;
  readonly id: string;
  readonly query: URLSearchParams;
}

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  const [path = '', query] = hash.replace(/^#\/?/, '').split('?');
  const [view = '', id = ''] = path.split('/').map(decodeURIComponent);
  return { view, id, query: new URLSearchParams(query) };
}

/** The address of a new transfer: its name is what the payment's key is kept under. */
export const newTransfer = (parameters: Readonly<Record<string, string>> = {}): string =>
  `#/pay/${crypto.randomUUID()}?${new URLSearchParams(parameters)}`;
