import type { ReactNode } from 'react';

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly problem?: string | undefined;
  readonly children: ReactNode;
}

/** A label, its field, and its error message, which a screen reader reads with the field. */
export function Field({ id, label, problem, children }: FieldProps) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      <small id={`${id}-problem`} className="problem">
        {problem}
      </small>
    </div>
  );
}
