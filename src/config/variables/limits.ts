import { count, wholeNumber } from '../formats.ts';
import { memoryBounds } from '../memory-bounds.ts';
import type { Variable } from '../variable.ts';

/** What one request may cost. */
export const limitsVariables = {
  MAX_REST_CALLS: {
    ...wholeNumber(50, 1, 100_000),
    description:
      'how many REST calls one query may make; one that needs more at least is refused; a payment is not counted',
  },
  LIMIT_TOKENS: {
    ...count(2000),
    description: 'how many tokens the text of a query may have',
  },
  LIMIT_DEPTH: { ...count(15), description: 'how deep a query may be' },
  LIMIT_ALIASES: {
    ...count(30),
    description:
      'how many aliases it may have, of 128 characters at most; fragments put in, as for the next ones',
  },
  LIMIT_ROOT_FIELDS: { ...count(20), description: 'how many fields at its root' },
  LIMIT_DIRECTIVES: { ...count(20), description: 'how many directives' },
  LIMIT_FIELDS: { ...count(500), description: 'how many fields' },
  LIMIT_ANSWER_VALUES: {
    ...count(100_000),
    description:
      'how many values an answer may hold: fields and list entries, a tenth of it in results that come one by one; what is over ends the query',
  },
  LIMIT_ANSWER_BYTES: {
    // JSON takes up to six characters for one, and V8 has no longer texts than 2^29.
    ...wholeNumber(16 * 1024 * 1024, 1000, 64 * 1024 * 1024),
    description: 'how long the JSON of an answer may be; what is over ends the query',
  },
  LIMIT_BODY_BYTES: {
    ...wholeNumber(100_000, 1, 100_000_000),
    description: 'how long the body of a request may be; a longer one is 413, and its connection closes',
  },
  LIMIT_UNREAD_BYTES: {
    ...wholeNumber(memoryBounds.unreadAnswers, 1, 2 ** 40),
    shownFallback: '268435456, or an eighth of the heap where that is less',
    description:
      'how many bytes of answers may wait for their clients to take them, in all; beyond it requests are 503',
  },
  LIMIT_UNREAD_MS: {
    ...wholeNumber(30_000, 100, 3_600_000),
    description: 'how long an answer may wait for its client to take it; then its connection is cut off',
  },
} as const satisfies Record<string, Variable>;
