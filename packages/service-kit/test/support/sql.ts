import type { SqlStatement } from '../../src/index.ts';

/** Joins a template as `Prisma.sql` does, without nested statements. */
export function sql(strings: readonly string[], ...values: readonly unknown[]): SqlStatement {
  return { text: strings.reduce((text, part, index) => `${text}$${index}${part}`), values };
}
