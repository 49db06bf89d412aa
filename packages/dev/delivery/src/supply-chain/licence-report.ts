import { idOf } from './lock-file.ts';
import type { SupplyChain } from './violations.ts';

/** All third-party packages grouped by licence, as Markdown. The licence texts are in the packages. */
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
