import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type PreparedAnswer, prepareAnswers } from '../../bench/bank/answers.ts';
import { serialMark } from '../../bench/bank/records.ts';
import { limit } from '../../bench/contenders.ts';
import { AnswerReader } from '../../bench/load/answer-reader.ts';
import { fire, requestsOf } from '../../bench/load/fire.ts';
import { checkedAnswer } from '../../bench/measure.ts';
import { spreadOf, standing } from '../../bench/report/statistics.ts';
import { q3 } from '../../bench/shapes.ts';
import { parseExactJson } from '../../src/contract/exact-json.ts';
import { operations } from '../../src/contract/operations.ts';

/** The bench compares answers; here the answers are wrong. */

const right = Buffer.from('{"data":{"__typename":"Query"}}');
let close = () => {};
afterEach(() => close());

/** A contender that gives these answers in turn, and then repeats the last one. */
async function contender(...answers: readonly (string | Buffer)[]) {
  let turn = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(answers[Math.min(turn++, answers.length - 1)]));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => server.close();
  const { port } = server.address() as AddressInfo;
  const end = async () => {};
  return { contender: limit, port, pid: 0, terminate: end, [Symbol.asyncDispose]: end };
}

const load = (port: number, seconds: number) => ({
  port,
  requests: requestsOf(q3.query, port),
  connections: 4,
  seconds,
  expected: right,
});

test('the same data in another order of keys is the same answer', async () => {
  const running = await contender('{"data":{"b":[1,2],"a":{"d":1,"c":2}}}');
  const answer = Buffer.from('{"data":{"a":{"c":2,"d":1},"b":[1,2]}}');
  expect((await checkedAnswer(running, q3, answer)).expected.length).toBe(answer.length);
});

test.each([
  ['another value', '{"data":{"__typename":"Mutation"}}'],
  ['a field too many', '{"data":{"__typename":"Query","more":null}}'],
  ['an error beside the data', '{"data":{"__typename":"Query"},"errors":[{"message":"no"}]}'],
])('%s is another answer', async (_what, text) => {
  const running = await contender(text);
  await expect(checkedAnswer(running, q3, right)).rejects.toThrow('otherwise than the limit');
});

test('under load one wrong answer among many ends the round', async () => {
  const { port } = await contender(...Array(20).fill(right), '{"data":{"__typename":"query"}}');
  // The wrong answer ends the run, long before its time is over.
  await expect(fire(load(port, 50))).rejects.toThrow('another answer');
});

test('under load each right answer is counted', async () => {
  const { port } = await contender(right);
  const { requests, latencies } = await fire(load(port, 1));
  expect(requests).toBeGreaterThan(4);
  expect(latencies).toHaveLength(requests);
});

const answers = {
  'with a length': 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
  'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
};
test.each(Object.entries(answers))(
  'an answer %s is read however it is cut, and so is the next',
  (_how, text) => {
    for (let size = 1; size <= text.length; size++) {
      const reader = new AnswerReader();
      for (const _turn of [1, 2]) {
        const bodies: string[] = [];
        for (let at = 0; at < text.length; at += size) {
          const body = reader.take(Buffer.from(text.slice(at, at + size)));
          if (body !== null) bodies.push(body.toString());
        }
        expect(bodies).toEqual(['hello']);
      }
    }
  },
);

test('an answer that is no 200 is none', () => {
  const refused = Buffer.from('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n');
  expect(() => new AnswerReader().take(refused)).toThrow('503');
});

describe('the bank of the bench', () => {
  /** The answers of the bench's bank match those of a real bank. */

  const answers = prepareAnswers();
  const bodyOf = ({ whole }: PreparedAnswer) => whole.toString().split('\r\n\r\n')[1] ?? '';
  const operationOf = ({ operation }: PreparedAnswer) =>
    Object.values(operations).find(({ id }) => id === operation);

  test('every answer keeps the contract, and its operation’s rule for credentials', () => {
    const broken = [...answers].filter(([, prepared]) => {
      const operation = operationOf(prepared);
      const record = operation?.answer ?? z.never();
      const shape = operation?.envelope ? z.object({ [operation.envelope]: z.array(record).min(1) }) : record;
      return prepared.auth !== operation?.auth || !shape.safeParse(parseExactJson(bodyOf(prepared))).success;
    });
    expect(broken.map(([path]) => path)).toEqual([]);
    expect(answers.size).toBeGreaterThan(200);
  });

  test('an answer with another serial differs in nothing else', () => {
    const serial = Buffer.from(serialMark);
    const broken = [...answers.values()].filter(
      ({ whole, beforeSerial, afterSerial }) =>
        !Buffer.concat([beforeSerial, serial, afterSerial]).equals(whole),
    );
    expect(broken).toEqual([]);
  });

  test('no amount has digits that JSON.parse would change', () => {
    const amounts = [...answers.values()].flatMap((prepared) =>
      [...bodyOf(prepared).matchAll(/"amount":([^,}]+)/g)].map(([, digits]) => digits),
    );
    expect(amounts.length).toBeGreaterThan(100);
    expect(amounts.filter((digits) => String(Number(digits)) !== digits)).toEqual([]);
  });

  test('the list of Q1 has 100 branches in 46 KB', () => {
    const list = answers.get('/v1/api/banks/BENCHCY2/branches');
    expect(list?.whole.length).toBeGreaterThan(45_000);
    expect(list?.whole.length).toBeLessThan(48_000);
  });
});

describe('the page', () => {
  /** docs/performance.md must describe the current code. */

  const root = join(import.meta.dirname, '../..');
  const page = readFileSync(join(root, 'docs/performance.md'), 'utf8');
  /** The maximum number of commits since the measurement. */
  const mostCommits = 250;

  function gitIn(folder: string, ...args: readonly string[]): string {
    return execFileSync('git', args, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  function succeeds(folder: string, ...args: readonly string[]): boolean {
    try {
      gitIn(folder, ...args);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * The number of commits of src/ after a commit. Null if it is unknown: there is no git repository, or a shallow history does
   * not contain the commit, and is too short to exceed the maximum. Errors: Error if a full history does not contain the
   * commit.
   */
  function commitsSince(folder: string, commit: string): number | null {
    if (!succeeds(folder, 'rev-parse', '--git-dir')) return null;
    const count = (range: string) => Number(gitIn(folder, 'rev-list', '--count', range, '--', 'src'));
    if (succeeds(folder, 'merge-base', '--is-ancestor', commit, 'HEAD')) return count(`${commit}..HEAD`);
    if (gitIn(folder, 'rev-parse', '--is-shallow-repository') !== 'true')
      throw new Error(`docs/performance.md names ${commit}, which is not in the history: run npm run bench`);
    // The first commit of a shallow history appears to add every file.
    const atLeast = count('HEAD') - 1;
    return atLeast > mostCommits ? atLeast : null;
  }

  test(`the page was measured on one of the last ${mostCommits} commits of src/`, (context) => {
    const commit = /^Commit: `([0-9a-f]{12})`/m.exec(page)?.[1] ?? '';
    expect(commit).not.toBe('');
    const since = commitsSince(root, commit);
    if (since === null) return context.skip('the history does not say how old the page is');
    expect(since, 'docs/performance.md is out of date: run npm run bench').toBeLessThanOrEqual(mostCommits);
  });

  describe('a ratio is ahead or behind only if its whole interval is', () => {
    test.each([
      ['ahead', [0.9, 0.92, 0.88, 0.91, 0.9, 0.93]],
      ['behind', [1.1, 1.2, 1.15, 1.12, 1.3, 1.11]],
      ['level', [0.9, 1.1, 0.95, 1.02, 0.98, 1.2]],
    ])('%s', (expected, ratios) => {
      const spread = spreadOf(ratios);
      expect(spread && standing(spread)).toBe(expected);
      // The same rounds always give the same interval.
      expect(spreadOf(ratios)).toEqual(spread);
    });

    test('nothing measured has no interval', () => {
      expect(spreadOf([])).toBeNull();
    });
  });
});
