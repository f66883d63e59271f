import { defaultFieldResolver, type GraphQLField, type GraphQLSchema, responsePathAsArray } from 'graphql';
import type { Operation } from '../contract/operation.ts';
import { BankqlError } from '../errors.ts';
import type { PaymentService } from '../payments/service.ts';
import type { CallObserver, CallOutcome } from '../schema/bank-session.ts';

/** A call of an operation, as `x-bankql-explain: calls` shows it. */
export interface RecordedCall {
  /** The field that asked for it first, by the names and positions of the answer. */
  readonly path: string;
  /** The REST operation's id in the contract. */
  readonly operation: string;
  readonly method: Operation['method'];
  /** The path of the specification, with its parameters: ids are private. */
  readonly url: string;
  /**
   * `bank`: a REST call of its own; `joined`: another request's call that was under way; `cached`, `stale`: an answer of
   * before; `loader`: what this operation had asked for already; `record`: a payment's, told from its record; `unknown`: a
   * payment that failed, whose error tells whether it was sent.
   */
  readonly source: CallOutcome['source'] | 'loader' | 'record' | 'unknown';
  readonly status: number | null;
  /** When it was asked for, since the operation began, and how long it took, its wait for a connection included. */
  readonly offsetMs: number;
  readonly milliseconds: number | null;
  readonly bytes: number | null;
  readonly trackId: string | null;
  /** The code that it failed with; null where it did not. */
  readonly code: string | null;
}

type Outcome = Omit<RecordedCall, 'path' | 'operation' | 'method' | 'url' | 'offsetMs' | 'milliseconds'>;

const nothingKnown = { status: null, bytes: null, trackId: null, code: null } as const;

/** More are counted, and not shown. */
const maxShown = 1000;

/** Notes the calls of one operation. */
export class CallRecorder implements CallObserver {
  readonly #start = performance.now();
  readonly #calls: { readonly call: RecordedCall; readonly key: string | null }[] = [];
  /** The field that asked first for what has a key. */
  readonly #askers = new Map<string, string>();
  #path = '';
  #restCalls = 0;

  /** A resolver begins: what it asks for before it waits is asked for by this field. */
  enter(path: string): void {
    this.#path = path;
  }

  asked(operation: Operation, key: string): void {
    const asker = this.#askers.get(key);
    // A link asks early for what fields below it need: it is the field's.
    if (asker === undefined || this.#path.startsWith(`${asker}.`)) this.#askers.set(key, this.#path);
    else
      this.#note(operation, null, performance.now(), {
        source: 'loader',
        ...nothingKnown,
      });
  }

  began(operation: Operation, key: string | null): (outcome: Outcome) => void {
    const path = this.#path;
    const start = performance.now();
    return (outcome) => this.#note(operation, key, start, outcome, path);
  }

  /** The payments, each of which is noted. */
  payments(payments: PaymentService): PaymentService {
    return {
      ...payments,
      pay: async (operation, intent) => {
        const ended = this.began(operation, null);
        try {
          const paid = await payments.pay(operation, intent);
          ended({ ...nothingKnown, source: paid.replayed ? 'record' : 'bank', trackId: paid.trackId });
          return paid;
        } catch (error) {
          const { code, trackId } = error instanceof BankqlError ? error.extensions : { code: 'INTERNAL' };
          ended({ ...nothingKnown, source: 'unknown', trackId: trackId ?? null, code });
          throw error;
        }
      },
    };
  }

  /** For `extensions.explain`: the calls in the order in which they began. */
  get explanation(): { readonly restCalls: number; readonly calls: readonly RecordedCall[] } {
    const calls = this.#calls.map(({ call, key }) => ({
      ...call,
      path: (key === null ? undefined : this.#askers.get(key)) ?? call.path,
    }));
    return { restCalls: this.#restCalls, calls: calls.sort((a, b) => a.offsetMs - b.offsetMs) };
  }

  #note(
    { id, method, path: url }: Operation,
    key: string | null,
    start: number,
    outcome: Outcome,
    path = this.#path,
  ): void {
    if (outcome.source === 'bank') this.#restCalls++;
    if (this.#calls.length >= maxShown) return;
    const took = outcome.source === 'loader' ? null : tenths(performance.now() - start);
    const offsetMs = tenths(start - this.#start);
    const call = { path, operation: id, method, url, ...outcome, offsetMs, milliseconds: took };
    this.#calls.push({ call, key });
  }
}

const tenths = (milliseconds: number) => Math.round(milliseconds * 10) / 10;

type Field = GraphQLField<unknown, unknown>;

/** The schema, whose resolvers say where they are to the recorder of their context. */
export function recordedSchema(schema: GraphQLSchema): GraphQLSchema {
  const recorded = new Map<Field, Field>();
  const getField: GraphQLSchema['getField'] = (type, name) => {
    const field = schema.getField(type, name);
    if (field === undefined) return undefined;
    const known = recorded.get(field) ?? recordedField(field);
    recorded.set(field, known);
    return known;
  };
  return Object.create(schema, { getField: { value: getField } });
}

function recordedField(field: Field): Field {
  const { resolve = defaultFieldResolver } = field;
  if (resolve === defaultFieldResolver) return field;
  const recordedResolve: typeof resolve = (source, given, context, info) => {
    recorderOf(context)?.enter(responsePathAsArray(info.path).join('.'));
    return resolve(source, given, context, info);
  };
  return Object.create(field, { resolve: { value: recordedResolve } });
}

const recorderOf = (context: unknown): CallRecorder | null =>
  typeof context === 'object' &&
  context !== null &&
  'recorder' in context &&
  context.recorder instanceof CallRecorder
    ? context.recorder
    : null;
