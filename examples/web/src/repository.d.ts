/** `bankql/client` is read as source here, whose neighbour names this member of Node's and Chromium's. */
interface ErrorConstructor {
  stackTraceLimit: number;
}
