import type { ClientMessage } from '@tessera/testing/postgres-proxy';
import type { RecordedStatement } from './statement-recorder.ts';

/** Tells of each statement that the messages of one connection carry out, with the values that are bound to it. */
export function statementReader(
  onStatement: (statement: RecordedStatement) => void,
): (message: ClientMessage) => void {
  const named = new Map<string, string>();
  return ({ type, texts: [first = '', second = ''], bytes }) => {
    if (type === 'P') named.set(first, second);
    if (type === 'Q') onStatement({ text: first, values: [] });
    if (type === 'B') {
      const start = headerLength + Buffer.byteLength(first) + 1 + Buffer.byteLength(second) + 1;
      onStatement({ text: named.get(second) ?? '', values: new BoundValues(bytes.subarray(start)).read() });
    }
  };
}

// A message's type and length.
const headerLength = 5;

/** A Bind's parameters, from where their formats begin. */
class BoundValues {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): (string | null)[] {
    const formats = Array.from({ length: this.#int16() }, () => this.#int16());
    if (formats.includes(1)) throw new Error('a parameter in binary form cannot be replayed');
    return Array.from({ length: this.#int16() }, () => this.#value());
  }

  #value(): string | null {
    const length = this.#bytes.readInt32BE(this.#at);
    this.#at += 4;
    if (length === -1) return null;
    const value = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return value;
  }

  #int16(): number {
    const value = this.#bytes.readInt16BE(this.#at);
    this.#at += 2;
    return value;
  }
}
