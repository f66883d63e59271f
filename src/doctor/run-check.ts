import { bankText } from '../bank/errors.ts';
import type { Transport } from '../bank/exchange.ts';
import { type HttpResponse, type HttpResult, TransportFailure } from '../bank/http-message.ts';
import type { PreparedCall } from '../bank/request.ts';
import { ErrorInSuccess } from '../bank/response.ts';
import { type ContractDiff, diffWithContract } from './contract-diff.ts';

/** The result of one check. */
export interface CheckResult {
  readonly outcome: 'ok' | 'refused' | 'no answer' | 'contract' | 'drift';
  /** The bank's status; null if there was no answer. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** A short summary. */
  readonly verdict: string;
  /** One line for each difference from the contract. */
  readonly differences: readonly string[];
}

/** The most differences of each kind that are shown: there may be any number of unknown fields. */
const maxListLength = 20;

/**
 * Makes one call, once, and evaluates the result. Its texts contain no credentials. `only` is the id that a single
 * entry of a list should have.
 */
export async function runCheck(
  transport: Transport,
  call: PreparedCall,
  timeoutMs: number,
  only?: string,
): Promise<CheckResult> {
  const started = performance.now();
  const limits = { deadline: started + timeoutMs, cancellation: null, operationDeadline: null };
  const response = await new Promise<HttpResult>((resolve) => {
    transport.send(call, limits, resolve);
  });
  const milliseconds = Math.round(performance.now() - started);
  const finding =
    response instanceof TransportFailure ? evaluateFailure(response) : evaluateResponse(call, response, only);
  const secrets = secretsOf(call);
  return {
    status: response instanceof TransportFailure ? null : response.status,
    milliseconds,
    ...finding,
    differences: finding.differences.map((line) => plain(line, secrets)),
  };
}

type Finding = Pick<CheckResult, 'outcome' | 'verdict' | 'differences'>;

function evaluateFailure({ message, cause }: TransportFailure): Finding {
  // If several addresses were tried, undici's error has a code but no message.
  const said = cause instanceof Error ? cause.message || ('code' in cause ? cause.code : '') : '';
  const why = said ? ` (${said})` : '';
  return { outcome: 'no answer', verdict: `no answer: ${message}${why}`, differences: [] };
}

function evaluateResponse(call: PreparedCall, response: HttpResponse, only: string | undefined): Finding {
  if (response.status < 200 || response.status > 299) {
    const isRedirect = response.status >= 300 && response.status < 400;
    return refused(isRedirect ? 'a redirect, which is not followed' : whyRefused(call, response));
  }
  let diff: ContractDiff;
  try {
    diff = diffWithContract(call, response, only);
  } catch (error) {
    if (error instanceof ErrorInSuccess) return refused(whyRefused(call, response));
    throw error;
  }
  const { contract, drift, unknown } = diff;
  const differences = [
    ...listDifferences('contract', contract),
    ...listDifferences('drift', drift),
    ...listDifferences('unknown', unknown),
  ];
  const verdict = [...summarise('contract', contract), ...summarise('drift', drift)].join(', ') || 'ok';
  if (contract.length > 0) return { outcome: 'contract', verdict, differences };
  return { outcome: drift.length > 0 ? 'drift' : 'ok', verdict, differences };
}

const refused = (why: string): Finding => ({
  outcome: 'refused',
  verdict: `refused by the bank: ${why}`,
  differences: [],
});

const whyRefused = (call: PreparedCall, response: HttpResponse): string =>
  bankText(response, secretsOf(call)) || 'it does not say why';

const summarise = (sort: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : [`${sort}: ${found.length} ${found.length === 1 ? 'place' : 'places'}`];

function listDifferences(sort: string, found: readonly string[]): string[] {
  const shown = found.slice(0, maxListLength).map((text) => `${sort.padEnd(9)} ${text}`);
  const rest = found.length - shown.length;
  return rest === 0 ? shown : [...shown, `${sort.padEnd(9)} … and ${rest} more`];
}

/** All of a caller's credentials, including short ones: replacing an innocent word does no harm here. */
const secretsOf = ({ credentials }: PreparedCall): string[] =>
  Object.values(credentials).filter((value): value is string => typeof value === 'string' && value !== '');

/** A line for a terminal: unknown field names are whatever the bank sends. */
function plain(line: string, secrets: readonly string[]): string {
  let text = line;
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    text = text.replaceAll(secret, '[redacted]');
  }
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 200);
}
