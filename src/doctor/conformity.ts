import { z } from 'zod';
import { checkAnswer, parseAnswer } from '../bank/answer.ts';
import { detailsOf, type PreparedCall } from '../bank/call.ts';
import { BankqlError } from '../bank/error.ts';
import type { WireReply } from '../bank/transport.ts';

/** How an answer differs from the contract: fields, what was expected and found; never a value. */
export interface Conformity {
  /** What bankql cannot use. */
  readonly contract: readonly string[];
  /** What bankql takes for what it means. */
  readonly drift: readonly string[];
  /** Fields that the contract does not know, which it allows; a misspelt one would be among them. */
  readonly unknown: readonly string[];
}

type Path = readonly PropertyKey[];

/** Compares a success (status 2xx) with its operation's row of the contract. */
export function conformityOf(call: PreparedCall, reply: WireReply): Conformity {
  const { operation } = call;
  const details = detailsOf(call);
  const contract: string[] = [];
  const drift: string[] = [];
  const unknown: string[] = [];
  try {
    const json = parseAnswer(reply, details, ({ field }) =>
      drift.push(`${field}: expected number, found string`),
    );
    const { envelope } = operation;
    const record = operation.answer ?? z.looseObject({});
    const shape = envelope === null ? record : z.array(record);
    const content = envelope === null ? json : valueAt(json, [envelope]);
    const name = (path: Path) => nameOf(envelope ?? '', path);
    const issues = shape.safeParse(content).error?.issues ?? [];
    // Said now: the check below puts what was meant, or an error, in the place of what was found.
    const places = issues.map((issue) => ({
      path: issue.path,
      text: `${name(issue.path)}: expected ${expectedBy(issue)}, found ${kindOf(valueAt(content, issue.path))}`,
    }));
    unknown.push(...unknownFields(shape, content, []).map(name));
    checkAnswer(operation, json, details);
    for (const { path, text } of places) {
      (valueAt(content, path) instanceof Error ? contract : drift).push(text);
    }
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    contract.push(error.message);
  }
  return { contract: counted(contract), drift: counted(drift), unknown: counted(unknown) };
}

/** Each text once, with how often it was there. */
function counted(texts: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
}

/** A field of an answer without its place in a list, such as `branches[].location.latitude`. */
const nameOf = (root: string, path: Path): string =>
  path.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[]` : [name, String(key)].filter(Boolean).join('.')),
    root,
  );

function expectedBy(issue: z.core.$ZodIssue): string {
  // The contract keeps the digits of an amount as text; for the bank it is a number.
  if (issue.path.at(-1) === 'amount') return 'number';
  return issue.code === 'invalid_type' ? issue.expected : issue.message;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number out of range';
  return Array.isArray(value) ? 'array' : typeof value;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce((place, key) => (isObject(place) ? Reflect.get(place, key) : undefined), root);

/** Where an answer holds fields that its shape does not name. */
function unknownFields(shape: z.core.$ZodType, value: unknown, path: Path): Path[] {
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) {
    return unknownFields(shape.unwrap(), value, path);
  }
  if (shape instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((entry, index) => unknownFields(shape.element, entry, [...path, index]));
  }
  if (shape instanceof z.ZodObject && isObject(value) && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, member]) => {
      const known: z.core.$ZodType | undefined = Object.hasOwn(shape.shape, key)
        ? shape.shape[key]
        : undefined;
      return known === undefined ? [[...path, key]] : unknownFields(known, member, [...path, key]);
    });
  }
  return [];
}
