import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http';
import type { Attachment } from '@tessera/contracts';
import type { Response, Test } from 'supertest';
import type { TestPerson } from './people.ts';
import type { TestApp } from './test-app.ts';

export const attachmentsPath = '/api/v1/attachments/';

export function filePath(file: { id: string }, part = ''): string {
  return `${attachmentsPath}${file.id}/${part}`;
}

/** Sends bytes as a file. `query`: further parameters. */
export function sendFile(person: TestPerson, bytes: Uint8Array, name = 'shot.png', query = ''): Test {
  return person
    .post(`${attachmentsPath}?name=${encodeURIComponent(name)}${query}`)
    .set('Content-Type', 'application/octet-stream')
    .send(Buffer.from(bytes));
}

/** Uploads a file. */
export async function uploadFile(
  person: TestPerson,
  bytes: Uint8Array = randomBytes(1_000),
  name = 'shot.png',
  query = '',
): Promise<Attachment> {
  const response = await sendFile(person, bytes, name, query);
  if (response.status !== 201) throw new Error(`not uploaded: ${response.status} ${response.text}`);
  return response.body;
}

export interface UploadAnswer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  body: { id: string; code?: string };
}

/** Sends all bytes of a file but the last one, on a connection of its own. */
export function holdUpload(
  { token }: Pick<TestPerson, 'token'>,
  { url }: { url: string },
  bytes: Uint8Array,
  query: string,
) {
  const request = send(`${url}${attachmentsPath}?name=held.bin${query}`, {
    method: 'POST',
    agent: false,
    headers: { Authorization: `Bearer ${token}`, 'Content-Length': bytes.length },
  });
  // A refused upload ends before all bytes are sent.
  request.on('error', () => undefined);
  request.write(bytes.subarray(0, -1));
  const answer = answerOf(request);
  return {
    answer,
    /** Sends the last byte. */
    end: () => {
      request.end(bytes.subarray(-1));
      return answer;
    },
    destroy: () => request.destroy(),
  };
}

async function answerOf(request: ReturnType<typeof send>): Promise<UploadAnswer> {
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('there is no response');
  const { statusCode: status, headers } = response;
  const body = Buffer.concat(await response.toArray()).toString();
  return { status, headers, body: JSON.parse(body) };
}

/** Reads the bytes of a file. */
export function readFileOf(person: TestPerson, file: { id: string }): Test {
  return person.get(filePath(file, 'content/')).buffer(true).parse(bytesOf);
}

export function bytesOf(response: Response, done: (error: Error | null, body: Buffer) => void): void {
  const parts: Buffer[] = [];
  const stream = response as unknown as NodeJS.ReadableStream;
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.on('end', () => done(null, Buffer.concat(parts)));
  stream.on('error', (error: Error) => done(error, Buffer.concat(parts)));
}

export const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** A picture of one colour, which is only as much of a PNG as is looked at. */
export function aPng(width = 4, height = 3): Buffer {
  const header = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\0\0\x08\x02\0\0\0', 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return Buffer.concat([header, randomBytes(100)]);
}

/** What would break a promise of the stores: bytes without a row, a file without bytes, a sum that is wrong. */
export async function storedFaults(app: Pick<TestApp, 'sql'>): Promise<Record<string, unknown>[]> {
  return app.sql(`
    SELECT 'bytes without a row' AS fault, key::text AS what FROM attachment_chunks
     WHERE key NOT IN (SELECT key FROM attachments WHERE state = 'stored') AND key NOT IN (SELECT key FROM blob_deletions)
    UNION
    SELECT 'a file without its bytes', id::text FROM attachments a
     WHERE state = 'stored' AND store = 'database' AND size <> (
       SELECT coalesce(sum(octet_length(bytes)), 0) FROM attachment_chunks c WHERE c.key = a.key)
    UNION
    SELECT 'a key with a file that is to be deleted', key::text FROM blob_deletions
     WHERE key IN (SELECT key FROM attachments WHERE state = 'stored')
    UNION
    SELECT 'a wrong count', id::text FROM issues i
     WHERE attachments_count <> (SELECT count(*) FROM attachments a WHERE a.issue_id = i.id AND a.state = 'stored')
    UNION
    SELECT 'a wrong sum', store FROM attachment_usage u
     WHERE bytes <> (SELECT coalesce(sum(greatest(size, 65536)), 0) FROM attachments a WHERE a.store = u.store AND state = 'stored')
                  + (SELECT coalesce(sum(charge), 0) FROM blob_deletions d WHERE d.store = u.store)`);
}
