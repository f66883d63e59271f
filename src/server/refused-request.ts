import { BankqlError, type ErrorCode, type ErrorDetails } from '../bank/error.ts';

/** How a refusal looks in HTTP. */
interface InHttp {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is refused as a whole, before its body is read, with a status and headers of its own. */
export class RefusedRequest extends BankqlError {
  readonly http: InHttp;

  constructor(code: ErrorCode, message: string, http: InHttp, details: ErrorDetails = {}) {
    super(code, message, details);
    this.http = http;
  }
}

/** A request that may come again later. `retryAfter` is in seconds. */
export const refusedForNow = (code: ErrorCode, message: string, status: number, retryAfter: number) =>
  new RefusedRequest(
    code,
    message,
    { status, headers: { 'Retry-After': String(retryAfter) } },
    { retryAfter },
  );
