import type { AnswerLimits } from '../executor/answer-budget.ts';

export type { AnswerLimits };

/** How large an answer may be where nothing else is configured. */
export const defaultAnswerLimits: AnswerLimits = { values: 100_000, bytes: 16 * 1024 * 1024 };

/**
 * Graphql's own executor and the results of streamed entries take up to ten times as long for each value
 * (`node test/long/measure-defer.ts`, `npm run check:hostile`).
 */
const incrementalCost = 10;

/** The limits of an operation whose results come one by one: as much work as the others may be. */
export const incrementalLimits = ({ values, bytes }: AnswerLimits): AnswerLimits => ({
  values: Math.ceil(values / incrementalCost),
  bytes,
});
