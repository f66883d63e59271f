import { createMemoryStore } from '../../../src/payments/stores/memory-store.ts';
import { describePaymentStore, retentionMs, start } from './store-conformance.ts';

describePaymentStore('the memory store', async () => {
  let now = start;
  const store = createMemoryStore({ retentionMs, now: () => now });
  return {
    store,
    async pass(ms) {
      now += ms;
    },
  };
});
