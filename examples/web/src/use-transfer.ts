import type { PaymentOutcome } from 'bankql/client';
import { useCallback, useEffect, useState } from 'react';
import { type Draft, forgetDraft, keepDraft, keptDraft } from './draft.ts';
import { graphql } from './gql/gql.ts';
import type { TransferMutation } from './gql/graphql.ts';
import { useSession } from './session.ts';

/** The document contains one payment and nothing else, as `pay` requires. */
const TransferDocument = graphql(`
  mutation Transfer($input: MakeTransactionInput!) {
    makeTransaction(input: $input) {
      payment {
        id
        state
        status
        trackId
        transactionId
        value { amount currency }
        account { id balance { amount currency } }
      }
      userErrors { code message retryAfter }
    }
  }
`);

export type Outcome = PaymentOutcome<TransferMutation>;

type Stage =
  | { readonly at: 'form'; readonly draft: Draft | null; readonly problem?: string }
  | { readonly at: 'sending' | 'checking'; readonly draft: Draft }
  | { readonly at: 'outcome'; readonly draft: Draft; readonly outcome: Outcome };

/** The outcome of such a payment can be queried later. The page does this by itself. */
const isOpen = ({ state }: Outcome) => state === 'PENDING' || state === 'UNCONFIRMED';
const askAgainMs = 3000;

/**
 * A transfer, by the name of its draft, which is in the address. After a reload, the draft that was sent under this name is
 * found, and its outcome is queried before anything else.
 */
export function useTransfer(id: string) {
  const { payments } = useSession().bank;
  const [stage, setStage] = useState<Stage>(() => {
    const draft = keptDraft(id);
    return draft === null ? { at: 'form', draft } : { at: 'checking', draft };
  });

  const isChecking = stage.at === 'checking';
  const isWaiting = stage.at === 'outcome' && isOpen(stage.outcome);
  const { draft } = stage;

  const ask = useCallback(async () => {
    if (draft === null) return;
    const outcome = await payments.check(id);
    // Without a key, nothing was sent, whatever the form contains.
    setStage(outcome === null ? { at: 'form', draft } : { at: 'outcome', draft, outcome });
  }, [payments, id, draft]);

  useEffect(() => {
    if (isChecking) void ask();
  }, [isChecking, ask]);
  // Each answer is a stage of its own, so that the next question waits for it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question after each answer.
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(() => void ask(), askAgainMs);
    return () => clearTimeout(timer);
  }, [isWaiting, ask, stage]);

  async function send(draft: Draft): Promise<void> {
    const { bankId, accountId, to, amount, currency, description } = draft;
    setStage({ at: 'sending', draft });
    try {
      keepDraft(id, draft);
      const input = {
        bankId,
        accountId,
        to,
        value: { amount, currency },
        description: description || null,
      };
      // The second click of a double click gets the promise of the first one.
      const outcome = await payments.pay(id, TransferDocument, { input });
      setStage({ at: 'outcome', draft, outcome });
    } catch {
      // The key is stored before anything is sent.
      const problem =
        'Nothing was sent: this browser could not keep the payment’s key. Allow it to keep data, and pay again.';
      setStage({ at: 'form', draft, problem });
    }
  }

  return {
    stage,
    send,
    check: () => draft !== null && setStage({ at: 'checking', draft }),
    /** Returns to the form with its values. If the first attempt reached the bank after all, the key shows it. */
    change: () => setStage({ at: 'form', draft }),
    /** Called when the person has seen the outcome. */
    async finish(next: string): Promise<void> {
      await payments.forget(id);
      forgetDraft(id);
      location.replace(next);
    },
  };
}
