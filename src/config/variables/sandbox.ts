import { anyText, flag, optional, port, text, time, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** The sandbox bank. */
export const sandboxVariables = {
  SANDBOX: { ...flag(false), description: 'see `NODE_ENV`' },
  SANDBOX_PORT: { ...port(4010), description: "the sandbox bank's port; 0 for any" },
  SANDBOX_DB: {
    ...text(':memory:'),
    description: "the sandbox bank's SQLite file",
  },
  SANDBOX_SCENARIO: {
    ...optional(anyText, '`standard`'),
    description:
      'what is in a new sandbox bank: `standard`, `empty`, `bad-day`, or a JSON file ([docs/sandbox.md](sandbox.md#scenarios))',
  },
  SANDBOX_NOW: {
    ...optional(time, 'the time of the start'),
    description:
      'when it is in the sandbox bank, such as `2026-01-31T09:00Z`: its clock stands still there, and the dates of its records are relative to it',
  },
  SANDBOX_LATENCY_MS: {
    ...wholeNumber(0, 0, 600_000),
    description: 'how long the sandbox bank waits before each answer',
  },
  SANDBOX_FAULTS: {
    ...optional(anyText),
    description:
      'what goes wrong with the sandbox bank: `slow-day`, `flaky`, `down`, or faults such as `getCustomer:status=503:rate=0.2; *:latency=300` ([docs/sandbox.md](sandbox.md#a-bad-day))',
  },
} as const satisfies Record<string, Variable>;
