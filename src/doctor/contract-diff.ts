import { z } from 'zod';
import type { HttpResponse } from '../bank/http/http-message.ts';
import { errorDetailsOf, type PreparedCall } from '../bank/request.ts';
import { parseResponse, validateResponse } from '../bank/response.ts';
import { BankqlError } from '../errors.ts';

/** How an answer differs from the contract: fields, what was expected and found; never a value. */
export interface ContractDiff {
  /** What bankql cannot use. */
  readonly contract: readonly string[];
  /** What bankql takes for what it means. */
  readonly drift: readonly string[];
  /** Fields that the contract does not know, which it allows; a misspelt one would be among them. */
  readonly unknown: readonly string[];
}

type Path = readonly PropertyKey[];

/** Compares a success (status 2xx) with its operation's row of the contract. */
export function diffWithContract(call: PreparedCall, response: HttpResponse): ContractDiff {
  const { operation } = call;
  const { envelope } = operation;
  const root: Path = envelope === null ? [] : [envelope];
  const contract: string[] = [];
  const drift: string[] = [];
  const unknown: string[] = [];
  try {
    const details = errorDetailsOf(call);
    const json = parseResponse(response, details);
    // As it was sent: bankql's own reading makes texts of all amounts.
    const sent = valueAt(JSON.parse(response.body.toString('utf8')), root);
    const content = valueAt(json, root);
    const record = operation.answer ?? z.looseObject({});
    const shape = envelope === null ? record : z.array(record);
    const differs = (path: Path, expected: string) =>
      `${nameOf([...root, ...path])}: expected ${expected}, found ${kindOf(valueAt(sent, path))}`;

    const issues = new Map<string, z.core.$ZodIssue>();
    for (const issue of (shape.safeParse(content).error?.issues ?? []).toReversed()) {
      issues.set(issue.path.join('.'), issue);
    }
    unknown.push(...unknownFields(shape, content, []).map((path) => nameOf([...root, ...path])));
    for (const path of amountsAsText(sent, [])) {
      if (!issues.has(path.join('.'))) drift.push(differs(path, 'number'));
    }
    // Puts what was meant, or an error, in the place of what was found.
    validateResponse(operation, json, details);
    for (const issue of [...issues.values()].toReversed()) {
      const found = valueAt(content, issue.path) instanceof Error ? contract : drift;
      found.push(differs(issue.path, expectedBy(issue)));
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
const nameOf = (path: Path): string =>
  path.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[]` : [name, String(key)].filter(Boolean).join('.')),
    '',
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

/** Where an answer holds an amount as a text. */
function amountsAsText(value: unknown, path: Path): Path[] {
  if (!isObject(value)) return typeof value === 'string' && path.at(-1) === 'amount' ? [path] : [];
  return Object.entries(value).flatMap(([key, member]) =>
    amountsAsText(member, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

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
