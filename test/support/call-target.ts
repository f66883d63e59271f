import type { Dispatcher } from 'undici';
import { plainReaderOf } from '../../src/bank/answer.ts';
import { Gate } from '../../src/bank/gate.ts';
import { knownGatewayAnswers } from '../../src/bank/gateway-answers.ts';
import { RefusedReads } from '../../src/bank/refused-reads.ts';
import type { CallReport } from '../../src/bank/report.ts';
import { RetryBudget } from '../../src/bank/retry.ts';
import type { SharedReads } from '../../src/bank/shared-reads.ts';
import type { Target } from '../../src/bank/target.ts';
import type { Operation } from '../../src/contract/operation.ts';

/** The `Target` of a bank operation, with a dispatcher of the test and without a breaker. */
export function targetOver<T extends Operation>(
  operation: T,
  reads: SharedReads,
  dispatch: (handler: Dispatcher.DispatchHandler) => void,
  onCall?: (report: CallReport) => void,
): Target<T> & { readonly lane: { readonly gate: Gate } } {
  const dispatcher = { dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => dispatch(handler) };
  return {
    operation,
    lane: {
      gate: new Gate({ max: 4, maxWaiting: 4 }),
      // A call uses only the method `dispatch`.
      dispatcherAt: () => dispatcher as unknown as Dispatcher,
      noConnection: 'no connection',
    },
    breaker: null,
    readPlain: plainReaderOf(operation),
    services: {
      origin: 'http://bank.invalid',
      prefix: '',
      maxBodyBytes: 1000,
      gateways: knownGatewayAnswers,
      refusedReads: new RefusedReads(),
      retries: new RetryBudget(1),
      reads,
      onCall,
    },
  };
}

/** The controller that undici passes to each callback of a handler. */
export const controllerOf = (): Dispatcher.DispatchController =>
  ({ abort() {} }) as unknown as Dispatcher.DispatchController;
