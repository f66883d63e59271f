import type { AnswerLimits } from '../executor/answer-budget.ts';

export type { AnswerLimits };

/** How large an answer may be where nothing else is configured. */
export const defaultAnswerLimits: AnswerLimits = { values: 100_000, bytes: 16 * 1024 * 1024 };
