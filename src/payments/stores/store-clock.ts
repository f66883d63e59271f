/**
 * Whose clock counts. `server`: the store server's own, the same for all processes that share the store; what a process
 * says of a time is moved by the difference between its clock and the server's. `caller`: `now` of each call, for tests.
 */
export type StoreClock = 'server' | 'caller';
