import type { PaymentRecord } from '../store.ts';

/** A payment whose beginning the store has confirmed, and which may therefore have been sent. */
export interface ConfirmedBegin extends Pick<PaymentRecord, 'id' | 'trackId'> {
  /** By the store's clock, in milliseconds since 1970. */
  readonly createdAt: number;
}

/** The payments that this process began last. */
export interface RecentBegins {
  add(begin: ConfirmedBegin): void;
  /** This process has rolled the payment back: the store need not contain it any more. */
  delete(id: string): void;
  /** Oldest first. */
  list(): readonly ConfirmedBegin[];
}

/** About a megabyte, and some milliseconds of the server's time when they are looked up. */
const maxRecent = 4_096;

export function createRecentBegins(): RecentBegins {
  const begins = new Map<string, ConfirmedBegin>();
  return {
    add(begin) {
      // An id that is begun again moves to the end.
      begins.delete(begin.id);
      begins.set(begin.id, begin);
      if (begins.size <= maxRecent) return;
      for (const oldest of begins.keys()) {
        begins.delete(oldest);
        return;
      }
    },
    delete: (id) => void begins.delete(id),
    list: () => [...begins.values()],
  };
}
