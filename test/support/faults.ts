import { gzipSync } from 'node:zlib';
import { type Act, drip, hang, repeat, reply, reset, write, writeThen } from './faulty-bank.ts';

/** Text in the bank's answers that must not reach a caller. */
export const hidden = 'what the bank says';
/** The beginning of an answer. */
export const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** A fault of a bank, and the resulting failure of bankql's calls. */
export interface Fault {
  readonly what: string;
  readonly act: Act;
  /** The code for a read and for a write, and the status in the error. */
  readonly codes: readonly [read: string, write: string];
  readonly status?: number;
  readonly retryAfter?: number;
}

/** The codes of a read and of a write: after a broken connection, after the deadline, and for an unusable answer. */
export const broken = ['BANK_UNAVAILABLE', 'OUTCOME_UNKNOWN'] as const;
export const late = ['BANK_TIMEOUT', 'OUTCOME_UNKNOWN'] as const;
export const bad = ['BANK_BAD_RESPONSE', 'BANK_BAD_RESPONSE'] as const;

const connectionFaults: readonly Fault[] = [
  { what: 'resets the connection after the request', act: reset, codes: broken },
  { what: 'ends the connection after the request', act: (socket) => void socket.end(), codes: broken },
  { what: 'resets within the headers', act: writeThen('reset', `${head}Content-Le`), codes: broken },
  { what: 'ends within the headers', act: writeThen('end', `${head}Content-Le`), codes: broken },
  {
    what: 'resets within a body of known length',
    act: writeThen('reset', `${head}Content-Length: 100\r\n\r\n{"branches":[]}`),
    codes: broken,
  },
  {
    what: 'ends within a body of known length',
    act: writeThen('end', `${head}Content-Length: 100\r\n\r\n{"branches":[]}`),
    codes: broken,
  },
  {
    what: 'resets within a chunked body',
    act: writeThen('reset', `${head}Transfer-Encoding: chunked\r\n\r\nf\r\n{"branches":[]}\r\n`),
    codes: broken,
  },
  {
    what: 'ends within a chunked body',
    act: writeThen('end', `${head}Transfer-Encoding: chunked\r\n\r\nf\r\n{"branches":[]}\r\n`),
    codes: broken,
  },
  {
    what: 'ends before a body of known length',
    act: writeThen('end', `${head}Content-Length: 15\r\n\r\n`),
    codes: broken,
  },
  {
    what: 'ends before the first chunk',
    act: writeThen('end', `${head}Transfer-Encoding: chunked\r\n\r\n`),
    codes: broken,
  },
  { what: 'does not speak HTTP', act: write('SSH-2.0-OpenSSH_9.2\r\n'), codes: broken },
  {
    what: 'switches protocols',
    act: write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    codes: broken,
  },
  {
    what: 'names two lengths',
    act: write(`${head}Content-Length: 2\r\nContent-Length: 15\r\n\r\n{"branches":[]}`),
    codes: broken,
  },
  {
    what: 'names a length and sends chunks',
    act: write(`${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
    codes: broken,
  },
];

const slowFaults: readonly Fault[] = [
  { what: 'never answers', act: hang, codes: late },
  { what: 'drips its headers', act: drip(`${head}Content-Length: 2\r\n\r\n{}`, 20), codes: late },
  { what: 'drips its body', act: repeat(`${head}Content-Length: 9999\r\n\r\n{"a":"`, 'x', 10), codes: late },
  {
    what: 'stops within its body',
    act: write(`${head}Content-Length: 100\r\n\r\n{"branches":[]}`),
    codes: late,
  },
  {
    what: 'sends early hints without end',
    act: repeat('', 'HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n', 10),
    codes: late,
  },
  // bankql did not ask for this 100, so undici ends the connection.
  { what: 'says 100 Continue', act: write('HTTP/1.1 100 Continue\r\n\r\n'), codes: broken },
  { what: 'is processing without end', act: repeat('', 'HTTP/1.1 102 Processing\r\n\r\n', 10), codes: late },
];

const unreadFaults: readonly Fault[] = [
  {
    what: 'answers with more than the limit',
    act: reply(200, `{"branches":[],"x":"${hidden.repeat(5000)}"}`),
    codes: bad,
  },
  {
    what: 'answers without end',
    act: repeat(`${head}Transfer-Encoding: chunked\r\n\r\n`, `4000\r\n${' '.repeat(0x4000)}\r\n`, 1),
    codes: bad,
  },
  {
    what: 'answers in gzip',
    act: reply(200, gzipSync('{"branches":[]}'), { 'Content-Encoding': 'gzip' }),
    codes: bad,
  },
  {
    what: 'answers in gzip that is none',
    act: reply(200, '{"branches":[]}', { 'Content-Encoding': 'gzip' }),
    codes: bad,
  },
  { what: 'sends 20 kB of headers', act: write(`${head}X: ${'x'.repeat(20_000)}\r\n\r\n{}`), codes: bad },
];

const contentFaults: readonly Fault[] = [
  ...(
    [
      ['a cut-off body', `{"branches":[{"name":"${hidden}`],
      ['no JSON', `${hidden} {`],
      ['single quotes', `{'branches':[]}`],
      ['two values', '{"branches":[]}{"branches":[]}'],
      ['a byte order mark within', '{\ufeff"branches":[]}'],
      ['invalid UTF-8', Buffer.from([...Buffer.from('{"branches":[],"x":"'), 0xff, 0x22, 0x7d])],
      ['a list', `["${hidden}"]`],
    ] as const
  ).map(([what, body]) => ({ what: `answers with ${what}`, act: reply(200, body), codes: bad, status: 200 })),
  {
    what: 'answers with a cut-off body whose end is the connection’s',
    act: writeThen('end', `${head}\r\n{"branches":[{"name":"${hidden}`),
    codes: bad,
    status: 200,
  },
  {
    what: 'resets the connection whose end is the body’s',
    act: writeThen('reset', `${head}\r\n{"branches":[{"name":"${hidden}`),
    codes: bad,
    status: 200,
  },
  ...['application/xml', 'application/jsonp', 'image/png'].map((type) => ({
    what: `answers in ${type}`,
    act: reply(200, '{"branches":[]}', { 'Content-Type': type }),
    codes: bad,
    status: 200,
  })),
  ...(
    [
      ['a part of the answer', '{"branches":[],"email":"e"}'],
      ['a part that is empty', ''],
      ['a part that is an error', `{"error":"${hidden}"}`],
    ] as const
  ).map(([what, body]) => ({
    what: `answers 206 with ${what}`,
    act: reply(206, body, { 'Content-Range': 'bytes 0-20/999' }),
    codes: bad,
    status: 206,
  })),
  {
    what: 'answers with a page',
    act: reply(200, `<html>${hidden}</html>`, { 'Content-Type': 'text/html' }),
    codes: bad,
    status: 200,
  },
];

const statusFaults: readonly Fault[] = (
  [
    [300, ...bad],
    [304, ...bad],
    [400, 'BANK_REJECTED', 'BANK_REJECTED'],
    [401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'],
    [402, 'BANK_REJECTED', 'BANK_REJECTED'],
    [403, 'FORBIDDEN', 'FORBIDDEN'],
    [404, 'NOT_FOUND', 'NOT_FOUND'],
    [405, 'BANK_REJECTED', 'BANK_REJECTED'],
    [408, ...broken],
    [409, 'BANK_REJECTED', 'BANK_REJECTED'],
    [418, 'BANK_REJECTED', 'BANK_REJECTED'],
    [422, 'BANK_REJECTED', 'BANK_REJECTED'],
    [425, ...broken],
    [499, 'BANK_REJECTED', 'BANK_REJECTED'],
    [500, 'BANK_ERROR', 'BANK_ERROR'],
    [501, 'BANK_ERROR', 'BANK_ERROR'],
    [502, ...broken],
    [503, ...broken],
    [504, ...broken],
    [520, ...broken],
    [522, ...broken],
    [527, ...broken],
    [528, 'BANK_ERROR', 'BANK_ERROR'],
    [505, 'BANK_ERROR', 'BANK_ERROR'],
    [599, 'BANK_ERROR', 'BANK_ERROR'],
  ] as const
).map(([status, ...codes]) => ({
  what: `answers with ${status}`,
  act: reply(status, status === 304 ? '' : JSON.stringify({ secret: hidden })),
  codes,
  status,
}));

const rateFaults: readonly Fault[] = (
  [
    ['0', 0],
    ['7', 7],
    ['3600', 60],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 60],
    ['Friday, 31-Dec-49 23:59:59 GMT', 60],
    ['Fri Dec 31 23:59:59 9999', 60],
    ['Wed Oct 21 07:28:00 2015', 0],
    ['Wed Oct  7 07:28:00 2015', 0],
    ['Fri Dec 31 9999', 1],
    ['soon', 1],
    ['1.5', 1],
    ['-5', 1],
    ['2026-12-24', 1],
    ['', 1],
  ] as const
).map(([value, retryAfter]) => ({
  what: `answers with 429 and Retry-After: ${value === '' ? '(none)' : value}`,
  act: reply(429, '{}', { 'Retry-After': value }),
  codes: ['RATE_LIMITED', 'BANK_REJECTED'],
  status: 429,
  retryAfter,
}));

const maintenanceFaults: readonly Fault[] = (
  [
    [503, '120', 60],
    [502, '7', 7],
    [504, 'soon', 1],
  ] as const
).map(([status, value, retryAfter]) => ({
  what: `answers with ${status} and Retry-After: ${value}`,
  act: reply(status, '{}', { 'Retry-After': value }),
  codes: broken,
  status,
  retryAfter,
}));

/** All faults of a bank after a whole request, for any operation. */
export const faults: readonly Fault[] = [
  ...connectionFaults,
  ...slowFaults,
  ...unreadFaults,
  ...contentFaults,
  ...statusFaults,
  ...rateFaults,
  ...maintenanceFaults,
];
