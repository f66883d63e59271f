import { createMemoryStore } from '../../../src/payments/stores/memory-store.ts';
import { describePaymentStore, retentionMs } from './store-conformance.ts';

describePaymentStore('the memory store', async () => await createMemoryStore({ retentionMs }));
