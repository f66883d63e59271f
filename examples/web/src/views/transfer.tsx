import { useQuery } from '@apollo/client/react';
import { useEffect } from 'react';
import { Page, QueryState } from '../parts.tsx';
import { newTransfer } from '../route.ts';
import { useTransfer } from '../use-transfer.ts';
import { PayeesDocument } from './payees.tsx';
import { TransferForm } from './transfer-form.tsx';
import { TransferOutcome } from './transfer-outcome.tsx';

/** One transfer: first its form, then its outcome, also after a reload. */
export function TransferView({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  useEffect(() => {
    if (id === '') location.replace(newTransfer());
  }, [id]);
  return id === '' ? null : <Transfer id={id} query={query} />;
}

function Transfer({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const { stage, send, check, change, finish } = useTransfer(id);
  const { data, loading, error, refetch } = useQuery(PayeesDocument);
  if (stage.at === 'outcome') {
    return (
      <TransferOutcome
        draft={stage.draft}
        outcome={stage.outcome}
        onSend={() => send(stage.draft)}
        onCheck={check}
        onChange={change}
        onFinish={finish}
      />
    );
  }
  const isChecking = stage.at === 'checking';
  return (
    <Page title="Pay">
      {stage.at === 'form' && stage.problem && (
        <p role="alert" className="notice warning">
          {stage.problem}
        </p>
      )}
      {isChecking ? (
        <p role="status" className="notice">
          Asking what became of this payment. Nothing is being sent.
        </p>
      ) : (
        <>
          <QueryState loading={loading} error={error} hasData={data !== undefined} onRetry={refetch} />
          {data?.viewer && (
            <TransferForm
              viewer={data.viewer}
              draft={stage.draft}
              wanted={query}
              isSending={stage.at === 'sending'}
              onSend={send}
            />
          )}
        </>
      )}
    </Page>
  );
}
