import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ImageSize {
  service: 'identity' | 'issues';
  /** In MB: of the whole image where it was measured, else what docker/README.md says that it adds to its base. */
  megabytes: number;
  /** Whether an engine here has the image and was asked. */
  isMeasured: boolean;
}

/** The sizes of the images; of an engine at hand that has them, else as they were written down last. */
export function imageSizes(): ImageSize[] {
  return (['identity', 'issues'] as const).flatMap((service): ImageSize[] => {
    const measured = sizeInEngine(service);
    if (measured !== undefined) return [{ service, megabytes: measured, isMeasured: true }];
    const written = writtenSize(service);
    return written === undefined ? [] : [{ service, megabytes: written, isMeasured: false }];
  });
}

function sizeInEngine(service: string): number | undefined {
  const images = spawnSync('docker', ['image', 'ls', '--quiet', `tessera/${service}`], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  const [image] = images.status === 0 ? images.stdout.trim().split('\n') : [];
  if (image === undefined || image === '') return undefined;
  const { stdout } = spawnSync('docker', ['image', 'inspect', '--format', '{{.Size}}', image], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  return Number(stdout) > 0 ? Math.round(Number(stdout) / 1e6) : undefined;
}

function writtenSize(service: string): number | undefined {
  const readme = readFileSync(new URL('../../../../../docker/README.md', import.meta.url), 'utf8');
  const size = new RegExp(`(\\d+) MB \\(${service}\\)`).exec(readme)?.[1];
  return size === undefined ? undefined : Number(size);
}
