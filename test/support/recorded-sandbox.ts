import { readConfig } from '../../src/config/config.ts';
import type { SandboxOptions } from '../../src/sandbox/server.ts';
import { createTestBankql, type TestBankql, type TestOptions } from './bankql.ts';
import type { RecordingBank } from './recording-bank.ts';
import { startSandboxRecorder } from './sandbox-recorder.ts';

/** The sandbox bank with bankql in front of it. Each REST call between them is recorded. */
export interface RecordedSandbox extends AsyncDisposable {
  readonly recorder: RecordingBank;
  readonly bankql: TestBankql;
}

interface Options {
  readonly sandbox?: Partial<SandboxOptions>;
  readonly bankql?: Omit<TestOptions, 'bankUrl' | 'defaults'>;
}

/** The default bank, view and viewer are those of `npm start` without a bank. */
export async function startRecordedSandbox(options: Options = {}): Promise<RecordedSandbox> {
  await using made = new AsyncDisposableStack();
  const { recorder } = made.use(await startSandboxRecorder(options.sandbox));
  const { defaults } = readConfig({}).server;
  const bankql = made.use(
    await createTestBankql({
      bankUrl: recorder.url,
      defaults,
      ...options.bankql,
    }),
  );
  const resources = made.move();
  return { recorder, bankql, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
