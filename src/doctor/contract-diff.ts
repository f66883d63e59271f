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
import { BankqlError } from '../errors.ts';

/**
 * Compares a success (status 2xx) with its operation's row of the contract, as reads do: by parseResponse and validateResponse.
 * `id` is the id that the record, or the only entry of a list, should have.
 * Shape:  the fields that differ, with the expected and the found kind of value, but never a value. `contract`: bankql cannot use
 *         it. `drift`: bankql understands it. `unknown`: the contract does not contain it; a misspelt field would be among them.
 * Errors: ErrorInSuccess if the bank sent an error with a success status.
 */
export function diffWithContract(call: PreparedCall, response: HttpResponse, id?: string) {
  const { operation } = call;
  const root: Path = operation.envelope === null ? [] : [operation.envelope];
  const found = { contract: [] as string[], drift: [] as string[], unknown: [] as string[] };
  let sent: unknown;
  const note = (sort: 'contract' | 'drift', path: Path, expected: string) => {
    // The contract holds an amount's digits as a string; the bank sends a number.
    const type = path.at(-1) === 'amount' ? 'number' : expected;
    found[sort].push(`${nameOf([...root, ...path])}: expected ${type}, found ${kindOf(valueAt(sent, path))}`);
  };
  const onDrift: OnDrift = ({ field }, path, expected = '') => {
    if (path !== undefined) note('drift', path, expected);
    else if (isResponseDrift(field)) found.drift.push(responseDrifts[field]);
  };
  try {
    const details = errorDetailsOf(call);
    const json = parseResponse(response, details, onDrift);
    // As the bank sent it: bankql's own parsing makes strings of amounts.
    sent = contentOf(operation, JSON.parse(textOf(response)))?.value;
    const places = new Set<string>();
    const once = (sort: 'contract' | 'drift', path: Path, expected: string) => {
      places.add(path.join('.'));
      note(sort, path, expected);
    };
    validateResponse(
      operation,
      json,
      details,
      (drift, path, expected = '') => (path === undefined ? onDrift(drift) : once('drift', path, expected)),
      (path, expected) => once('contract', path, expected),
    );
    const record = operation.answer ?? z.looseObject({});
    compare(operation.envelope === null ? record : z.array(record), sent, [], {
      unknown: (path) => void found.unknown.push(nameOf([...root, ...path])),
      amount: (path) => places.has(path.join('.')) || note('drift', path, 'number'),
    });
    const place: Path = Array.isArray(sent) ? [0] : [];
    const isOneOfMany = Array.isArray(sent) && sent.length > 1;
    if (id !== undefined && !isOneOfMany && isOtherId(valueAt(sent, [...place, 'id']), id))
      found.drift.push(`${nameOf([...root, ...place, 'id'])}: expected the id of the path, found another`);
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    found.contract.push(error.message);
  }
  return { contract: counted(found.contract), drift: counted(found.drift), unknown: counted(found.unknown) };
}

const isResponseDrift = (field: string): field is keyof typeof responseDrifts =>
  Object.hasOwn(responseDrifts, field);

/** Distinct texts with their number of occurrences. */
const counted = (texts: readonly string[]): string[] =>
  Array.from(
    Map.groupBy(texts, (text) => text),
    ([text, { length }]) => (length === 1 ? text : `${text} (${length} times)`),
  );

/** The path of a field without positions in lists, such as `branches[].location.latitude`. */
const nameOf = (path: Path): string =>
  path
    .map((key) => (typeof key === 'number' ? '[]' : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number out of range';
  return Array.isArray(value) ? 'array' : typeof value;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce((place, key) => (isContainer(place) ? Reflect.get(place, key) : undefined), root);

interface Differences {
  readonly unknown: (path: Path) => void;
  readonly amount: (path: Path) => void;
}

/** Finds the differences that the reading path accepts without naming them: unknown fields, and amounts that are strings. */
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
