import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type OperationId, operations } from '../contract/operations.ts';

/**
 * An option with which a sandbox cannot start, such as an invalid description of faults: one line that names the part,
 * what is wrong and the remedy.
 */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly option: 'faults' | 'scenario' | 'database';

  constructor(option: SandboxError['option'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

const faultError = (message: string) => new SandboxError('faults', message);

const isOperation = (value: unknown): value is OperationId | '*' =>
  value === '*' || (typeof value === 'string' && Object.hasOwn(operations, value));

const between = (min: number, max: number, error: string) =>
  z.int({ error }).min(min, { error }).max(max, { error });

const milliseconds = (example: string) =>
  between(1, 600_000, `give whole milliseconds from 1 to 600000, such as ${example}`);

const rateError = { error: 'give a share from 0 to 1, such as rate=0.2' };

const settings = {
  /** The operation that it applies to; `*` for all of them. */
  operation: z.custom<OperationId | '*'>(isOperation, {
    error: 'give the id of an operation, such as getCustomer, or * for all of them',
  }),
  /** The share of the calls that it applies to. */
  rate: z.number(rateError).min(0, rateError).max(1, rateError).default(1),
  /** How often it applies at most; unlimited if omitted. */
  count: between(1, 1_000_000, 'give a whole number of calls from 1, such as count=3').optional(),
  /** `before`: the bank does not do what was asked. `after`: it does, and only the answer is faulty. */
  strikes: z
    .enum(['before', 'after'], { error: 'give before (the bank does not do the work) or after (it does)' })
    .default('after'),
};

/** For kinds that corrupt an answer, which does not exist before the work. */
const corruption = {
  ...settings,
  strikes: z
    .literal('after', { error: 'this kind spoils an answer, so that it always strikes after the work' })
    .default('after'),
};

/** A way in which the bank misbehaves; docs/sandbox.md says what a caller sees of each kind. */
const fault = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('latency'), milliseconds: milliseconds('latency=300'), ...settings }),
    z.strictObject({
      kind: z.literal('status'),
      status: between(300, 599, 'give a status from 300 to 599, such as status=503'),
      ...settings,
    }),
    z.strictObject({ kind: z.literal(['reset', 'hang', 'cut-off']), ...settings }),
    /** `milliseconds`: the time between two bytes. */
    z.strictObject({
      kind: z.literal('drip'),
      milliseconds: milliseconds('drip=50').default(100),
      ...corruption,
    }),
    z.strictObject({ kind: z.literal(['broken-json', 'wrong-types', 'drift']), ...corruption }),
  ],
  {
    error:
      'give one of latency, status, reset, hang, drip, cut-off, broken-json, wrong-types and drift as the kind',
  },
);
export type Fault = z.infer<typeof fault>;

/** Every kind, in the order of the docs. */
export const faultKinds = fault.options.flatMap(({ shape }) => [...shape.kind.values]);

/**
 * A fault that somebody described; `part` is what the error calls the description.
 * Errors: SandboxError.
 */
function checkFault(part: string, description: unknown): Fault {
  const checked = fault.safeParse(description);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw faultError(`${part}: ${issue.keys[0]}: a fault of this kind has none; leave it out`);
  }
  const field = issue?.path.join('.');
  throw faultError(`${part}: ${field ? `${field}: ` : ''}${issue?.message}`);
}

/** Predefined lists of faults, in the text form. */
export const faultScenarios = {
  /** Every answer late, some very late, a few later than a caller waits. */
  'slow-day': '*:latency=400; *:latency=2000:rate=0.2; *:latency=6000:rate=0.03',
  /** One call in four goes wrong, each in its way; what was asked for has been done. */
  flaky:
    '*:status=503:rate=0.08; *:reset:rate=0.05; *:cut-off:rate=0.04; *:broken-json:rate=0.03; *:drift:rate=0.08',
  /** Nothing is done, and a proxy in front of the bank says so. */
  down: '*:status=503:before',
} as const;

const isScenario = (name: unknown): name is keyof typeof faultScenarios =>
  typeof name === 'string' && Object.hasOwn(faultScenarios, name);

const scenarioNames = Object.keys(faultScenarios).join(', ');

const scenarioBody = z.strictObject({ scenario: z.unknown() });

/** The faults that a JSON body describes: a list of them, or `{"scenario": "flaky"}`. Errors: SandboxError. */
export function faultsOfBody(body: unknown): Fault[] {
  if (Array.isArray(body)) return body.map((description, index) => checkFault(String(index), description));
  const named = scenarioBody.safeParse(body).data;
  if (named === undefined) throw faultError('Give a list of faults, or {"scenario": "flaky"}');
  if (!isScenario(named.scenario)) throw faultError(`scenario: give one of ${scenarioNames}`);
  return parseFaults(faultScenarios[named.scenario]);
}

/** The member of a fault that the value after its kind sets, as in `latency=300`. */
const parameters: Readonly<Record<string, string>> = {
  latency: 'milliseconds',
  drip: 'milliseconds',
  status: 'status',
};

/**
 * Faults written down in short: `getCustomer:status=503:rate=0.2; *:latency=300:count=5; flaky`. Each part is
 * the name of a scenario, or an operation (or `*`), a kind with its parameter, and settings: `rate`, `count`,
 * `before` or `after`.
 * Errors: SandboxError.
 */
export function parseFaults(text: string): Fault[] {
  return text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => (isScenario(part) ? parseFaults(faultScenarios[part]) : [parseFault(part)]));
}

function parseFault(part: string): Fault {
  const [operation, kindText, ...settings] = part.split(':').map((piece) => piece.trim());
  const refuse = (remedy: string) => faultError(`"${part}": ${remedy}`);
  if (kindText === undefined) {
    throw refuse(
      `it is neither a scenario (${scenarioNames}) nor a fault such as getCustomer:status=503:rate=0.2`,
    );
  }
  const [kind = '', parameter] = nameAndValue(kindText);
  const description: Record<string, unknown> = { operation, kind };
  if (parameter !== undefined) {
    const field = Object.hasOwn(parameters, kind) ? parameters[kind] : undefined;
    if (field === undefined) throw refuse(`${kind} takes no value: leave out =${parameter}`);
    description[field] = numberOf(parameter);
  }
  for (const setting of settings) {
    const [name = '', value] = nameAndValue(setting);
    const isOrder = value === undefined && (name === 'before' || name === 'after');
    const isNumber = value !== undefined && (name === 'rate' || name === 'count');
    if (!isOrder && !isNumber)
      throw refuse(`"${setting}" is no setting: give rate=…, count=…, before or after`);
    const field = isOrder ? 'strikes' : name;
    if (Object.hasOwn(description, field)) throw refuse(`${field} is given twice: leave one out`);
    description[field] = isOrder ? name : numberOf(value ?? '');
  }
  return checkFault(`"${part}"`, description);
}

function nameAndValue(text: string): readonly [string, string | undefined] {
  const [name = '', ...value] = text.split('=').map((piece) => piece.trim());
  return [name, value.length === 0 ? undefined : value.join('=')];
}

/** A plain decimal; NaN, which no field takes, for anything else. */
const numberOf = (text: string): number => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);

export type Faults = ReturnType<typeof createFaults>;

/** A number from 0 to 1 (excluded), the same for the same name in every sandbox. */
const chance = (name: string): number => createHash('sha256').update(name).digest().readUInt32BE() / 2 ** 32;

/**
 * A fault in force, and how often it has been applied since it was set. Calls are counted by operation, so that the nth
 * call of one is treated the same, whatever concurrent calls of others there are.
 */
const track = (fault: Fault) => ({ fault, calls: new Map<OperationId, number>(), struck: 0 });

/** Whether a fault hits the next call of an operation, which is counted. */
function hits(entry: ReturnType<typeof track>, position: number, operation: OperationId): boolean {
  const { fault, calls, struck } = entry;
  if ((fault.operation !== '*' && fault.operation !== operation) || struck === fault.count) return false;
  const call = (calls.get(operation) ?? 0) + 1;
  calls.set(operation, call);
  if (chance(`${position} ${fault.kind} ${operation} ${call}`) >= fault.rate) return false;
  entry.struck += 1;
  return true;
}

/** The faults in force. */
export function createFaults(initial: readonly Fault[]) {
  let followed = initial.map(track);
  return {
    list: () => followed.map(({ fault, struck }) => ({ ...fault, struck })),
    /** Sets other faults; their counts begin at 0. */
    replace(faults: readonly Fault[]): void {
      followed = faults.map(track);
    },
    /**
     * Selects the faults for one call of an operation, in the order of the list: every latency that hits, and the first
     * hit of the other kinds, since a call can end in only one way.
     */
    draw(operation: OperationId): readonly Fault[] {
      let ends = false;
      return followed.flatMap((entry, position) => {
        const isEnd = entry.fault.kind !== 'latency';
        if ((isEnd && ends) || !hits(entry, position, operation)) return [];
        ends ||= isEnd;
        return [entry.fault];
      });
    },
  };
}
