import { z } from 'zod';
import { parseResponse, responseDrifts, validateResponse } from '../bank/answer.ts';
import type { HttpResponse } from '../bank/http-message.ts';
import { isOtherId } from '../bank/ids.ts';
import { errorDetailsOf, type PreparedCall } from '../bank/request.ts';
import { contentOf } from '../bank/tolerance.ts';
import type { Path } from '../contract/interpretations.ts';
import { visitUnknown } from '../contract/spelling.ts';
import { BankqlError } from '../errors.ts';

/**
 * Compares a successful response (status 2xx) with its operation in the contract. It uses parseResponse and validateResponse,
 * as every read does. `id`: the id that the record, or the only entry of a list, should have.
 * Shape: the fields that differ, with the expected and the found type, but never a value. `contract`: fields that bankql cannot
 * use. `drift`: fields that bankql understands, or does not read because their names are spelled otherwise than in the
 * contract. `unknown`: fields that the contract does not contain.
 * Errors: ErrorInSuccess if the bank sent an error with a success status.
 */
export function diffWithContract(call: PreparedCall, response: HttpResponse, id?: string) {
  const { operation } = call;
  const contract: string[] = [];
  const drift: string[] = [];
  const unknown: string[] = [];
  const nameOf = (path: Path) =>
    fieldName(operation.envelope === null ? path : [operation.envelope, ...path]);
  try {
    const details = errorDetailsOf(call);
    const json = parseResponse(response, details, ({ field }) => drift.push(answerDrifts[field] ?? field));
    const content = contentOf(operation, json)?.value;
    const shape = operation.answer ?? z.looseObject({});
    const onUnknown = (path: Path, meant: string | null) => {
      if (meant === null) unknown.push(nameOf(path));
      else drift.push(`${nameOf(path)}: expected the name ${meant}; its value is not read`);
    };
    if (Array.isArray(content))
      for (const [index, record] of content.entries()) visitUnknown(shape, record, onUnknown, [index]);
    else visitUnknown(shape, content, onUnknown);
    const difference = (path: Path, expected: string) => {
      // The contract represents an amount as a string of its digits; the bank sends a number.
      const type = path.at(-1) === 'amount' ? 'number' : expected;
      return `${nameOf(path)}: expected ${type}, found ${kindOf(valueAt(content, path))}`;
    };
    validateResponse(
      operation,
      json,
      details,
      ({ field, names }, path, expected = '') => {
        // Members in another spelling (`names`) were already reported above, for every record.
        if (names === undefined)
          drift.push(path ? difference(path, expected) : (answerDrifts[field] ?? field));
      },
      (path, expected) => contract.push(difference(path, expected)),
    );
    const idPath: Path = Array.isArray(content) ? [0, 'id'] : ['id'];
    const isOneOfMany = Array.isArray(content) && content.length > 1;
    if (id !== undefined && !isOneOfMany && isOtherId(valueAt(content, idPath), id))
      drift.push(`${nameOf(idPath)}: expected the id of the path, found another`);
  } catch (error) {
    if (!(error instanceof BankqlError)) throw error;
    contract.push(error.message);
  }
  return { contract: withCounts(contract), drift: withCounts(drift), unknown: withCounts(unknown) };
}

/** Descriptions of the drifts of a whole answer. For amounts, parseResponse reports only that some are strings. */
const answerDrifts: Readonly<Record<string, string>> = {
  ...responseDrifts,
  amount: 'amount: expected number, found string',
};

/** Distinct texts with their number of occurrences. */
const withCounts = (texts: readonly string[]): string[] =>
  Array.from(
    Map.groupBy(texts, (text) => text),
    ([text, { length }]) => (length === 1 ? text : `${text} (${length} times)`),
  );

/** The path of a field without the positions in lists, such as `branches[].location.latitude`. */
const fieldName = (path: Path): string =>
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

const valueAt = (root: unknown, path: Path): unknown =>
  path.reduce((place, key) => Reflect.get(Object(place), key), root);
