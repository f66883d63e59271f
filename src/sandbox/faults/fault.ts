import { z } from 'zod';
import { type OperationId, operations } from '../../contract/operations.ts';

/** An invalid description of faults: one line that names the part, what is wrong and the remedy. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
}

const isOperation = (value: unknown): value is OperationId | '*' =>
  value === '*' || (typeof value === 'string' && Object.hasOwn(operations, value));

const between = (min: number, max: number, error: string) =>
  z.int({ error }).min(min, { error }).max(max, { error });

const milliseconds = (example: string) =>
  between(1, 600_000, `give whole milliseconds from 1 to 600000, such as ${example}`);

/** The operation that it applies to; `*` for all of them. */
const operation = z.custom<OperationId | '*'>(isOperation, {
  error: 'give the id of an operation, such as getCustomer, or * for all of them',
});

const settings = {
  /** The share of the calls that it applies to. */
  rate: z
    .number({ error: 'give a share from 0 to 1, such as rate=0.2' })
    .min(0, { error: 'give a share from 0 to 1, such as rate=0.2' })
    .max(1, { error: 'give a share from 0 to 1, such as rate=0.2' })
    .default(1),
  /** How often it applies at most; unlimited if omitted. */
  count: between(1, 1_000_000, 'give a whole number of calls from 1, such as count=3').optional(),
};

/** `before`: the bank does not do what was asked. `after`: it does, and only the answer is faulty. */
const strikes = z
  .enum(['before', 'after'], { error: 'give before (the bank does not do the work) or after (it does)' })
  .default('after');

/** For kinds that corrupt an answer, which does not exist before the work. */
const strikesAfter = z
  .literal('after', { error: 'this kind spoils an answer, so that it always strikes after the work' })
  .default('after');

/** A way in which the bank misbehaves; docs/sandbox.md says what a caller sees of each kind. */
export const fault = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      operation,
      kind: z.literal('latency'),
      milliseconds: milliseconds('latency=300'),
      ...settings,
      strikes,
    }),
    z.strictObject({
      operation,
      kind: z.literal('status'),
      status: between(300, 599, 'give a status from 300 to 599, such as status=503'),
      ...settings,
      strikes,
    }),
    z.strictObject({ operation, kind: z.literal('reset'), ...settings, strikes }),
    z.strictObject({ operation, kind: z.literal('hang'), ...settings, strikes }),
    z.strictObject({ operation, kind: z.literal('cut-off'), ...settings, strikes }),
    z.strictObject({
      operation,
      kind: z.literal('drip'),
      /** The time between two bytes. */
      milliseconds: milliseconds('drip=50').default(100),
      ...settings,
      strikes: strikesAfter,
    }),
    z.strictObject({ operation, kind: z.literal('broken-json'), ...settings, strikes: strikesAfter }),
    z.strictObject({ operation, kind: z.literal('wrong-types'), ...settings, strikes: strikesAfter }),
    z.strictObject({ operation, kind: z.literal('drift'), ...settings, strikes: strikesAfter }),
  ],
  {
    error:
      'give one of latency, status, reset, hang, drip, cut-off, broken-json, wrong-types and drift as the kind',
  },
);
export type Fault = z.infer<typeof fault>;

/** Every kind, in the order of the docs. */
export const faultKinds = fault.options.map(({ shape }) => shape.kind.value);

/**
 * A fault that somebody described; `part` is what the error calls the description.
 * Errors: FaultError.
 */
export function checkFault(part: string, description: unknown): Fault {
  const checked = fault.safeParse(description);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw new FaultError(`${part}: ${issue.keys[0]}: a fault of this kind has none; leave it out`);
  }
  const field = issue?.path.join('.');
  throw new FaultError(`${part}: ${field ? `${field}: ` : ''}${issue?.message}`);
}
