import { readConfig } from '../../src/config/config.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';
import { createTestBankql, type TestBankql, type TestOptions } from './bankql.ts';
import { type RecordedCall, type RecordingBank, startRecordingBank } from './recording-bank.ts';

/** The sandbox bank, with bankql in front of it, and each REST call between them written down. */
export interface RecordedSandbox extends AsyncDisposable {
  readonly recorder: RecordingBank;
  readonly bankql: TestBankql;
}

interface Options {
  readonly sandbox?: Partial<SandboxOptions>;
  readonly bankql?: Omit<TestOptions, 'bankUrl' | 'defaults'>;
}

/** Bank, view and viewer are what `npm start` has without a bank. */
export async function startRecordedSandbox(options: Options = {}): Promise<RecordedSandbox> {
  await using made = new AsyncDisposableStack();
  const sandbox = await startSandbox({ port: 0, database: ':memory:', latencyMs: 0, ...options.sandbox });
  made.defer(() => sandbox.close());
  const recorder = made.use(await startRecordingBank()).otherwise((call) => forward(call, sandbox));
  const { bankId, defaultView, viewer } = readConfig({});
  const bankql = made.use(
    createTestBankql({
      bankUrl: recorder.url,
      defaults: { bankId, viewId: defaultView, viewer },
      ...options.bankql,
    }),
  );
  const resources = made.move();
  return { recorder, bankql, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Passes a call on to the sandbox bank, and its answer back. */
async function forward({ method, path, headers, body }: RecordedCall, { url }: Sandbox) {
  const { host, connection, 'content-length': _length, ...rest } = headers;
  const response = await fetch(`${url}${path}`, { method, headers: rest, ...(body === '' ? {} : { body }) });
  return { status: response.status, body: await response.text() };
}
