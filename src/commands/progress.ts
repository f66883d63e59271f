import yoctoSpinner from 'yocto-spinner';

/** Tells whoever waits what is being done; null when it is done. What is written meanwhile appears as it is. */
export type ShowProgress = (activity: string | null) => void;

/**
 * A spinner with the activity on a terminal. Elsewhere, where each line stays, a line with it, at most one in `lineMs`;
 * none where that is left out.
 */
export function createProgress(stream: NodeJS.WriteStream, lineMs = Number.POSITIVE_INFINITY): ShowProgress {
  return stream.isTTY ? showSpinner(stream) : showLines(stream, lineMs);
}

function showSpinner(stream: NodeJS.WriteStream): ShowProgress {
  // bankql has signal handlers of its own.
  const spinner = yoctoSpinner({ stream, handleSignals: false });
  return (activity) => {
    if (activity === null) spinner.stop();
    else if (spinner.isSpinning) spinner.text = activity;
    else spinner.start(activity);
  };
}

function showLines(stream: NodeJS.WriteStream, lineMs: number): ShowProgress {
  let last = performance.now();
  return (activity) => {
    if (activity === null || performance.now() - last < lineMs) return;
    last = performance.now();
    stream.write(`${activity}\n`);
  };
}
