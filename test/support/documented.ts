/** An error's `extensions` as clients see them: these, and the link to the documentation of their code. */
export const documented = <Extensions extends { readonly code: string }>(extensions: Extensions) => ({
  ...extensions,
  docs: `docs/errors.md#${extensions.code.toLowerCase()}`,
});
