import { type ReactNode, useEffect, useRef } from 'react';
import { format, formatIban } from './amount.ts';

interface PageProps {
  readonly title: string;
  readonly children: ReactNode;
}

let isFirst = true;

/** The heading of a view takes the focus, so that a screen reader announces the view; but not when the page is loaded. */
export function Page({ title, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} – Sandbox Bank`;
    if (!isFirst) heading.current?.focus();
    isFirst = false;
  }, [title]);
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </>
  );
}

interface Amount {
  readonly amount?: string | null;
  readonly currency?: string | null;
}

export function Money({ value }: { readonly value: Amount | null | undefined }) {
  const { amount, currency } = value ?? {};
  if (typeof amount !== 'string') return <span className="money">not known</span>;
  const isNegative = amount.startsWith('-');
  return <span className={isNegative ? 'money negative' : 'money'}>{format(amount, currency ?? '')}</span>;
}

export function Iban({ iban }: { readonly iban: string | null | undefined }) {
  return iban ? <span className="digits">{formatIban(iban)}</span> : null;
}

const dateFormat = new Intl.DateTimeFormat('en-IE', { dateStyle: 'medium', timeZone: 'UTC' });

/** A date of the bank. It may be any text. */
export function When({ date }: { readonly date: string | null | undefined }) {
  const time = Date.parse(date ?? '');
  if (date == null || Number.isNaN(time)) return <span>{date}</span>;
  return <time dateTime={date}>{dateFormat.format(time)}</time>;
}

interface StateProps {
  readonly loading: boolean;
  readonly error?: Error | undefined;
  readonly hasData: boolean;
  readonly onRetry: () => unknown;
}

/** The message while a query has no answer, or only a part of it. */
export function QueryState({ loading, error, hasData, onRetry }: StateProps) {
  if (error !== undefined && !loading) {
    return (
      <div role="alert" className="notice warning">
        <p>
          {hasData ? 'Some of this page could not be loaded.' : 'The bank cannot be reached.'} {error.message}
        </p>
        <button type="button" className="secondary" onClick={() => void onRetry()}>
          Try again
        </button>
      </div>
    );
  }
  if (loading && !hasData) return <p role="status">Loading…</p>;
  return null;
}
