import { type PreparedCall, wireRequestOf } from '../bank/call.ts';
import { bankText } from '../bank/failure.ts';
import type { Transport } from '../bank/transport.ts';
import { TransportFailure, type WireReply } from '../bank/wire.ts';
import { conformityOf } from './conformity.ts';

/** What the doctor found out about one call. */
export interface Diagnosis {
  readonly outcome: 'ok' | 'refused' | 'no answer' | 'contract' | 'drift';
  /** The bank's status; null where no answer came. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** In a few words. */
  readonly verdict: string;
  /** One line for each difference from the contract. */
  readonly differences: readonly string[];
}

/** The most differences of one sort that are shown: unknown fields have no end. */
const longestList = 20;

/** Makes one call, once, and judges what comes of it. Nothing that it says holds a credential. */
export async function examine(
  transport: Transport,
  call: PreparedCall,
  timeoutMs: number,
): Promise<Diagnosis> {
  const started = performance.now();
  const reply = await transport.send(wireRequestOf(call), {
    caller: '',
    operation: call.operation.id,
    identity: '',
    timeoutMs,
  });
  const milliseconds = Math.round(performance.now() - started);
  const judgement = reply instanceof TransportFailure ? silence(reply) : judge(call, reply);
  const secrets = secretsOf(call);
  return {
    status: reply instanceof TransportFailure ? null : reply.status,
    milliseconds,
    ...judgement,
    differences: judgement.differences.map((line) => plain(line, secrets)),
  };
}

type Judgement = Pick<Diagnosis, 'outcome' | 'verdict' | 'differences'>;

function silence({ message, cause }: TransportFailure): Judgement {
  // Where several addresses were tried, undici's error has a code and no message.
  const said = cause instanceof Error ? cause.message || ('code' in cause ? cause.code : '') : '';
  const why = said ? ` (${said})` : '';
  return { outcome: 'no answer', verdict: `no answer: ${message}${why}`, differences: [] };
}

function judge(call: PreparedCall, reply: WireReply): Judgement {
  if (reply.status < 200 || reply.status > 299) {
    const said = bankText(reply, secretsOf(call)) || 'it does not say why';
    const why = reply.status < 400 ? 'a redirect, which is not followed' : said;
    return { outcome: 'refused', verdict: `refused by the bank: ${why}`, differences: [] };
  }
  const { contract, drift, unknown } = conformityOf(call, reply);
  const differences = [
    ...listed('contract', contract),
    ...listed('drift', drift),
    ...listed('unknown', unknown),
  ];
  const verdict = [...said('contract', contract), ...said('drift', drift)].join(', ') || 'ok';
  if (contract.length > 0) return { outcome: 'contract', verdict, differences };
  return { outcome: drift.length > 0 ? 'drift' : 'ok', verdict, differences };
}

const said = (sort: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : [`${sort}: ${found.length} ${found.length === 1 ? 'place' : 'places'}`];

function listed(sort: string, found: readonly string[]): string[] {
  const shown = found.slice(0, longestList).map((text) => `${sort.padEnd(9)} ${text}`);
  const rest = found.length - shown.length;
  return rest === 0 ? shown : [...shown, `${sort.padEnd(9)} … and ${rest} more`];
}

/** All of a caller's credentials, the short ones too: here a blotted word does no harm. */
const secretsOf = ({ credentials }: PreparedCall): string[] =>
  Object.values(credentials).filter((value): value is string => typeof value === 'string' && value !== '');

/** A line for a terminal: the names of unknown fields are the bank's to choose. */
function plain(line: string, secrets: readonly string[]): string {
  let text = line;
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    text = text.replaceAll(secret, '[redacted]');
  }
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, 200);
}
