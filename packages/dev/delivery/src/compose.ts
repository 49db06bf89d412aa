import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { parse } from 'yaml';
import { z } from 'zod';

const serviceSchema = z.looseObject({
  image: z.string(),
  user: z.string().optional(),
  read_only: z.boolean().default(false),
  privileged: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  logging: z.looseObject({ options: z.record(z.string(), z.string()).default({}) }).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
});
const projectSchema = z.looseObject({ services: z.record(z.string(), serviceSchema) });

/** The problems of a compose file, by the compose schema and this project's rules (docker/README.md), one line each. */
export function findComposeProblems(text: string): string[] {
  const shape = lint(text);
  if (shape.length > 0) return shape;
  const { services } = projectSchema.parse(parse(text, { merge: true }));
  return Object.entries(services).flatMap(([name, service]) =>
    serviceProblems(name, service).map((problem) => `${name}: ${problem}`),
  );
}

function serviceProblems(name: string, service: z.infer<typeof serviceSchema>): string[] {
  const problems: string[] = [];
  const { image, user, ports, environment, volumes } = service;
  if (!service.cap_drop.includes('ALL')) problems.push('does not drop all capabilities');
  if (!service.security_opt.includes('no-new-privileges:true')) problems.push('allows privilege escalation');
  if (service.privileged) problems.push('is privileged');
  if (service.logging?.options['max-size'] === undefined) problems.push('has no limit on its log');
  if (/:latest\}?$|^[^:]+$/.test(image)) problems.push(`has no fixed image: ${image}`);
  if (ports.some((port) => !port.startsWith('127.0.0.1:')))
    problems.push('publishes a port to other machines');
  if (Object.keys(environment).some((key) => /(PASSWORD|TOKEN|DATABASE_URL|PRIVATE_KEY)$/.test(key)))
    problems.push('contains a secret in its environment');
  if (name === 'postgres') return problems;
  if (!service.read_only) problems.push('has a writable root file system');
  // The service that creates the secrets runs as root to change their owners.
  if (name !== 'secrets' && user !== '1000:1000') problems.push(`runs as ${user}`);
  const isMigrator = name.endsWith('-migrate');
  if (name !== 'secrets' && volumes.some((volume) => volume.includes('-owner-')) !== isMigrator)
    problems.push("the owner's password must be mounted only by the migrator");
  return problems;
}

const lintResultSchema = z.array(
  z.looseObject({
    messages: z.array(z.looseObject({ line: z.number(), message: z.string(), rule: z.string() })),
  }),
);

function lint(text: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-compose-'));
  try {
    const file = join(folder, 'compose.yaml');
    writeFileSync(file, text);
    const linter = new DCLinter({
      rules: {
        // Rules about the order of keys are a matter of style.
        'services-alphabetical-order': 0,
        'service-keys-order': 0,
        'top-level-properties-order': 0,
        'service-dependencies-alphabetical-order': 0,
        'service-ports-alphabetical-order': 0,
        'no-build-and-image': 0,
        'require-quotes-in-ports': 0,
        'no-quotes-in-volumes': 0,
        'no-unbound-port-interfaces': 0,
      },
      quiet: false,
      debug: false,
      exclude: [],
    });
    return lintResultSchema
      .parse(linter.lintFiles([file], false))
      .flatMap(({ messages }) =>
        messages.map(({ line, message, rule }) => `line ${line}: ${message} (${rule})`),
      );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
