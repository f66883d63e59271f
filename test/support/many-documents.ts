/** A document that nobody sent before; every other one cannot be run, for one of four reasons. */
export function documentOf(number: number): { readonly text: string; readonly isValid: boolean } {
  const isValid = number % 2 === 0;
  const own = `a${number}`;
  const wrong = [
    `${own} {`,
    `{ ${own} }`,
    `{ bank { ${own} } }`,
    `query ($a: ${own}) { bank { bankId @skip(if: $a) } }`,
  ];
  return {
    isValid,
    text: isValid
      ? `query Q${number}($yes: Boolean = true) { bank { bankId ${own}: bankId @include(if: $yes) } b: __typename }`
      : `${wrong[(number >> 1) % wrong.length]} # of no use to anybody, and kept all the same`,
  };
}
