import { checkFault, type Fault, FaultError } from './fault.ts';
import { isScenario, scenarioNames, scenarios } from './scenarios.ts';

/** What the value behind a kind stands for, as in `latency=300`. */
const parameters: Readonly<Record<string, string>> = {
  latency: 'milliseconds',
  drip: 'milliseconds',
  status: 'status',
};

/**
 * Faults written down in short: `getCustomer:status=503:rate=0.2; *:latency=300:count=5; flaky`. Each part is
 * the name of a scenario, or an operation (or `*`), a kind with its parameter, and settings: `rate`, `count`,
 * `before` or `after`.
 * Errors: FaultError.
 */
export function parseFaults(text: string): Fault[] {
  return text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => (isScenario(part) ? parseFaults(scenarios[part]) : [parseFault(part)]));
}

function parseFault(part: string): Fault {
  const [operation, kindText, ...settings] = part.split(':').map((piece) => piece.trim());
  const refuse = (remedy: string) => new FaultError(`"${part}": ${remedy}`);
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
