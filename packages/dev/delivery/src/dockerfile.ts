import { ValidationSeverity, validate } from 'dockerfile-utils';

/** The problems of a Dockerfile, by the language's rules and this project's (docker/README.md), one line each. */
export function findDockerfileProblems(text: string): string[] {
  const language = validate(text, {
    deprecatedMaintainer: ValidationSeverity.ERROR,
    instructionCasing: ValidationSeverity.ERROR,
    instructionCmdMultiple: ValidationSeverity.ERROR,
    instructionEntrypointMultiple: ValidationSeverity.ERROR,
    instructionHealthcheckMultiple: ValidationSeverity.ERROR,
    instructionWorkdirRelative: ValidationSeverity.ERROR,
  });
  const lines = text.split('\n');
  return [
    ...language.map(({ range, message }) => `line ${range.start.line + 1}: ${message}`),
    ...findBrokenRules(lines),
  ];
}

function findBrokenRules(lines: readonly string[]): string[] {
  const problems: string[] = [];
  const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const last = (instruction: string) => lastStage.findLast((line) => line.startsWith(`${instruction} `));
  const user = last('USER')?.slice('USER '.length);
  if (user === undefined || !/^[1-9]\d*:[1-9]\d*$/.test(user))
    problems.push('the image does not run as a numbered user');
  for (const instruction of ['ENTRYPOINT', 'CMD'])
    if (!last(instruction)?.startsWith(`${instruction} [`))
      problems.push(`${instruction} is not in exec form`);
  const healthcheck = lastStage.join('\n').match(/^HEALTHCHECK [^[]*?CMD (.)/m);
  if (healthcheck?.[1] !== '[') problems.push('HEALTHCHECK is missing or not in exec form');
  if (!lastStage.some((line) => line.includes('org.opencontainers.image.')))
    problems.push('the image has no labels');
  if (lines.some((line) => /^ADD /.test(line))) problems.push('ADD may download and unpack files; use COPY');
  if (lines.some((line) => /^# *syntax=/.test(line)))
    problems.push('a syntax line downloads another builder');
  if (lines.some((line) => /^(FROM|ARG \w+=)[^$]*(:latest|[^:]@)/.test(line)))
    problems.push('a base image has no fixed tag');
  if (lines.some((line) => /^(ENV|ARG) \w*(PASSWORD|SECRET|TOKEN|PRIVATE_KEY)/.test(line)))
    problems.push('the image contains a secret');
  return problems;
}
