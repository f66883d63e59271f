import { readFileSync } from 'node:fs';

/** What stands in a place of JSON: a kind of value, a list of one, or an object's fields. */
export type Described = 'string' | 'number' | 'boolean' | readonly [Described] | Fields;

/** Fields by name; the name of a required one ends in `!`. */
export interface Fields {
  readonly [name: string]: Described;
}

/** Where a resource stands: in a request's body, as an answer, or as an item of an answer's list. */
export type Place = 'request' | 'answer' | 'item';

/** A row of the endpoint table, in the table's own words. */
export interface EndpointRow {
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
 * The specification's own text, read as far as a test can hold the contract against it: its tables and its lists
 * of fields. A phrase that is new to this reader is an error, so that a changed text is noticed.
 */
export function readSpecification(file: URL) {
  const text = readFileSync(file, 'utf8');

  /** The text below a heading, up to the next one; what a heading says in parentheses does not count. */
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

  /** Fields with their phrases, in one place. `see below` stands for the list of `details`. */
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
    /** The names that the specification's own list gives, in its order. */
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
    /** The query body of a POST list operation, by the table's word for it. */
    query: (name: string): Fields => {
      const row = tableRows(section('Query bodies of the POST list operations')).find(
        ([cell]) => cell === name,
      );
      if (row === undefined) throw new Error(`the specification has no query body for "${name}"`);
      return inlineFields(row[1] ?? '', 'request');
    },
  };
}

/** Of "string in list items …; array of string in single-product responses …" the part for the place. */
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

/** The words from "required" on, without what follows in the same list. */
const requiredMark = (phrase: string) => /required( in the request( body)?)?/.exec(phrase)?.[0] ?? '';

/** Whether a field is required in a place. The fields inside of an "object with" carry marks of their own. */
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

/** "- `name`: phrase." as name and phrase. */
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
