/**
 * The repository's sources of `bankql/client` are used here. A file next to them uses this member, which Node and Chromium have.
 */
interface ErrorConstructor {
  stackTraceLimit: number;
}
