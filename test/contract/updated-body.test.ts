import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { updatedBody } from '../../src/contract/updated-body.ts';

const shape = z.strictObject({
  needed: z.string(),
  text: z.string().optional(),
  texts: z.array(z.string()).optional(),
  inner: z.strictObject({ needed: z.string(), text: z.string().optional() }).optional(),
  entries: z.array(z.strictObject({ key: z.string(), value: z.string().optional() })).optional(),
});

const record = {
  needed: 'n',
  text: 't',
  texts: ['a', 'b'],
  inner: { needed: 'i', text: 'it', unknown: 1 },
  entries: [
    { key: 'k', value: null, unknown: 1 },
    { key: 'l', value: 'v' },
  ],
  unknown: { kept: 'nowhere' },
};

const missing = (path: string) => new Error(path);

describe('a body that is updated', () => {
  test('is the record, without nulls and without what the shape does not know', () => {
    expect(updatedBody(shape, record, {}, missing)).toEqual({
      needed: 'n',
      text: 't',
      texts: ['a', 'b'],
      inner: { needed: 'i', text: 'it' },
      entries: [{ key: 'k' }, { key: 'l', value: 'v' }],
    });
  });

  test('changes the members of objects, and replaces lists', () => {
    const changes = { inner: { text: 'new' }, texts: [], entries: null };
    const body = updatedBody(shape, record, changes, missing);
    expect(body).toEqual({ needed: 'n', text: 't', texts: [], inner: { needed: 'i', text: 'new' } });
  });

  test.each([
    ['what is removed', record, { needed: null }, 'needed'],
    ['what is removed further in', record, { inner: { needed: null } }, 'inner.needed'],
    ['what a new object lacks', { needed: 'n' }, { inner: { text: 'new' } }, 'inner.needed'],
    ['what the record lacks', {}, { text: 'new' }, 'needed'],
  ])('misses %s', (_, from, changes, path) => {
    expect(() => updatedBody(shape, from, changes, missing)).toThrow(new Error(path));
  });

  test('misses nothing of an object that is not there', () => {
    const body = updatedBody(shape, { needed: 'n' }, { inner: { text: null } }, missing);
    expect(body).toEqual({ needed: 'n' });
  });
});
