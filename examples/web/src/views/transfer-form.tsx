import { type FormEvent, useState } from 'react';
import { format, parse } from '../amount.ts';
import type { Draft, Payee } from '../draft.ts';
import type { PayeesQuery } from '../gql/graphql.ts';
import { Field } from './field.tsx';

interface TransferFormProps {
  readonly viewer: NonNullable<PayeesQuery['viewer']>;
  /** The earlier values of the form. */
  readonly draft: Draft | null;
  /** The values that the address suggests: `from`, `to`. */
  readonly wanted: URLSearchParams;
  readonly isSending: boolean;
  readonly onSend: (draft: Draft) => void;
}

/** The choice of a payee who is not in the list. */
const other = 'other';

/** A payee to choose from. */
interface Choice {
  readonly key: string;
  readonly name: string;
  readonly to: Payee;
}

/** Only the two ids, because an input takes no other members, such as Apollo's `__typename`. */
const idsOf = ({ accountId, bankId }: Payee): Payee => ({ accountId, bankId });

const isSame = (one: Payee, other: Payee) => one.accountId === other.accountId && one.bankId === other.bankId;

const present = <T,>(value: T | null | undefined): value is T => value != null;

export function TransferForm({ viewer, draft, wanted, isSending, onSend }: TransferFormProps) {
  // An account without an id of the bank can neither pay nor be paid.
  const accounts = (viewer.accounts?.nodes ?? [])
    .filter(present)
    .flatMap(({ accountId, ...account }) => (accountId ? [{ ...account, accountId }] : []));
  // `payee` of bankql says who can be paid: a guess at the id could pay somebody else.
  const counterparties = (viewer.account?.otherAccounts?.nodes ?? [])
    .filter(present)
    .flatMap(({ id, payee, holder, iban }): Choice[] =>
      payee ? [{ key: id, name: holder?.name ?? iban ?? payee.accountId, to: idsOf(payee) }] : [],
    );
  const payees = counterparties.filter(({ to }) => !accounts.some((account) => isSame(account, to)));
  const wantedFrom = draft?.accountId ?? wanted.get('from') ?? viewer.account?.accountId ?? '';
  const [from, setFrom] = useState(wantedFrom);
  const account = accounts.find(({ accountId }) => accountId === from) ?? accounts[0];
  const currency = account?.balance?.currency ?? 'EUR';
  const own = accounts
    .filter(({ accountId }) => accountId !== account?.accountId)
    .map((each): Choice => ({ key: each.accountId, name: each.label ?? each.accountId, to: idsOf(each) }));

  const choices = [...own, ...payees];
  // A counterparty may be one of the person's own accounts.
  const wantedTo = draft?.to ?? counterparties.find(({ key }) => key === wanted.get('to'))?.to;
  const found = wantedTo && choices.find((choice) => isSame(choice.to, wantedTo));
  const [to, setTo] = useState(found?.key ?? (draft === null ? '' : other));
  const [typed, setTyped] = useState(draft === null || found ? '' : draft.to.accountId);
  const [amount, setAmount] = useState(draft?.amount ?? '');
  const [description, setDescription] = useState(draft?.description ?? '');
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const exact = parse(amount);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const iban = typed.replaceAll(' ', '').toUpperCase();
    const chosen =
      to === other ? { name: iban, to: { accountId: iban } } : choices.find(({ key }) => key === to);
    const wrong = {
      ...(chosen === undefined ? { to: 'Choose whom to pay.' } : {}),
      ...(to === other && !/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(iban)
        ? { iban: 'Write the IBAN as it stands on the invoice, such as DE89 3704 0044 0532 0130 00.' }
        : {}),
      ...(exact === null ? { amount: 'Write an amount above zero, such as 1234.56.' } : {}),
    };
    setProblems(wrong);
    const [first] = Object.keys(wrong);
    if (first !== undefined) return document.getElementById(first)?.focus();
    if (account === undefined || chosen === undefined || exact === null) return;
    onSend({
      bankId: account.bankId,
      accountId: account.accountId,
      to: chosen.to,
      payee: chosen.name,
      amount: exact,
      currency,
      description: description.trim(),
    });
  }

  return (
    <form className="card form" onSubmit={submit} noValidate aria-busy={isSending}>
      <fieldset disabled={isSending}>
        <legend className="hidden">The payment</legend>
        <Field id="from" label="From">
          <select id="from" value={account?.accountId} onChange={(event) => setFrom(event.target.value)}>
            {accounts.map(({ id, accountId, label, balance }) => (
              <option key={id} value={accountId}>
                {label}
                {balance?.amount ? ` · ${format(balance.amount, balance.currency ?? '')}` : ''}
              </option>
            ))}
          </select>
        </Field>
        <Field id="to" label="To" problem={problems.to}>
          <select
            id="to"
            value={to}
            onChange={(event) => setTo(event.target.value)}
            aria-invalid={problems.to !== undefined}
            aria-describedby="to-problem"
          >
            <option value="" disabled>
              Choose…
            </option>
            <option value={other}>Another account, by its IBAN</option>
            <optgroup label="My accounts">
              {own.map(({ key, name }) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </optgroup>
            <optgroup label="Payees">
              {payees.map(({ key, name }) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </optgroup>
          </select>
        </Field>
        {to === other && (
          <Field id="iban" label="IBAN" problem={problems.iban}>
            <input
              id="iban"
              className="digits"
              value={typed}
              autoComplete="off"
              onChange={(event) => setTyped(event.target.value)}
              aria-invalid={problems.iban !== undefined}
              aria-describedby="iban-problem"
            />
          </Field>
        )}
        <Field id="amount" label={`Amount in ${currency}`} problem={problems.amount}>
          <input
            id="amount"
            className="digits"
            inputMode="decimal"
            placeholder="0.00"
            autoComplete="off"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
            aria-invalid={problems.amount !== undefined}
            aria-describedby="amount-problem"
          />
        </Field>
        <Field id="description" label="What it is for (may stay empty)">
          <input
            id="description"
            maxLength={140}
            autoComplete="off"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
        </Field>
        <button type="submit" className="button wide">
          {isSending ? 'Paying…' : exact === null ? 'Pay' : `Pay ${format(exact, currency)}`}
        </button>
      </fieldset>
      <p role="status" className="hint">
        {isSending ? 'Sent. Waiting for the bank: do not pay again.' : 'The money leaves at once.'}
      </p>
    </form>
  );
}
