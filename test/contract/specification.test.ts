import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { bodyOf, metaOf } from '../../src/contract/record.ts';
import * as shapes from '../../src/contract/shared-parts.ts';

/** A description of a JSON value: its kind, a list of values of one kind, or the fields of an object. */
type Described = 'string' | 'number' | 'boolean' | readonly [Described] | Fields;

/** Fields by name. The name of a required field ends in `!`. */
interface Fields {
  readonly [name: string]: Described;
}

/** The place of a resource: a request's body, an answer, or an item of an answer's list. */
type Place = 'request' | 'answer' | 'item';

/** A row of the endpoint table, in the table's own words. */
interface EndpointRow {
  readonly number: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly bodyIn: string;
  readonly bodyOut: string;
  readonly trackId: string;
  readonly authHeaders: string;
}

/**
 * The tables and lists of fields of the specification, read from its text, for a comparison with the contract. An unknown phrase
 * is an error, so that a changed text is noticed.
 */
function readSpecification(file: URL) {
  const text = readFileSync(file, 'utf8');

  /** The text below a heading, up to the next heading. Words in parentheses in a heading are ignored. */
  const section = (heading: string): string => {
    const [, rest] = text.split(new RegExp(`^#+ ${heading}(?: \\(.*\\))?$`, 'm'));
    if (rest === undefined) throw new Error(`the specification has no section "${heading}"`);
    return rest.split(/^#/m)[0] ?? '';
  };

  const structures = new Map(
    tableRows(section('Shared structures')).map(([name = '', fields = '']) => [firstWord(name), fields]),
  );

  /** The type that a phrase such as "array of KeyValue" or "object with `id` string" names. */
  function typeOf(phrase: string, place: Place): Described {
    const [, entry] = /^array of (\w+)/.exec(phrase) ?? [];
    if (entry !== undefined) return [typeOf(entry, place)];
    if (phrase.startsWith('object with')) return inlineFields(phrase, place);
    const name = firstWord(phrase);
    if (name === 'string' || name === 'number' || name === 'boolean') return name;
    const structure = structures.get(name);
    if (structure === undefined) throw new Error(`the specification names an unknown type: "${phrase}"`);
    return inlineFields(structure, place);
  }

  /** Fields that are listed in one phrase: "`city` string, required; `country`". String is the default type. */
  function inlineFields(phrase: string, place: Place): Fields {
    return fieldsOf(
      [...phrase.matchAll(/`([\w-]+)`([^`]*)/g)].map(([, name = '', rest = '']) => {
        const [, type = 'string'] = /^ \(?(string|number|boolean|AccountRef|Money)\b/.exec(rest) ?? [];
        return [name, rest.includes('required') ? `${type}; ${requiredMark(rest)}` : type];
      }),
      place,
    );
  }

  /** The fields of one place, from their phrases. `see below` means the list of `details`. */
  function fieldsOf(rows: readonly (readonly [name: string, phrase: string])[], place: Place): Fields {
    return Object.fromEntries(
      rows.flatMap(([name, phrase]): [string, Described][] => {
        const onlyIn = /appears in (\w+) only/.exec(phrase)?.[1];
        if (onlyIn !== undefined && (onlyIn === 'responses') === (place === 'request')) return [];
        const type = phrase.includes('see below')
          ? detailsIn(place)
          : typeOf(alternative(phrase, place), place);
        return [[isRequired(phrase, place) ? `${name}!` : name, type]];
      }),
    );
  }

  const detailsIn = (place: Place) =>
    fieldsOf(bullets(section('Transaction').split('Fields of `details`:')[1] ?? ''), place);

  /** The bullets below a line of the section on transaction requests. */
  const bulletsBelow = (line: string): [string, string][] => {
    const [, rest = ''] = section('Transaction request').split(line);
    return bullets(rest.trim().split('\n\n')[0] ?? '');
  };

  return {
    /** The names in the specification's list, in its order. */
    operationNames: (/^Operation names used by the interface: (.*)\.$/m.exec(text)?.[1] ?? '').split(', '),
    pathParameters: [...section('Endpoints').matchAll(/^- `\{(\w+)\}`: /gm)].map(([, name]) => name),
    endpoints: tableRows(section('Endpoints')).map((cells): EndpointRow => {
      const [number = '', operation = '', call = '', bodyIn = '', bodyOut = '', trackId = '', auth = ''] =
        cells;
      const [, method = '', path = ''] = /^(GET|PUT|POST) `(\S+)`$/.exec(call) ?? [];
      return { number, operation, method, path, bodyIn, bodyOut, trackId, authHeaders: auth };
    }),
    structureNames: [...structures.keys()],
    /** A shared structure's fields. */
    structure: (name: string): Described => typeOf(name, 'answer'),
    /** The fields of the resource under a heading, such as "Branch". */
    resource: (heading: string, place: Place): Fields =>
      fieldsOf(
        tableRows(section(heading)).map(([name = '', phrase = '']) => [bare(name), phrase]),
        place,
      ),
    transactionRequest: {
      input: () => fieldsOf(bulletsBelow('Input (model TransactionsRequestDef for the PUT):'), 'request'),
      output: () => fieldsOf(bulletsBelow('Output item (in the array `transaction-requests`):'), 'item'),
      makeTransaction: () => fieldsOf(bulletsBelow('Input of make-transaction:'), 'request'),
    },
    /** The query body of a POST list operation, by the beginning of its name: "branch" for branches. */
    query: (name: string): Fields => {
      const row = tableRows(section('Query bodies of the POST list operations')).find(([cell]) =>
        cell?.startsWith(name),
      );
      if (row === undefined) throw new Error(`the specification has no query body for "${name}"`);
      return inlineFields(row[1] ?? '', 'request');
    },
  };
}

/**
 * The part of a phrase that is about this place, such as of "array of string in list items …; array of string in single-product
 * responses …".
 */
function alternative(phrase: string, place: Place): string {
  const parts = phrase.split('; ');
  if (!parts[1]?.startsWith('array of')) return phrase;
  const words = {
    request: 'in the request body',
    item: 'in list items',
    answer: 'in single-product responses',
  };
  const part = parts.find((candidate) => candidate.includes(words[place]));
  if (part === undefined) throw new Error(`the specification says nothing of the ${place} in "${phrase}"`);
  return part;
}

/** The words from "required" on, up to the end of the list entry. */
const requiredMark = (phrase: string) => /required( in the request( body)?)?/.exec(phrase)?.[0] ?? '';

/** Whether a field is required in a place. The fields within an "object with" have their own marks. */
function isRequired(phrase: string, place: Place): boolean {
  if (phrase.startsWith('object with')) return false;
  const [, where] = /\brequired( in [^;)]*)?/.exec(phrase) ?? [null, null];
  if (where === null) return false;
  if (where === undefined) return true;
  return place === 'request'
    ? where.includes('the request')
    : place === 'item' && where.includes('the items');
}

/** A table's rows, each as its cells, without the head. */
const tableRows = (markdown: string): string[][] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );

/** Splits "- `name`: phrase." into name and phrase. */
const bullets = (markdown: string): [string, string][] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const [, name, phrase] = /^- `(\w+)`: (.*)\.$/.exec(line) ?? [];
      if (name === undefined || phrase === undefined) throw new Error(`not a field: "${line}"`);
      return [name, phrase];
    });

const bare = (cell: string) => cell.replaceAll('`', '');
const firstWord = (phrase: string) => /^\w+/.exec(phrase)?.[0] ?? '';

/** The specification's text, as the bank published it. */
const specification = readSpecification(new URL('../../docs/specification.md', import.meta.url));
const rows = specification.endpoints;
const table: readonly Operation[] = Object.values(operations);

/** The heading of a resource that the endpoint table names: "Other account" for OtherAccount. */
const headingOf = (name: string) => name.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const requests = {
  'transaction request input': () => specification.transactionRequest.input(),
  'make-transaction input': () => specification.transactionRequest.makeTransaction(),
};

/** The fields that the resource tables give for a request's body. The words of the endpoint table name the resource. */
function bodyIn(words: string): Fields | null {
  if (words === 'none') return null;
  const [, query] = /^([\w-]+) query \(/.exec(words) ?? [];
  if (query !== undefined) return specification.query(query.replace('-', ' '));
  const request = requests[words as keyof typeof requests];
  return request === undefined ? specification.resource(headingOf(firstWord(words)), 'request') : request();
}

/**
 * The key of the list in an answer, and the fields that the resource tables give for its records, by the words of the endpoint
 * table.
 */
function bodyOut(words: string): { readonly envelope: string | null; readonly fields: Fields | null } {
  if (words === 'no body shown') return { envelope: null, fields: null };
  const [, envelope = null, entry = ''] = /^`\{([\w-]+): \[(\w+)/.exec(words) ?? [];
  if (envelope === null)
    return { envelope, fields: specification.resource(headingOf(firstWord(words)), 'answer') };
  if (entry === 'item') return { envelope, fields: specification.transactionRequest.output() };
  const heading = entry === 'entry' ? 'Metadata entry' : headingOf(entry);
  return { envelope, fields: specification.resource(heading, 'item') };
}

const authMarks = { required: 'A', optional: 'a', none: 'none' } as const;

/** A shape of the code in the specification's terms. The exact text of an amount is a number on the wire. */
function describeShape(shape: z.ZodType | z.core.$ZodType): Described {
  const bare = unwrap(shape);
  if (metaOf(bare).scalar === 'Decimal' || bare instanceof z.ZodNumber) return 'number';
  if (bare instanceof z.ZodString) return 'string';
  if (bare instanceof z.ZodBoolean) return 'boolean';
  if (bare instanceof z.ZodArray) return [describeShape(bare.element)];
  if (bare instanceof z.ZodObject) return describeFields(bare);
  throw new Error(`a shape that the specification has no word for: ${bare._zod.def.type}`);
}

const describeFields = (shape: z.ZodObject): Fields =>
  Object.fromEntries(
    Object.entries(shape.shape).map(([name, field]) => [
      field instanceof z.ZodOptional ? name : `${name}!`,
      describeShape(field),
    ]),
  );

const unwrap = (shape: z.core.$ZodType): z.core.$ZodType =>
  shape instanceof z.ZodOptional || shape instanceof z.ZodNullable ? unwrap(shape.unwrap()) : shape;

/** Every object in a shape, with its path. */
function* objectsIn(shape: z.core.$ZodType, way = 'body'): Generator<[string, z.ZodObject]> {
  const bare = unwrap(shape);
  if (bare instanceof z.ZodArray) yield* objectsIn(bare.element, `${way}[]`);
  if (!(bare instanceof z.ZodObject)) return;
  yield [way, bare];
  for (const [name, field] of Object.entries(bare.shape)) yield* objectsIn(field, `${way}.${name}`);
}

describe('the table of operations is the specification’s endpoint table', () => {
  test('has its rows, in its order', () => {
    expect(rows.length).toBeGreaterThanOrEqual(20);
    expect(rows.map(({ number }) => Number(number))).toEqual(rows.map((_, index) => index + 1));
    const named = rows.map(({ operation }) =>
      operation === '(customer message PUT)' ? 'putCustomerMessage' : operation,
    );
    expect(Object.keys(operations)).toEqual(named);
    expect(table.map(({ id }) => id)).toEqual(named);
  });

  test('names row 11 itself, and every other as the specification’s list of names does', () => {
    expect(rows[10]?.operation).toBe('(customer message PUT)');
    expect(table[10]?.id).toBe('putCustomerMessage');
    expect(new Set([...specification.operationNames, 'putCustomerMessage'])).toEqual(
      new Set(Object.keys(operations)),
    );
  });

  test('knows the reads (GET, and the POST list operations) from the writes and the payments', () => {
    const lists = rows.filter(({ method, bodyIn }) => method === 'POST' && bodyIn.includes('query'));
    const reads = [...rows.filter(({ method }) => method === 'GET'), ...lists];
    const payments = ['transaction request input', 'make-transaction input'];
    expect(lists).toHaveLength(4);
    for (const [index, row] of rows.entries())
      expect(table[index]?.kind, row.operation).toBe(
        reads.includes(row) ? 'read' : payments.includes(row.bodyIn) ? 'payment' : 'write',
      );
  });

  test('has the placeholders that the specification explains, and no others', () => {
    const placeholders = table.flatMap(({ path }) =>
      [...path.matchAll(/\{(.+?)\}/g)].map(([, name]) => name),
    );
    expect(new Set(placeholders)).toEqual(new Set(specification.pathParameters));
  });

  test.each(rows.map((row, index) => ({ ...row, index })))(
    'row $number, $operation, has its call, its headers, its body and its answer',
    (row) => {
      const operation = table[row.index] ?? expect.unreachable();
      expect(`${operation.method} ${operation.path}`).toBe(`${row.method} ${row.path}`);
      expect(operation.tracked ? 'T' : 'none').toBe(row.trackId);
      expect(authMarks[operation.auth]).toBe(row.authHeaders);
      expect(operation.body && describeFields(operation.body)).toEqual(bodyIn(row.bodyIn));
      const { envelope, fields } = bodyOut(row.bodyOut);
      expect(operation.envelope).toBe(envelope);
      expect(operation.answer && describeFields(operation.answer)).toEqual(fields);
    },
  );
});

describe('shared structures', () => {
  test.each([
    ['Money', shapes.money],
    ['KeyValue', shapes.keyValue],
    ['AccountRef', shapes.accountRef],
    ['NameBox', shapes.nameBox],
  ])('%s is the same in answers and in request bodies', (name, answer: z.ZodObject) => {
    expect(describeShape(answer)).toEqual(specification.structure(name));
    expect(describeShape(bodyOf(answer))).toEqual(specification.structure(name));
  });

  test('are these, and Address, which only branches have', () => {
    expect(specification.structureNames).toEqual(['Money', 'KeyValue', 'AccountRef', 'Address', 'NameBox']);
    const { address } = operations.putBranchID.answer.shape;
    expect(describeShape(address)).toEqual(specification.structure('Address'));
  });
});

describe('what the specification leaves open', () => {
  test.each(table.filter(({ body }) => body !== null))(
    '$id refuses fields that the contract does not name, and null, at every depth of its body',
    ({ body }) => {
      for (const [way, object] of objectsIn(body ?? z.never())) {
        expect(object.def.catchall, way).toBeInstanceOf(z.ZodNever);
        for (const [name, field] of Object.entries(object.shape))
          expect(z.safeParse(field, null).success, `${way}.${name}`).toBe(false);
      }
    },
  );

  test.each(table.filter(({ answer }) => answer !== null))(
    '$id may answer with null where a field is optional, and only there',
    ({ answer }) => {
      for (const [way, object] of objectsIn(answer ?? z.never()))
        for (const [name, field] of Object.entries(object.shape))
          expect(z.safeParse(field, null).success, `${way}.${name}`).toBe(field instanceof z.ZodOptional);
    },
  );
});
