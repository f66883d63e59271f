import type { GraphQLError } from 'graphql';
import { internalError, maskError, RequestError } from './errors.ts';

/** Converts any error into one that the client may see. A masked error stays as it is. Never throws. */
export interface MaskError {
  (error: unknown): GraphQLError;
  /** The error of a request that is refused, with the further reasons for it. */
  all(error: unknown): GraphQLError[];
  /** An error that is made for the client: it is not changed. */
  asItIs(error: GraphQLError): GraphQLError;
}

/** `unexpected` is called with bankql's own failures, to log them. */
export function createMaskError(unexpected: (error: unknown) => void): MaskError {
  // The masked errors: yoga may mask an error again after a plugin did.
  const masked = new WeakSet<object>();
  const mask = (error: unknown): GraphQLError => {
    try {
      if (masked.has(error as object)) return error as GraphQLError;
      const shown = maskError(error, unexpected);
      masked.add(shown);
      return shown;
    } catch {
      // Even inspecting the error throws.
      return internalError();
    }
  };
  return Object.assign(mask, {
    all: (error: unknown) => [mask(error), ...(error instanceof RequestError ? error.others : [])],
    asItIs(error: GraphQLError) {
      masked.add(error);
      return error;
    },
  });
}

/** The option of yoga that masks the errors of an execution, after all other plugins have seen them. */
export const maskedErrors = (mask: MaskError) => ({
  errorMessage: 'Something went wrong inside bankql.',
  isDev: false,
  maskError: mask,
});
