import { idOf } from './lock-file.ts';
import type { SupplyChain } from './violations.ts';

/** Every package that is not ours by its licence, as Markdown. The texts lie in the packages themselves. */
export function writeLicenceReport({ locked, installed }: SupplyChain): string {
  const present = locked.flatMap((one) => installed.get(idOf(one)) ?? []);
  const nameOf = (licence: string | undefined) => licence ?? 'none declared';
  const licences = [...new Set(present.map(({ licence }) => nameOf(licence)))].sort();
  const sections = licences
    .map((licence) => ({ licence, packages: present.filter((one) => nameOf(one.licence) === licence) }))
    .map(
      ({ licence, packages }) => `## ${licence}\n\n${packages.map((one) => `- ${idOf(one)}`).join('\n')}\n`,
    );
  return `# Licences of third parties\n\n${present.length} packages.\n\n${sections.join('\n')}`;
}
