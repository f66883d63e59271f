import { createMemoryStore } from '../../src/payments/memory-store.ts';
import { describePaymentStore, retentionMs } from './store-conformance.ts';

describePaymentStore('the memory store', async () => createMemoryStore({ retentionMs }));
