import { expect, test } from 'vitest';
import { FairMember, FairOrder } from '../../src/bank/fair-order.ts';

test('while one cannot be served, those that begin to wait later do not starve the others', () => {
  const order = new FairOrder<FairMember>();
  const enter = (id: string) => {
    const member = new FairMember(id);
    order.enter(member, 1);
    return member;
  };
  const stuck = enter('stuck');
  const others = Array.from({ length: 9 }, (_, nth) => enter(`${nth}`));
  /** Serves whoever is next, except for the one that cannot be served. */
  const serve = () => {
    const next = order.first?.value === stuck ? order.first.next : order.first;
    if (next) order.charge(next.value);
    return next?.value;
  };
  for (let nth = 0; nth < 9000; nth++) serve();
  const later = enter('later');
  const turns = Array.from({ length: 64 }, serve);
  expect(turns[0]).toBe(later);
  expect(others.every((other) => turns.includes(other))).toBe(true);
});

test('one that is served out of turn, since only it can use what is free, puts nobody back that begins to wait later', () => {
  const order = new FairOrder<FairMember>();
  const enter = (id: string, held = 0) => {
    const member = new FairMember(id);
    order.enter(member, held);
    return member;
  };
  const ahead = enter('ahead');
  for (const id of ['a', 'b', 'c']) enter(id);
  for (let nth = 0; nth < 400; nth++) order.charge(ahead);
  /** Who is served next, in turn. */
  const serve = (count: number) =>
    Array.from({ length: count }, () => {
      const next = order.first?.value;
      if (next !== undefined) order.charge(next);
      return next?.id;
    });
  serve(9);
  // It holds something, and so does not go first as a newcomer.
  enter('later', 1);
  const served = serve(12);
  expect(served.indexOf('later')).toBeLessThanOrEqual(6);
  expect(served.filter((id) => id === 'later').length).toBeGreaterThanOrEqual(2);
  expect(served).not.toContain('ahead');
});
