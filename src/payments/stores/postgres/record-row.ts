import { z } from 'zod';
import type { PaymentEvent, PaymentRecord } from '../../store.ts';
import { storedRecord } from '../stored-record.ts';
import { columns } from './schema.ts';
import { givenFields } from './statements.ts';

const numbers: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'leaseUntil']);
const row = z.record(z.string(), z.unknown());

/** The record in a row. Errors: an Error where it is no record. */
export function parseRow(found: unknown): PaymentRecord {
  const values = row.parse(found);
  const fields = Object.entries(columns).map(([field, name]) => [
    field,
    // Eight bytes wide, which come as text: all of these are exact in a number.
    numbers.has(field) ? Number(values[name]) : values[name],
  ]);
  const { data } = storedRecord.safeParse(Object.fromEntries(fields));
  if (data === undefined) throw new Error('it holds a record of another shape');
  return data;
}

/** What a beginning gives of its record, in the order in which the statement takes it. */
export const givenValues = (record: PaymentRecord): unknown[] => givenFields.map((field) => record[field]);

/** A line of a record's history; the statement that appends it puts the time in. */
export const timelessLine = ({ at: _, ...event }: PaymentEvent): string => JSON.stringify(event);
