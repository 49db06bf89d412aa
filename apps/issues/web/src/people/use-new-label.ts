import { useQueryClient } from '@tanstack/react-query';
import type { Label } from '@tessera/contracts';
import { call } from '../http/api.ts';
import { labelsQuery } from '../http/queries.ts';
import { newLabelColor } from '../shell/label-colors.ts';
import { notify } from '../shell/toasts.tsx';
import { hasStaffRights, useUser } from '../shell/user.ts';

/** Returns a function that makes a label for a picker, and then chooses it. Undefined for people who may not. */
export function useNewLabel(choose: (label: Label) => void): ((name: string) => void) | undefined {
  const client = useQueryClient();
  if (!hasStaffRights(useUser())) return undefined;
  return async (name) => {
    try {
      const label = await call('createLabel', { body: { name, color: newLabelColor() } });
      client.setQueryData(labelsQuery.queryKey, (known = []) => [...known, label]);
      choose(label);
      await client.invalidateQueries({ queryKey: labelsQuery.queryKey });
    } catch (error) {
      notify(`Label ${name} was not created: ${error instanceof Error ? error.message : ''}`);
    }
  };
}
