import { z } from 'zod';

const reason = z.string().min(10);

/** What dependencies may be; whatever departs from a rule is named here with a reason. */
export const policySchema = z.strictObject({
  /** SPDX identifiers; of an expression one alternative must consist of these. */
  licences: z.array(z.string()),
  /** By name: what the package declares (null: nothing), and why it is all right. */
  licenceExceptions: z.record(z.string(), z.strictObject({ declared: z.string().nullable(), reason })),
  /** By `name@version`: why it is still here. */
  deprecated: z.record(z.string(), reason),
  /** By name, `*` at its end for any: why its install scripts run. */
  installScripts: z.record(z.string(), reason),
});
export type Policy = z.infer<typeof policySchema>;
