import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bankCode, bankText, redact } from '../../src/bank/errors.ts';
import { GatewayAnswers } from '../../src/bank/gateway-answers.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { connect, failedCall } from '../support/bank-client.ts';
import { type Act, hang, reply, reset } from '../support/faulty-bank.ts';
import { canaries, type SampleCall, sampleCalls } from '../support/sample-calls.ts';

const lateMs = 400;
const change = sampleCalls.putCustomerID;

/** Text in the bank's answers that must not reach a caller. */
const hidden = 'what the bank says';

describe('what the bank says', () => {
  const says = async (status: number, body: string, headers: Record<string, string> = {}) => {
    const reports: CallReport[] = [];
    const { client } = await connect(reply(status, body, headers), {
      onCall: (call) => reports.push(call),
    });
    const { error } = await failedCall(sampleCalls.getCustomer, client);
    const [report] = reports;
    if (report === undefined || reports.length > 1) throw new Error(`${reports.length} reports of one call`);
    return { error, report };
  };
  const forbidden = 'The bank forbids getCustomer';

  test.each([
    ['a message', '{"message":"not yours"}', 'not yours'],
    ['a reason', '{"status":"REJECTED","reason":"not yours"}', 'not yours'],
    ['a description', '{"code":403,"Description":"not yours"}', 'not yours'],
    ['the same twice', '{"error":"not yours","reason":"not yours"}', 'not yours'],
    [
      'an error and its description',
      '{"error":"denied","error_description":"not yours"}',
      'denied not yours',
    ],
    [
      'a problem',
      '{"type":"about:blank","title":"Denied","detail":"not yours","status":403}',
      'Denied not yours',
    ],
    ['a JSON string', '"not yours"', 'not yours'],
    ['plain text', 'not yours', 'not yours'],
    ['several lines', 'not\r\n\tyours\u2028\u0085 at\u0000 all\u001b[31m', 'not yours at all [31m'],
    ['text that turns its direction', '{"message":"not \u202eyours\u2066"}', 'not yours'],
  ])('in a 4xx answer is shown on one line: %s', async (_, body, text) => {
    const { error, report } = await says(403, body);
    expect(error.message).toBe(`${forbidden}: ${text}`);
    expect(report).toMatchObject({ operation: 'getCustomer', status: 403, failure: null, bankText: text });
  });

  test.each([
    ['nothing', ''],
    ['a page', '<!doctype html><p>not yours</p>'],
    ['JSON without a message', '{"code":403,"stack":"at Bank.java:1"}'],
    ['a message that is no text', '{"message":{"text":"x"}}'],
  ])('in a 4xx answer is left out where it is of no use: %s', async (_, body) => {
    const { error, report } = await says(403, body);
    expect(error.message).toBe(`${forbidden}.`);
    expect(report.bankText).toBe('');
  });

  test.each([
    ['of one letter', 'x'.repeat(5000)],
    ['of letters in two units', `x${'😀'.repeat(2000)}`],
  ])('in a 4xx answer is cut after 500 characters: %s', async (_, body) => {
    const { error, report } = await says(403, body);
    const shown = error.message.slice(`${forbidden}: `.length);
    expect(shown.length).toBeGreaterThan(490);
    expect(shown.length).toBeLessThanOrEqual(500);
    expect(body.startsWith(shown)).toBe(true);
    expect(error.message.isWellFormed()).toBe(true);
    expect(report.bankText).toBe(shown);
  });

  test.each([500, 501, 502, 503, 504])('in a %i answer is for the log only', async (status) => {
    const { error, report } = await says(status, `{"message":"${hidden}"}`);
    expect(JSON.stringify([error.message, error.extensions])).not.toContain(hidden);
    expect(report).toMatchObject({ status, bankText: hidden });
  });

  test.each([400, 401, 403, 404, 429, 500, 503])('does not give away credentials: %i', async (status) => {
    const all = Object.values(canaries);
    const echoes = [
      JSON.stringify({ message: `no such caller: ${all.join(' ')}` }),
      JSON.stringify(all.join(' ')),
      `no such caller: ${all.join('\r\n')}`,
      JSON.stringify({ title: all[0], detail: all[1], error: all[2] }),
    ];
    for (const echo of echoes) {
      const { error, report } = await says(status, echo, { 'X-Echo': all.join(' ') });
      const shown = JSON.stringify([error.message, error.extensions, String(error.cause), report]);
      for (const secret of all) expect(shown).not.toContain(secret);
      expect(shown).toContain('[redacted]');
    }
  });

  // A text is cut at 10,000 characters before its white space is removed, so the text at the cut may be shown.
  test('does not reveal a part of a credential at the cut', async () => {
    const { subscriptionKey } = canaries;
    for (const at of [10_000 - subscriptionKey.length, 10_000 - 20, 10_000 - 12, 10_000 - 1, 10_000]) {
      const message = `no${' '.repeat(at - 2)}${subscriptionKey} ${'x'.repeat(100)}`;
      const body = JSON.stringify({ message }).replace(/key-/g, '\\u006bey\\u002d');
      const { error, report } = await says(403, body);
      const shown = JSON.stringify([error.message, report]);
      for (let length = 5; length <= subscriptionKey.length; length++)
        expect(shown).not.toContain(subscriptionKey.slice(0, length));
    }
  });
});

describe('an answer of a gateway in front of the bank', () => {
  const refusedKey =
    '{"statusCode":401,"message":"Access denied due to invalid subscription key. Make sure to provide a valid key for an active subscription."}';
  const quota =
    '{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 5.03:23:11."}';
  const html = { 'Content-Type': 'text/html' };

  async function failure(sample: SampleCall, act: Act, gateways = new GatewayAnswers()) {
    const reports: CallReport[] = [];
    const { bank, client } = await connect(act, { gateways, onCall: (call) => reports.push(call) });
    const { error } = await failedCall(sample, client);
    expect(bank.requests).toHaveLength(1);
    return { error, report: reports[0] };
  }

  test.each([sampleCalls.getCustomer, change])(
    'about a quota is a limit of $operation.id that ends',
    async (sample) => {
      const act = reply(403, quota, { 'Retry-After': '444191' });
      const { error, report } = await failure(sample, act);
      expect(error.extensions).toMatchObject({
        code: 'RATE_LIMITED',
        status: 403,
        retryable: true,
        retryAfter: 60,
      });
      expect(report).toMatchObject({ gateway: 'rate limit', failure: null });
    },
  );

  test('about the operator’s subscription key is not the caller’s fault, and has its own message', async () => {
    const gateways = new GatewayAnswers({ hasOperatorKey: true });
    const read = await failure(sampleCalls.getCustomer, reply(401, refusedKey), gateways);
    expect(read.error.extensions).toMatchObject({ code: 'BANK_ERROR', status: 401, retryable: false });
    expect(read.error.message).toBe(
      "A gateway of the bank does not accept bankql's own subscription key for getCustomer. Only bankql's operator can change it.",
    );
    expect(read.report).toMatchObject({
      gateway: 'operator key',
      failure: 'a gateway refuses BANK_SUBSCRIPTION_KEY',
    });
    // The write was not executed, so it may be sent again.
    const write = await failure(change, reply(401, refusedKey), gateways);
    expect(write.error.extensions).toMatchObject({ code: 'BANK_UNAVAILABLE', status: 401, retryAfter: 60 });
    expect(write.error.message).not.toContain('may have been executed');
  });

  test('about a subscription key that the caller sent is the caller’s', async () => {
    const { error, report } = await failure(sampleCalls.getCustomer, reply(401, refusedKey));
    expect(error.extensions).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    expect(report).toMatchObject({ gateway: 'credentials', failure: null });
  });

  test('in the operator’s words is read as for payments', async () => {
    const gateways = new GatewayAnswers({ notSent: ['Please wait # s.', 'Key expired'] });
    const wait = await failure(change, reply(429, 'Please wait 7 s.', { 'Retry-After': '7' }), gateways);
    expect(wait.error.extensions).toMatchObject({ code: 'RATE_LIMITED', status: 429, retryAfter: 7 });
    const expired = await failure(sampleCalls.getCustomer, reply(403, '{"error":"Key expired"}'), gateways);
    expect(expired.error.extensions).toMatchObject({ code: 'UNAUTHENTICATED', status: 403 });
  });

  test.each([
    ['HTML', '<!doctype html><title>Not found</title>', html],
    ['HTML under the type of JSON', '\n<html></html>', {}],
    ['XML', '<?xml version="1.0"?><error/>', { 'Content-Type': 'application/xml' }],
    ['a long text', `No route. ${'x'.repeat(500)}`, { 'Content-Type': 'text/plain' }],
    ['HTML that is encoded', 'x', { ...html, 'Content-Encoding': 'gzip' }],
    [
      'HTML in another charset',
      Buffer.from('<html>', 'utf16le'),
      { 'Content-Type': 'text/html; charset=utf-16le' },
    ],
  ] as const)('with 404 in %s does not say that the bank has no such record', async (_, body, headers) => {
    const { error, report } = await failure(sampleCalls.getCustomer, reply(404, body, headers));
    expect(error.extensions).toMatchObject({ code: 'BANK_BAD_RESPONSE', status: 404, retryable: false });
    const page = 'a page with status 404, which something between bankql and the bank has sent';
    expect(error.message).toBe(`The answer to getCustomer is ${page}.`);
    expect(report).toMatchObject({ status: 404, failure: page });
    const write = await failure(change, reply(404, body, headers));
    expect(write.error.message).toContain('It may have been executed all the same');
  });

  test.each([
    ['JSON', '{"message":"OBP-30018: Bank Account not found."}', {}],
    ['JSON as HTML', '{"message":"no"}', html],
    ['a list', '[]', {}],
    ['no body', '', html],
    ['a short text', '404 page not found', { 'Content-Type': 'text/plain' }],
    ['nothing, in UTF-8', '', { 'Content-Type': 'text/html', 'Content-Encoding': 'UTF-8' }],
  ])('with 404 in %s is the bank’s', async (_, body, headers) => {
    const { error, report } = await failure(sampleCalls.getCustomer, reply(404, body, headers));
    expect(error.extensions).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    expect(report).toMatchObject({ failure: null });
  });
});

describe('a report', () => {
  const reportOf = async (act: Act, sample: SampleCall, limits = {}) => {
    const reports: CallReport[] = [];
    const { client } = await connect(act, { ...limits, onCall: (call) => reports.push(call) });
    const outcome = await sample.run(client).catch((error: unknown) => error);
    expect(reports).toHaveLength(1);
    return { report: reports[0], outcome };
  };

  test('is given of a call that was answered', async () => {
    const { report, outcome } = await reportOf(reply(200, change.reply), change);
    expect(outcome).toMatchObject({ answer: change.answer, trackId: report?.trackId });
    expect(report).toEqual({
      operation: 'putCustomerID',
      status: 200,
      milliseconds: expect.any(Number),
      trackId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      reason: null,
      failure: null,
      gateway: null,
      bankText: null,
    });
    expect(report?.milliseconds).toBeGreaterThan(0);
  });

  test.each([
    ['https://login.bank.example:8443/start?next=/secret#x', 'https://login.bank.example:8443/start'],
    [`https://${'user:word'}@bank.example/`, 'https://bank.example/'],
    ['/v2/api/banks/SNDBCY2N/branches;jsessionid=s3cret', '/v2/api/banks/{BANK_ID}/branches'],
    ['//other.example/banks/SNDBCY2N', 'http://other.example/banks/{BANK_ID}'],
    [
      `https://a.example/${canaries.subscriptionKey}/${canaries.authId}`,
      'https://a.example/[redacted]/[redacted]',
    ],
    ['https://%', ''],
    [undefined, ''],
  ])('is given of a redirect to %s, with its address, which callers do not see', async (location, shown) => {
    const act = reply(302, '', location === undefined ? {} : { Location: location });
    const { report, outcome } = await reportOf(act, sampleCalls.getBranches);
    const to = shown === '' ? '' : ` to ${shown}`;
    expect(report).toMatchObject({
      status: 302,
      reason: null,
      failure: `a redirect${to}, which is not followed`,
    });
    expect(outcome).toMatchObject({
      message: 'The bank answered getBranches with a redirect, which is not followed.',
    });
  });

  test('is given of a status that is no redirect', async () => {
    const { report, outcome } = await reportOf(reply(304, ''), sampleCalls.getBranches);
    expect(report).toMatchObject({ status: 304, reason: null, failure: 'the unexpected status 304' });
    expect(outcome).toMatchObject({
      message: 'The bank answered getBranches with the unexpected status 304.',
    });
  });

  test('is given of a call that broke, with the reason', async () => {
    const { report } = await reportOf(reset, sampleCalls.getBranches);
    expect(report).toMatchObject({
      operation: 'getBranches',
      status: null,
      trackId: null,
      reason: 'unavailable',
      bankText: null,
    });
    expect(report?.failure).toMatch(/^the connection broke \(.*(ECONNRESET|closed).*\)$/);
  });

  test.each([
    ['a write', change],
    ['a read', sampleCalls.getBranches],
  ])('is given of %s whose time ran out', async (_, sample) => {
    const { report } = await reportOf(hang, sample, { timeoutMs: lateMs });
    expect(report).toMatchObject({
      status: null,
      reason: 'timeout',
      failure: expect.stringMatching(/^no whole answer within [\d.]+ ms$/),
    });
    expect(report?.milliseconds).toBeGreaterThan(lateMs - 20);
  });

  test('names no id and no credential', async () => {
    for (const act of [reply(404, '{}'), reset, reply(200, 'x'), reply(200, change.reply)]) {
      const { report } = await reportOf(act, change);
      expect(JSON.stringify(report)).not.toMatch(/alice|SNDBCY2N|key-|provider-|caller-/);
    }
  });
});

describe('the words of an error body', () => {
  const response = (body: string) => ({ status: 400, headers: {}, body: Buffer.from(body), milliseconds: 1 });

  test.each<[unknown, string | null]>([
    [{ code: 'OBP-30018' }, 'OBP-30018'],
    [{ message: 'no', errorCode: 'LIMIT' }, 'LIMIT'],
    [{ error_code: 42 }, '42'],
    [{ 'error-code': 'E1' }, 'E1'],
    [{ error: { code: 'E1' } }, 'E1'],
    [{ errors: [{ code: 'E1' }, { code: 'E2' }] }, 'E1'],
    [{ error: 'invalid_request' }, 'invalid_request'],
    [{ code: 400 }, null],
    [{ error: 'nothing' }, null],
    [{ error: 'Two words' }, null],
    [{ code: 'two words' }, null],
    [{ code: 'x'.repeat(65) }, null],
    [{ code: 'my-secret-1' }, null],
    [{ code: 'E:my-secret-1:2' }, null],
    [{ error: { error: { error: { error: { code: 'deep' } } } } }, null],
    [{ message: 'no' }, null],
    [['E1'], null],
    ['text', null],
    [null, null],
  ])('the code of %j is %s', (json, expected) => {
    expect(bankCode(response(JSON.stringify(json)), ['my-secret-1'])).toBe(expected);
  });

  test('a body that is not JSON has words and no code', () => {
    const plain = response('not yours');
    expect([bankText(plain, []), bankCode(plain, [])]).toEqual(['not yours', null]);
  });

  test.each([
    ['is long', 66_000],
    ['would take too long to parse', 600_000],
  ])('a body that %s says nothing', (_, length) => {
    const body = (size: number) => response(`{"code":"E1","message":"m","x":[${'1,'.repeat(size / 2)}1]}`);
    expect([bankText(body(65_000), []), bankCode(body(65_000), [])]).toEqual(['m', 'E1']);
    expect([bankText(body(length), []), bankCode(body(length), [])]).toEqual(['', null]);
  });

  test('an id that the caller sent is shown, although the caller’s own name is in it', () => {
    const text = response('{"message":"no customer alice-current for alice with key-4711"}');
    expect(bankText(text, ['alice', 'key-4711'], ['alice-current'])).toBe(
      'no customer alice-current for [redacted] with [redacted]',
    );
  });
});

describe('redact', () => {
  test.each([
    ['before the cut', 'a secret here', 20, 'a [redacted] here'],
    ['up to the cut', 'a secret', 8, 'a [redacted]'],
    ['across the cut', 'a secret here', 5, 'a [redacted]'],
    ['at the last character before the cut', 'a secret', 3, 'a [redacted]'],
    ['behind the cut', 'a secret', 2, 'a '],
    ['that begins like a longer one', 'secret-2 secret', 99, '[redacted] [redacted]'],
    ['that means something in a pattern', 'a .* b+', 99, 'a [redacted] [redacted]'],
  ])('takes out a secret %s', (_, text, maxLength, clean) => {
    expect(redact(text, ['secret', 'secret-2', '.*', 'b+', ''], maxLength)).toBe(clean);
  });

  test('cuts a text where there are no secrets', () => {
    expect(redact('a secret', [], 4)).toBe('a se');
  });

  test('shows no two letters of a secret that stand together, wherever the cut is', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.nat(40), fc.nat(90), (before, between, maxLength) => {
        const secret = 'ABCDEFGHIJKL';
        const text = `${'.'.repeat(before)}${secret}${'.'.repeat(between)}${secret}`;
        expect(redact(text, [secret], maxLength)).not.toMatch(/[A-L]/);
      }),
      { seed: 20_261_122, numRuns: 500 },
    );
  });

  test.each([
    ['is a known text', 'no alice here', ['alice'], 'no alice here'],
    ['is part of a known text', 'no alice-current, alice', ['alice-current'], 'no alice-current, [redacted]'],
    ['is repeated in a known text', 'alice-alice', ['alice-alice'], 'alice-alice'],
    ['ends a known text, and stands alone before it', 'alice x-alice', ['x-alice'], '[redacted] x-alice'],
    ['begins within a known text and goes on behind it', 'the key-4711', ['the key'], 'the [redacted]'],
    ['overlaps itself, in a known text and alone', 'xaaaay aaaa', ['xaaaay'], 'xaaaay [redacted]'],
    ['overlaps itself, at the end of a known text', 'caaaa', ['caaaa'], 'caaaa'],
    ['is in known texts only that do not occur', 'aaaab', ['caaaa', 'aaaabb', 'aaa'], '[redacted]b'],
  ])('a secret that %s', (_what, text, known, clean) => {
    expect(redact(text, ['alice', 'key-4711', 'aaaa'], 99, known)).toBe(clean);
  });
});
