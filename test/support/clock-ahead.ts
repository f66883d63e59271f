/** Loaded before bankql (`NODE_OPTIONS=--import=…`): its clock is CLOCK_AHEAD_MS ahead of everybody's. */
const now = Date.now.bind(Date);
const aheadMs = Number(process.env.CLOCK_AHEAD_MS);
Date.now = () => now() + aheadMs;
