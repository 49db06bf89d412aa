// Writes k8s/helm from the manifests in k8s/.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rootDir } from '../repository.ts';
import { makeChart } from './chart.ts';

const folder = join(rootDir, 'k8s/helm');
rmSync(join(folder, 'templates'), { recursive: true, force: true });
for (const [path, text] of makeChart()) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
