import type { Scope } from '../loaders/loaders.ts';
import { builder } from './builder.ts';

export const AccountScope = builder.enumType('AccountScope', {
  description: "The path's {scope} of getAccountsScope.",
  values: {
    PERMISSIONS: { value: 'permissions', description: 'REST `permissions`.' },
    VIEWS: { value: 'views', description: 'REST `views`.' },
  } as const satisfies Record<string, { value: Scope; description: string }>,
});
