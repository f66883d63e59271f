/** Predefined lists of faults, in the text form of text.ts. */
export const scenarios = {
  /** Every answer late, some very late, a few later than a caller waits. */
  'slow-day': '*:latency=400; *:latency=2000:rate=0.2; *:latency=6000:rate=0.03',
  /** One call in four goes wrong, each in its way; what was asked for has been done. */
  flaky:
    '*:status=503:rate=0.08; *:reset:rate=0.05; *:cut-off:rate=0.04; *:broken-json:rate=0.03; *:drift:rate=0.08',
  /** Nothing is done, and a proxy in front of the bank says so. */
  down: '*:status=503:before',
} as const;

export type Scenario = keyof typeof scenarios;

export const isScenario = (name: unknown): name is Scenario =>
  typeof name === 'string' && Object.hasOwn(scenarios, name);

/** What an error says of them. */
export const scenarioNames = Object.keys(scenarios).join(', ');
