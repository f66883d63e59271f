import { useSyncExternalStore } from 'react';

/** The current view, from the address after `#`: `#/account/alice-current` and `#/pay/<draft>?to=<the payee's id>`. */
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

/** The address of a new transfer. It contains a new name, under which the payment's key is kept. */
export const newTransfer = (parameters: Readonly<Record<string, string>> = {}): string =>
  `#/pay/${crypto.randomUUID()}?${new URLSearchParams(parameters)}`;
