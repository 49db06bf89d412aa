import { startPostgresProxy } from '@tessera/testing/postgres-proxy';
import { statementReader } from './statement-reader.ts';

/** What a service told PostgreSQL to do. */
export interface RecordedStatement {
  text: string;
  values: (string | null)[];
}

/** In front of a PostgreSQL; what passes through is written down when asked to. */
export interface StatementRecorder {
  /** The server's URL, by way of the recorder. */
  url: string;
  /** Answers what was executed while the action ran. */
  record(action: () => Promise<void>): Promise<RecordedStatement[]>;
  close(): Promise<void>;
}

/** @param target a URL of the server; nothing is changed on the way */
export async function startStatementRecorder(target: string): Promise<StatementRecorder> {
  let recorded: RecordedStatement[] | undefined;
  const { port, close } = await startPostgresProxy(target, (forward) => {
    const read = statementReader((statement) => recorded?.push(statement));
    return (message) => {
      read(message);
      forward(message.bytes);
    };
  });
  return {
    url: withPort(target, port),
    record: async (action) => {
      const statements: RecordedStatement[] = [];
      recorded = statements;
      try {
        await action();
      } finally {
        recorded = undefined;
      }
      return statements;
    },
    close,
  };
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(port);
  return changed.href;
}
