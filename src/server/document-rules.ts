import type { Plugin } from 'graphql-yoga';
import { type DocumentLimits, useDocumentLimits } from './use-document-limits.ts';
import { useIntrospectionGuard } from './use-introspection-guard.ts';
import { useOnePayment } from './use-one-payment.ts';

export interface DocumentRules {
  readonly documentLimits: DocumentLimits;
  /** Whether the schema may be asked for. */
  readonly introspection: boolean;
}

/** What every document is held against beside the schema: that of a request, and that of a manifest at the start. */
export const documentRules = ({ documentLimits, introspection }: DocumentRules): Plugin[] => [
  useDocumentLimits(documentLimits, { hideSuggestions: !introspection }),
  useOnePayment(),
  ...(introspection ? [] : [useIntrospectionGuard()]),
];
