import { format } from '../amount.ts';
import type { Draft } from '../draft.ts';
import { Money, Page } from '../parts.tsx';
import { newTransfer } from '../route.ts';
import type { Outcome } from '../use-transfer.ts';
import { describeOutcome } from './outcome-text.ts';

interface TransferOutcomeProps {
  readonly draft: Draft;
  readonly outcome: Outcome;
  readonly onSend: () => void;
  readonly onCheck: () => void;
  readonly onChange: () => void;
  readonly onFinish: (next: string) => void;
}

/** Shows the known state of a payment and the possible actions. It never offers a second payment while the first is open. */
export function TransferOutcome(props: TransferOutcomeProps) {
  const { draft, outcome, onSend, onCheck, onChange, onFinish } = props;
  const { tone, title, text, actions } = describeOutcome(outcome);
  const { data, payment, errors } = outcome;
  const balance = data?.makeTransaction?.payment?.account?.balance;
  const reference = payment?.transactionId;
  const trackId = payment?.trackId ?? errors.find((error) => error.trackId)?.trackId;
  // The record has the values that were paid; the form may have changed since.
  const value = payment?.value ?? (outcome.state === 'CONFLICT' ? null : draft);
  const buttons = {
    done: { text: 'Done', act: () => onFinish('#/') },
    another: { text: 'Start another payment', act: () => onFinish(newTransfer()) },
    check: { text: 'Ask again', act: onCheck },
    send: { text: 'Send it again', act: onSend },
    change: { text: 'Change it', act: onChange },
    leave: { text: 'Back to the overview', act: () => void location.assign('#/') },
  };
  return (
    <Page title={title}>
      <div className={`card receipt ${tone}`}>
        <p role="status" className="lead">
          {text}
        </p>
        {tone === 'bad' && errors[0] && <p className="reason">{errors[0].message}</p>}
        <dl className="facts">
          <dt>Amount</dt>
          <dd>
            <Money value={value} />
          </dd>
          {outcome.state !== 'CONFLICT' && (
            <>
              <dt>To</dt>
              <dd>{draft.payee}</dd>
            </>
          )}
          {reference && (
            <>
              <dt>Transaction</dt>
              <dd className="digits">{reference}</dd>
            </>
          )}
          {trackId && (
            <>
              <dt>Reference</dt>
              <dd className="digits">{trackId}</dd>
            </>
          )}
          {balance?.amount && (
            <>
              <dt>Balance now</dt>
              <dd>{format(balance.amount, balance.currency ?? '')}</dd>
            </>
          )}
        </dl>
        <div className="actions">
          {actions.map((name, index) => (
            <button
              key={name}
              type="button"
              className={index === 0 ? 'button' : 'button secondary'}
              onClick={buttons[name].act}
            >
              {buttons[name].text}
            </button>
          ))}
        </div>
      </div>
    </Page>
  );
}
