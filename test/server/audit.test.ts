import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServerFixture, startServerFixture } from '../support/server-fixture.ts';

/** The public audit suite of GraphQL over HTTP, against the server as it is served. */

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await startServerFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const audits = serverAudits({ url: () => fixture.url, fetchFn: fetch });

test('the suite is as long as it was: 61 audits', () => {
  expect(audits).toHaveLength(61);
});

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
  '%s %s',
  async (_id, _name, audit) => {
    const result = await audit.fn();
    expect(
      result.status === 'ok' ? 'ok' : `${result.status}: ${'reason' in result ? result.reason : ''}`,
    ).toBe('ok');
  },
);
