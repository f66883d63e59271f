import { count, wholeNumber } from '../formats.ts';
import { memoryBounds } from '../memory-bounds.ts';
import type { Variable } from '../variable.ts';

/** What one request may cost. */
export const limitsVariables = {
  MAX_REST_CALLS: {
    ...wholeNumber(50, 1, 100_000),
    description:
      'the maximum number of REST calls of one query, payments excluded; a query that needs more is refused',
  },
  LIMIT_TOKENS: {
    rarely: 'your documents are longer',
    ...count(2000),
    description: 'the maximum number of tokens in a query',
  },
  LIMIT_DEPTH: {
    rarely: 'your documents are deeper',
    ...count(15),
    description: 'the maximum depth of a query',
  },
  LIMIT_ALIASES: {
    rarely: 'your documents have more aliases',
    ...count(30),
    description:
      'the maximum number of aliases, each of at most 128 characters; fragments count where they are spread, also for the next ones',
  },
  LIMIT_ROOT_FIELDS: {
    rarely: 'your documents have more fields at the root',
    ...count(20),
    description: 'the maximum number of fields at the root',
  },
  LIMIT_DIRECTIVES: {
    rarely: 'your documents have more directives',
    ...count(20),
    description: 'the maximum number of directives',
  },
  LIMIT_FIELDS: {
    rarely: 'your documents have more fields',
    ...count(500),
    description: 'the maximum number of fields',
  },
  LIMIT_ANSWER_VALUES: {
    rarely: 'answers are larger, or the heap is small',
    ...count(100_000),
    description:
      'the maximum number of values in an answer (fields and list entries), a tenth of it in incremental results; a larger answer ends the query',
  },
  LIMIT_ANSWER_BYTES: {
    rarely: 'answers are larger, or the heap is small',
    // JSON takes up to six characters for one, and V8 has no longer texts than 2^29.
    ...wholeNumber(16 * 1024 * 1024, 1000, 64 * 1024 * 1024),
    description: 'the maximum length of the JSON of an answer; a longer one ends the query',
  },
  LIMIT_BODY_BYTES: {
    rarely: 'documents or variables are longer',
    ...wholeNumber(100_000, 1, 100_000_000),
    description: 'the maximum length of a request body; a longer one is answered with 413',
  },
  LIMIT_UNREAD_BYTES: {
    rarely: 'many clients read slowly, or memory is scarce',
    ...wholeNumber(memoryBounds.unreadAnswers, 1, 2 ** 40),
    shownFallback: '268435456, or an eighth of the heap where that is less',
    description:
      'the maximum number of bytes of all answers that clients have not read yet; above it requests are answered with 503',
  },
  LIMIT_UNREAD_MS: {
    rarely: 'clients on slow networks need longer',
    ...wholeNumber(30_000, 100, 3_600_000),
    description: 'how long an answer waits for its client to read it; then the connection is closed',
  },
} as const satisfies Record<string, Variable>;
