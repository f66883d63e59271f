import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validateId } from '../../src/bank/ids.ts';
import { fillViewerTemplate, validateViewerTemplate } from '../../src/schema/viewer-template.ts';
import { anyCharacter } from '../support/any-text.ts';
import { idCorpus } from '../support/id-corpus.ts';

const caller = {
  subscriptionKey: 'key',
  authProviderName: 'provider',
  authId: 'alice',
  claims: { customer: 'c-1', 'https://bank.example/account': '00 12' },
};
const fill = (text: string, who: Parameters<typeof fillViewerTemplate>[2] = caller) =>
  fillViewerTemplate('VIEWER_CUSTOMER_ID', validateViewerTemplate(text), who);

describe('a template', () => {
  test.each([
    ['{auth-id}', 'alice'],
    ['{auth-id}-current', 'alice-current'],
    ['{provider}.{auth-id}', 'provider.alice'],
    ['{claim:customer}', 'c-1'],
    ['{claim:https://bank.example/account}', '00 12'],
    ['everybody', 'everybody'],
  ])('%s makes %s', (text, id) => {
    expect(fill(text)).toBe(id);
  });

  test.each([
    ['{}', /\{\} is unknown: give \{auth-id\}, \{provider\} or \{claim:name\}/],
    ['{Auth-ID}', /is unknown/],
    ['{claim:}', /is unknown/],
    ['{{auth-id}}', /brace/],
    ['auth-id}', /brace/],
    ['{auth-id', /brace/],
    ['a/{auth-id}', /cannot be used as an id/],
    ['{auth-id} ', /white space/],
    ['{auth-id}%2f', /cannot be used as an id/],
  ])('%s is refused', (text, why) => {
    expect(() => validateViewerTemplate(text)).toThrow(why);
  });

  test.each([
    ['{auth-id}', { ...caller, authId: null }, 'the request lacks the header Auth-ID'],
    ['{provider}', { ...caller, authProviderName: null }, 'the request lacks the header Auth-Provider-Name'],
    ['{claim:other}', caller, 'the token has no claim other'],
    ['{claim:toString}', caller, 'the token has no claim toString'],
  ])('%s names what the request lacks', (text, who, why) => {
    expect(() => fill(text, who)).toThrow(
      `Who is logged in is not known: ${why}, which VIEWER_CUSTOMER_ID names.`,
    );
  });

  test('refuses a login that cannot be an id', () => {
    const refused = idCorpus.filter(([, , segment]) => segment === null);
    expect(refused.length).toBeGreaterThan(30);
    for (const [, authId] of refused)
      expect(() => fill('{auth-id}', { ...caller, authId })).toThrow(
        /^What VIEWER_CUSTOMER_ID makes of this login cannot be used as an id/,
      );
  });

  test('makes a valid id or fails, for random logins', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (authId, claim) => {
        try {
          const id = fill('{auth-id}-{claim:c}', { ...caller, authId, claims: { c: claim } });
          expect(id).toBe(`${authId}-${claim}`);
          expect(validateId('id', id)).toBe(id);
        } catch (error) {
          expect(error).toMatchObject({ code: 'BAD_USER_INPUT' });
        }
      }),
      { numRuns: 100 },
    );
  });
});
