import { describe, expect, it } from '@jest/globals';
import { messageReader } from '@tessera/testing/postgres-proxy';
import { recipeOf, valuesFor } from '../src/recording/recipe.ts';
import { statementReader } from '../src/recording/statement-reader.ts';
import type { RecordedStatement } from '../src/recording/statement-recorder.ts';

describe('what a client tells PostgreSQL', () => {
  const text = 'SELECT $1, $2';
  const conversation = Buffer.concat([
    message('', int32(196_608), zero('user'), zero('someone'), zero('')),
    message('P', zero('named'), zero(text), int16(0)),
    message(
      'B',
      zero(''),
      zero('named'),
      int16(0),
      int16(2),
      int32(3),
      Buffer.from('one'),
      int32(-1),
      int16(0),
    ),
    message('E', zero(''), int32(0)),
    message('S'),
    message('Q', zero('BEGIN')),
  ]);
  const wanted: RecordedStatement[] = [
    { text, values: ['one', null] },
    { text: 'BEGIN', values: [] },
  ];

  it.each([1, 7, conversation.length])('is read from pieces of %d bytes', (size) => {
    const statements: RecordedStatement[] = [];
    const read = messageReader(statementReader((statement) => statements.push(statement)));
    for (let at = 0; at < conversation.length; at += size) read(conversation.subarray(at, at + size));
    expect(statements).toEqual(wanted);
  });
});

describe('a recorded request', () => {
  const statements = [
    { text: 'INSERT INTO rate_limits VALUES ($1)', values: ['7'] },
    { text: 'SELECT $1, $2, $3, $4', values: ['id-1', 'ISS', null, '{"id-1"}'] },
  ];

  it('is repeated for another one, without the accounting', () => {
    const [statement, ...others] = recipeOf(statements, { id: 'id-1' }).statements;
    expect(others).toEqual([]);
    if (statement === undefined) throw new Error('no statement');
    expect(valuesFor(statement, { id: 'id-2' })).toEqual(['id-2', 'ISS', null, '{"id-2"}']);
    expect(() => valuesFor(statement, {})).toThrow('id');
  });
});

function message(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function zero(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}
