import { createLogger, type Logger } from '../../src/index.ts';

export interface LogLine {
  level: string;
  msg?: string;
  [member: string]: unknown;
}

/** A logger that keeps its lines, parsed. */
export function keepLogLines(level = 'trace'): { logger: Logger; lines: LogLine[]; text: () => string } {
  const written: string[] = [];
  const lines: LogLine[] = [];
  const destination = {
    write: (line: string) => {
      written.push(line);
      lines.push(JSON.parse(line));
    },
  };
  return {
    logger: createLogger({ service: 'kit-test', level, destination }),
    lines,
    text: () => written.join(''),
  };
}
