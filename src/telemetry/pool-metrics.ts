import { Counter, Gauge, type Registry } from 'prom-client';
import type { PoolUsage } from '../bank/exchange.ts';

/** The places among BANK_CONNECTIONS, read when metrics are. */
export function watchPools(registry: Registry, read: () => readonly PoolUsage[]): void {
  const registers = [registry];
  const labelNames = ['operation', 'pool'] as const;
  new Gauge({
    name: 'bankql_bank_places_taken',
    help: 'Connections to the bank that calls of an operation hold.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, taken } of read()) this.set({ operation, pool }, taken);
    },
  });
  new Gauge({
    name: 'bankql_bank_places_waited_for',
    help: 'Calls of an operation that wait for a connection at the moment.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, waiting } of read()) this.set({ operation, pool }, waiting);
    },
  });
  new Counter({
    name: 'bankql_bank_place_waits_total',
    help: 'Calls of an operation that had to wait for a connection.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { operation, pool, waits } of read()) this.inc({ operation, pool }, waits);
    },
  });
}
