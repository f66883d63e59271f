import { z } from 'zod';
import { type HttpResponse, textOf } from '../bank/http/http-message.ts';
import type { Path } from '../bank/interpret-record.ts';
import { errorDetailsOf, type PreparedCall } from '../bank/request.ts';
import { type OnDrift, parseResponse, responseDrifts, validateResponse } from '../bank/response.ts';
import { contentOf } from '../bank/response-content.ts';
import type { Operation } from '../contract/operation.ts';
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

/**
 * Compares a success (status 2xx) with its operation's row of the contract; `only` is the id that an only entry of a list
 * should bear.
 * Errors: ErrorInSuccess, where the bank answers with an error all the same.
 */
export function diffWithContract(call: PreparedCall, response: HttpResponse, only?: string): ContractDiff {
  const { operation } = call;
  const root: Path = operation.envelope === null ? [] : [operation.envelope];
  const contract: string[] = [];
  const drift: string[] = [];
  const unknown: string[] = [];
  const noteResponse: OnDrift = ({ field }) => {
    if (isResponseDrift(field)) drift.push(responseDrifts[field]);
  };
  try {
    const details = errorDetailsOf(call);
    const json = parseResponse(response, details, noteResponse);
    // As it was sent: bankql's own reading makes texts of all amounts, and puts what was meant in the place of what was found.
    const sent = contentOf(operation, JSON.parse(textOf(response)))?.value;
    const differs = (path: Path, expected: string) => {
      // The contract keeps the digits of an amount as text; for the bank it is a number.
      const type = path.at(-1) === 'amount' ? 'number' : expected;
      return `${nameOf([...root, ...path])}: expected ${type}, found ${kindOf(valueAt(sent, path))}`;
    };
    unknown.push(...unknownFields(shapeOf(operation), sent, []).map((path) => nameOf([...root, ...path])));

    const found = new Set<string>();
    const note = (list: string[], path: Path, expected: string) => {
      found.add(path.join('.'));
      list.push(differs(path, expected));
    };
    validateResponse(
      operation,
      json,
      details,
      (one, path, expected = '') => (path === undefined ? noteResponse(one) : note(drift, path, expected)),
      (path, expected) => note(contract, path, expected),
    );
    const amounts = amountsAsText(sent, []).filter((path) => !found.has(path.join('.')));
    drift.unshift(...amounts.map((path) => differs(path, 'number')));
    if (only !== undefined && bearsAnother(sent, only))
      drift.push(`${nameOf([...root, 0, 'id'])}: expected the id of the path, found another`);
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    contract.push(error.message);
  }
  return { contract: counted(contract), drift: counted(drift), unknown: counted(unknown) };
}

/** Whether a list has one entry, whose id is another. */
function bearsAnother(list: unknown, id: string): boolean {
  const found = Array.isArray(list) && list.length === 1 ? valueAt(list, [0, 'id']) : undefined;
  return typeof found === 'string' && found !== '' && found !== id;
}

const isResponseDrift = (field: string): field is keyof typeof responseDrifts =>
  Object.hasOwn(responseDrifts, field);

function shapeOf({ answer, envelope }: Operation): z.ZodType {
  const record = answer ?? z.looseObject({});
  return envelope === null ? record : z.array(record);
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
