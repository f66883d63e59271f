import type { Plugin } from 'graphql-yoga';
import type { Context } from '../schema/context.ts';

/**
 * Says under `extensions.stale` which answers were not fresh, because the bank is away and what it said before stands
 * in: `[{ operation, ageSeconds }]`.
 */
export function useStaleNotice(): Plugin<Context> {
  return {
    onExecute: ({ args }) => ({
      onExecuteDone({ result, setResult }) {
        const context: Context = args.contextValue;
        const { stale } = context.reader;
        if (stale.length === 0 || !('data' in result)) return;
        setResult({ ...result, extensions: { ...result.extensions, stale } });
      },
    }),
  };
}
