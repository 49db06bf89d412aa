import { z } from 'zod';

const reason = z.string().min(10);

/** The rules for dependencies, and the exceptions with their reasons. */
export const policySchema = z.strictObject({
  /** Allowed licences as SPDX identifiers; one alternative of an expression must consist of these. */
  licences: z.array(z.string()),
  /** Licence exceptions by package name: the declared licence (null: none) and the reason. */
  licenceExceptions: z.record(z.string(), z.strictObject({ declared: z.string().nullable(), reason })),
  /** Allowed deprecated packages by `name@version`: the reason. */
  deprecated: z.record(z.string(), reason),
  /** Allowed install scripts by package name, which may end with `*`: the reason. */
  installScripts: z.record(z.string(), reason),
});
export type Policy = z.infer<typeof policySchema>;
