import type { Outcome } from '../use-transfer.ts';

type Action = 'done' | 'another' | 'check' | 'send' | 'change' | 'leave';

interface Description {
  readonly tone: 'good' | 'bad' | 'open';
  readonly title: string;
  readonly text: string;
  /** The possible actions. The first one is suggested. */
  readonly actions: readonly Action[];
}

/** Describes only what is known: an open payment is neither paid nor not paid. */
export function describeOutcome({ state, payment }: Outcome): Description {
  switch (state) {
    case 'DONE': {
      const status = payment?.status;
      if (status == null || status === 'COMPLETED')
        return {
          tone: 'good',
          title: 'Paid',
          text: 'The bank has accepted the payment.',
          actions: ['done', 'another'],
        };
      return {
        tone: 'good',
        title: 'Accepted',
        text: `The bank has accepted the payment. It says of it: ${status.toLowerCase()}.`,
        actions: ['done', 'another'],
      };
    }
    case 'REJECTED':
      return {
        tone: 'bad',
        title: 'Not paid',
        text: 'The bank has refused the payment. No money was moved.',
        actions: ['change', 'done'],
      };
    case 'NOT_SENT':
      return {
        tone: 'bad',
        title: 'Not sent',
        text: 'This payment has not been begun. To send it again is safe: it is made once.',
        actions: ['send', 'change'],
      };
    case 'PENDING':
      return {
        tone: 'open',
        title: 'Under way',
        text: 'The bank has not confirmed it yet. Do not pay again: this page asks every few seconds.',
        actions: ['check', 'leave'],
      };
    case 'UNKNOWN':
      return {
        tone: 'open',
        title: 'Not confirmed',
        text: 'The bank has not confirmed it. It may have been paid. Do not pay again before the bank, asked with the reference, has said that it was not.',
        actions: ['check', 'leave'],
      };
    case 'UNCONFIRMED':
      return {
        tone: 'open',
        title: 'No answer yet',
        text: 'No answer came. It may have been paid: do not pay in another way. This page asks every few seconds what became of it. To send it again from here is safe: it is made once.',
        actions: ['check', 'send', 'leave'],
      };
    case 'CONFLICT':
      return {
        tone: 'open',
        title: 'Another payment was sent',
        text: 'From this form another payment had been sent before, which is shown here. The one that you entered now was not sent.',
        // The key of the other payment is kept until its outcome is known.
        actions: payment?.state === 'DONE' ? ['leave', 'another'] : ['check', 'leave'],
      };
  }
}
