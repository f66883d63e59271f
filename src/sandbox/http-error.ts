/**
 * A request that the bank declines. Handlers and checks throw it; the server answers with its status and
 * `{ "code": <status>, "message": <text> }`. Whatever else is thrown is a failure of the sandbox: a 500.
 */
export class HttpError extends Error {
  override readonly name = 'Refusal';
  readonly code: 400 | 401 | 403 | 404;

  constructor(code: 400 | 401 | 403 | 404, message: string) {
    super(message);
    this.code = code;
  }
}
