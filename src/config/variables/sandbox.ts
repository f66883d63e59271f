import { anyText, flag, optional, port, text, time, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** The sandbox bank: options of `bankql sandbox`. The variables are their old names, which work until 1.0. */
export const sandboxVariables = {
  SANDBOX: {
    rarely: 'you want the sandbox bank although `NODE_ENV` is `production`',
    ...flag(false),
    description: 'start the sandbox bank although `NODE_ENV` is `production`',
  },
  SANDBOX_PORT: {
    option: '--port',
    ...port(4010),
    description: "the sandbox bank's port; 0 for any",
  },
  SANDBOX_DB: {
    option: '--db',
    ...text(':memory:'),
    description: "the sandbox bank's SQLite file",
  },
  SANDBOX_SCENARIO: {
    option: '--scenario',
    ...optional(anyText, '`standard`'),
    description:
      'the data of a new sandbox bank: `standard`, `empty`, `bad-day`, or a JSON file ([scenarios](sandbox.md#scenarios))',
  },
  SANDBOX_NOW: {
    option: '--now',
    ...optional(time, 'the time of the start'),
    description:
      'when it is in the sandbox bank, such as `2026-01-31T09:00Z`: its clock stands still there, and the dates of its records are relative to it',
  },
  SANDBOX_LATENCY_MS: {
    option: '--latency',
    ...wholeNumber(0, 0, 600_000),
    description: 'how long the sandbox bank waits before each answer',
  },
  SANDBOX_FAULTS: {
    option: '--faults',
    ...optional(anyText),
    description:
      'what goes wrong with the sandbox bank: `slow-day`, `flaky`, `down`, or faults such as `getCustomer:status=503:rate=0.2; *:latency=300` ([docs/sandbox.md](sandbox.md#a-bad-day))',
  },
} as const satisfies Record<string, Variable>;
