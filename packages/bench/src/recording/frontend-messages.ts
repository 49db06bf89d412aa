import type { RecordedStatement } from './statement-recorder.ts';

/**
 * Reads what a client sends to PostgreSQL ("Message Formats" of its manual): a type of one byte and a length that counts
 * itself; the first message has no type.
 * @returns takes the bytes as they come
 */
export function readMessages(onStatement: (statement: RecordedStatement) => void): (chunk: Buffer) => void {
  const texts = new Map<string, string>();
  let unread: Buffer = Buffer.alloc(0);
  let isStarted = false;
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const offset = isStarted ? 1 : 0;
      if (unread.length < offset + 4) return;
      const length = offset + unread.readInt32BE(offset);
      if (unread.length < length) return;
      const body = new MessageBody(unread.subarray(offset + 4, length));
      const type = isStarted ? String.fromCharCode(unread[0] ?? 0) : '';
      unread = unread.subarray(length);
      isStarted = true;
      if (type === 'P') texts.set(body.text(), body.text());
      if (type === 'Q') onStatement({ text: body.text(), values: [] });
      if (type === 'B') {
        body.text();
        onStatement({ text: texts.get(body.text()) ?? '', values: body.values() });
      }
    }
  };
}

class MessageBody {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Up to the next zero byte. */
  text(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }

  /** A Bind's parameters, whose formats come first. */
  values(): (string | null)[] {
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
