import { algorithmAttacks } from './algorithm-attacks.ts';
import { type Attack, type AttackContext, createForge } from './attack.ts';
import { claimAttacks } from './claim-attacks.ts';
import { formAttacks } from './form-attacks.ts';
import { jsonAttacks } from './json-attacks.ts';
import { keyAttacks } from './key-attacks.ts';

export type { Attack, AttackContext } from './attack.ts';

/**
 * Returns tokens that no verifier may accept. Each differs in one point from a token that the verifier must accept. For
 * tests of any verifier of Tessera's tokens; needs no test framework.
 */
export function attacks(context: AttackContext): Attack[] {
  return [
    ...algorithmAttacks(context),
    ...keyAttacks(context),
    ...claimAttacks(context),
    ...formAttacks(context),
    ...jsonAttacks(context),
  ];
}

/** The token that the attacks change. */
export function validToken(context: AttackContext): string {
  return createForge(context).signed({});
}
