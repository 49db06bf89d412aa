import type { Integration, IntegrationCheck } from '@tessera/contracts';

export const integrationsPath = '/api/v1/integrations/';

/** Returns a check of an integration by its name. */
export function checkOf({ checks }: Integration, wanted: IntegrationCheck['name']): IntegrationCheck {
  const check = checks.find(({ name }) => name === wanted);
  if (check === undefined) throw new Error(`${wanted} was not checked`);
  return check;
}
