import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DirectiveNode,
  type DocumentNode,
  type InlineFragmentNode,
  Kind,
  parse,
  print,
  type SelectionNode,
  visit,
} from 'graphql';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { alice } from '../../src/app/announcements.ts';
import { readConfig } from '../../src/config/config.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { mergedData, payloadsOf, startReading } from '../support/incremental-client.ts';
import type { RecordedCall } from '../support/recording-bank.ts';
import { shareServerFixture } from '../support/server-fixture.ts';

/** The example app's screens with @defer wherever it is allowed: they return the same data with the same REST calls. */

const folder = join(import.meta.dirname, '../../examples');
const variables = JSON.parse(readFileSync(join(folder, 'variables.json'), 'utf8'));
const screens = readdirSync(join(folder, 'screens'))
  .map((file) => ({
    name: file.replace(/\.graphql$/, ''),
    text: readFileSync(join(folder, 'screens', file), 'utf8'),
  }))
  .filter(({ text }) => !/^mutation/m.test(text));

const sandbox = await startSandbox({ port: 0 });
const { defaults, limits, documentLimits } = readConfig({}).server;
const fixture = await shareServerFixture({
  defaults,
  limits,
  documentLimits: { ...documentLimits, directives: 100 },
});
beforeEach(() => void fixture.bank.otherwise(forward));
afterAll(() => sandbox.close());

async function forward({ method, path, headers, body }: RecordedCall) {
  const { host, connection, 'content-length': _length, ...rest } = headers;
  const sent = body === '' ? {} : { body };
  const response = await fetch(`${sandbox.url}${path}`, { method, headers: rest, ...sent });
  return { status: response.status, body: await response.text() };
}

const directive = (name: string, label: string): DirectiveNode => ({
  kind: Kind.DIRECTIVE,
  name: { kind: Kind.NAME, value: name },
  arguments: [
    {
      kind: Kind.ARGUMENT,
      name: { kind: Kind.NAME, value: 'label' },
      value: { kind: Kind.STRING, value: label },
    },
  ],
});

/** The document with @defer on every `each`th selection, except the first of each set. */
function deferred(document: DocumentNode, each: number): DocumentNode {
  let count = 0;
  const later = (node: SelectionNode): InlineFragmentNode => ({
    kind: Kind.INLINE_FRAGMENT,
    directives: [directive('defer', `d${count}`)],
    selectionSet: { kind: Kind.SELECTION_SET, selections: [node] },
  });
  return visit(document, {
    SelectionSet: {
      leave: (node) => ({
        ...node,
        selections: node.selections.map((selection, index) =>
          index > 0 && ++count % each === 0 ? later(selection) : selection,
        ),
      }),
    },
  });
}

const ask = (query: string, name: string, accept: string) =>
  startReading(fixture.url, { query, variables: variables[name] }, { ...alice, Accept: accept });

test.each(screens.flatMap((screen) => [1, 3].map((each) => ({ ...screen, each }))))(
  'the screen $name has the same data and calls with @defer on one selection of $each',
  async ({ name, text, each }) => {
    const whole = JSON.parse(await (await ask(text, name, 'application/json')).text());
    expect(whole.errors).toBeUndefined();
    const calls = fixture.bank.lines().sort();
    fixture.bank.calls.length = 0;
    const query = print(deferred(parse(text), each));
    const payloads = await payloadsOf(await ask(query, name, 'multipart/mixed;incrementalSpec=v0.2'));
    expect(JSON.stringify(payloads)).not.toContain('"errors"');
    expect(payloads.length).toBeGreaterThan(1);
    expect(mergedData(payloads)).toEqual(whole.data);
    expect(fixture.bank.lines().sort()).toEqual(calls);
  },
);
