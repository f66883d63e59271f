import { z } from 'zod';
import { type HttpResponse, textOf } from '../bank/http-message.ts';
import { isOtherId } from '../bank/ids.ts';
import { errorDetailsOf, type PreparedCall } from '../bank/request.ts';
import {
  contentOf,
  type OnDrift,
  parseResponse,
  responseDrifts,
  validateResponse,
} from '../bank/response.ts';
import type { Path } from '../contract/interpretations.ts';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';

export type ContractDiff = ReturnType<typeof diffWithContract>;

/**
 * Compares a success (status 2xx) with its operation's row of the contract; `id` is that which the record, or the only entry
 * of a list, should have.
 * Shape:  the fields that differ, with what was expected and found, but never a value.
 * Errors: ErrorInSuccess if the bank sent an error with a success status.
 */
export function diffWithContract(call: PreparedCall, response: HttpResponse, id?: string) {
  const { operation } = call;
  const root: Path = operation.envelope === null ? [] : [operation.envelope];
  /** Values that bankql cannot use. */
  const contract: string[] = [];
  /** Deviations that bankql understands. */
  const drift: string[] = [];
  /** Fields that the contract does not contain. It allows them, but a misspelt field would be among them. */
  const unknown: string[] = [];
  const noteResponse: OnDrift = ({ field }) => {
    if (isResponseDrift(field)) drift.push(responseDrifts[field]);
  };
  try {
    const details = errorDetailsOf(call);
    const json = parseResponse(response, details, noteResponse);
    // As the bank sent it: bankql's own parsing converts amounts to strings and replaces values by their
    // interpretation.
    const sent = contentOf(operation, JSON.parse(textOf(response)))?.value;
    const differs = (path: Path, expected: string) => {
      // The contract holds an amount's digits as a string; the bank sends a number.
      const type = path.at(-1) === 'amount' ? 'number' : expected;
      return `${nameOf([...root, ...path])}: expected ${type}, found ${kindOf(valueAt(sent, path))}`;
    };
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
    const amounts: string[] = [];
    compare(shapeOf(operation), sent, [], {
      unknown: (path) => unknown.push(nameOf([...root, ...path])),
      amount: (path) => found.has(path.join('.')) || amounts.push(differs(path, 'number')),
    });
    drift.unshift(...amounts);
    const record: Path = Array.isArray(sent) ? [0] : [];
    if (id !== undefined && bearsAnother(sent, record, id))
      drift.push(`${nameOf([...root, ...record, 'id'])}: expected the id of the path, found another`);
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    contract.push(error.message);
  }
  return { contract: counted(contract), drift: counted(drift), unknown: counted(unknown) };
}

/** Whether the record, or the only entry of a list, has another id. */
function bearsAnother(sent: unknown, record: Path, id: string): boolean {
  if (Array.isArray(sent) && sent.length > 1) return false;
  return isOtherId(valueAt(sent, [...record, 'id']), id);
}

const isResponseDrift = (field: string): field is keyof typeof responseDrifts =>
  Object.hasOwn(responseDrifts, field);

function shapeOf({ answer, envelope }: Operation): z.ZodType {
  const record = answer ?? z.looseObject({});
  return envelope === null ? record : z.array(record);
}

/** Distinct texts with their number of occurrences. */
function counted(texts: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
}

/** The path of a field without positions in lists, such as `branches[].location.latitude`. */
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

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce((place, key) => (isContainer(place) ? Reflect.get(place, key) : undefined), root);

/**
 * Compares a value with its shape where bankql's parser does not: it allows unknown fields, and reads an amount that is a
 * string without naming its place.
 */
function compare(shape: z.core.$ZodType, value: unknown, path: Path, on: Differences): void {
  if (shape instanceof z.ZodOptional || shape instanceof z.ZodNullable) {
    compare(shape.unwrap(), value, path, on);
  } else if (shape instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, entry] of value.entries()) compare(shape.element, entry, [...path, index], on);
  } else if (shape instanceof z.ZodObject && isContainer(value) && !Array.isArray(value)) {
    for (const [key, member] of Object.entries(value)) {
      const known: z.core.$ZodType | undefined = Object.hasOwn(shape.shape, key)
        ? shape.shape[key]
        : undefined;
      if (known === undefined) on.unknown([...path, key]);
      else compare(known, member, [...path, key], on);
    }
  } else if (typeof value === 'string' && path.at(-1) === 'amount') on.amount(path);
}

interface Differences {
  readonly unknown: (path: Path) => void;
  readonly amount: (path: Path) => void;
}
