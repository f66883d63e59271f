import { describe } from 'vitest';
import { pluginsOfAll } from '../support/bankql.ts';

/** What is tested for operations without plugins (yoga.ts) is also true in yoga's pipeline, which any plugin switches on. */

pluginsOfAll.push({});

describe('with a plugin', async () => {
  await import('./answer-limits.test.ts');
  await import('./call-limit.test.ts');
  await import('./document-limits.test.ts');
  await import('./explain-calls.test.ts');
  await import('./one-payment-rule.test.ts');
  await import('./persisted-documents.test.ts');
  await import('../http/errors-page.test.ts');
  await import('../http/post-and-get.test.ts');
});
