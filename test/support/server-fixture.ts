import { afterAll, beforeEach } from 'vitest';
import { type RunningServer, type ServerOptions, serve } from '../../src/http/server.ts';
import { type TestOptions, testOptions } from './bankql.ts';
import { capacityLimits } from './capacity-limits.ts';
import { type RecordingBank, startRecordingBank } from './recording-bank.ts';

/** bankql over a real socket, in front of a recording bank. */
export interface ServerFixture extends AsyncDisposable {
  readonly bank: RecordingBank;
  readonly server: RunningServer;
  /** The endpoint's address. */
  readonly url: string;
  /** Lines of the log so far, as JSON text. */
  readonly log: readonly string[];
}

export async function startServerFixture(
  options: Partial<ServerOptions> & Omit<TestOptions, 'bankUrl'> = {},
): Promise<ServerFixture> {
  const bank = await startRecordingBank();
  const testing = await testOptions({ ...options, bankUrl: bank.url });
  const server = await serve({
    host: '127.0.0.1',
    port: 0,
    capacity: capacityLimits(),
    ...testing,
  });
  return {
    bank,
    server,
    url: `${server.url}/graphql`,
    log: testing.log,
    async [Symbol.asyncDispose]() {
      await bank.close();
      await server.close();
    },
  };
}

/** A fixture for all tests of a file that change nothing. Its bank is reset before each test. */
export async function shareServerFixture(...options: Parameters<typeof startServerFixture>) {
  const fixture = await startServerFixture(...options);
  beforeEach(() => fixture.bank.reset());
  afterAll(() => fixture[Symbol.asyncDispose]());
  return fixture;
}
