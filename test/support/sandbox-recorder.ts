import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts';
import { type RecordedCall, type RecordingBank, type Reply, startRecordingBank } from './recording-bank.ts';

/** The sandbox bank behind a bank that records its calls, and may answer a call itself. */
export interface SandboxRecorder extends AsyncDisposable {
  readonly recorder: RecordingBank;
  readonly sandbox: Sandbox;
  /** Forwards a call to the sandbox bank, and returns its answer. */
  forward(call: RecordedCall): Promise<Reply>;
}

export async function startSandboxRecorder(options: Partial<SandboxOptions> = {}): Promise<SandboxRecorder> {
  const sandbox = await startSandbox({ port: 0, ...options });
  async function forward({ method, path, headers, body }: RecordedCall) {
    const { host, connection, 'content-length': _length, ...rest } = headers;
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: rest,
      ...(body === '' ? {} : { body }),
    });
    return { status: response.status, body: await response.text() };
  }
  const recorder = (await startRecordingBank()).otherwise(forward);
  return {
    recorder,
    sandbox,
    forward,
    async [Symbol.asyncDispose]() {
      await recorder.close();
      await sandbox.close();
    },
  };
}
