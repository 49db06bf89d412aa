import { z } from 'zod';

/** A running identity service and an identity that can sign in. */
export interface Target {
  issuer: string;
  audience: string;
  email: string;
  password: string;
}

const stepSchema = z.enum(['discovery', 'signIn', 'refresh', 'verification']);
export type Step = z.infer<typeof stepSchema>;

const outcomeSchema = z.object({
  /** The name of the client, with its version. */
  client: z.string(),
  step: stepSchema,
  /** The code that the client needs beyond its documented use. */
  line: z.string().optional(),
  /** The error of the last attempt that failed. */
  error: z.string().optional(),
});

/** The result of a client at a step. It works unless there is an error without a line. */
export type Outcome = z.infer<typeof outcomeSchema>;

/** The output of the programs that run clients. */
export const outcomesSchema = z.array(outcomeSchema);
