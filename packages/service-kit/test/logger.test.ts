import { describe, expect, it } from '@jest/globals';
import { keepLogLines } from './support/log-lines.ts';

const secret = 'hunter2-hunter2';

describe('createLogger', () => {
  it('writes one JSON object per line, with service, level name and UTC time', () => {
    const { logger, lines } = keepLogLines();
    logger.warn({ attempts: 3 }, 'slow\nline');
    expect(lines).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        service: 'kit-test',
        attempts: 3,
        msg: 'slow\nline',
      },
    ]);
  });

  it('writes nothing below its level', () => {
    const { logger, lines } = keepLogLines('warn');
    logger.info('quiet');
    expect(lines).toEqual([]);
  });

  it.each([
    'password',
    'password_hash',
    'passwordHash',
    'access_token',
    'refresh_token',
    'token',
    'authorization',
    'Authorization',
    'x-service-token',
    'cookie',
  ])('redacts %s at the first three levels', (name) => {
    const { logger, lines, text } = keepLogLines();
    logger.info(
      { [name]: secret, body: { [name]: secret }, request: { headers: { [name]: secret } } },
      'logged',
    );
    expect(text()).not.toContain(secret);
    expect(lines[0]).toMatchObject({ [name]: '[redacted]', body: { [name]: '[redacted]' } });
  });

  it('writes type, message, code, stack and causes of an error, and no other members', () => {
    const { logger, lines, text } = keepLogLines();
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED', body: secret });
    const error = Object.assign(new TypeError('the tracker did not answer', { cause }), {
      config: { headers: { Authorization: secret }, data: secret },
      detail: `Key (email)=(${secret}) already exists.`,
    });
    logger.error({ err: error }, 'request failed');
    expect(lines[0]?.err).toEqual({
      type: 'TypeError',
      message: 'the tracker did not answer',
      stack: expect.stringContaining('logger.test.ts'),
      cause: { type: 'Error', message: 'connect refused', code: 'ECONNREFUSED', stack: expect.any(String) },
    });
    expect(text()).not.toContain(secret);
  });

  it('handles an error that is its own cause, and a thrown value that is no error', () => {
    const { logger, lines } = keepLogLines();
    const error = new Error('a circle');
    error.cause = error;
    logger.error({ err: error });
    logger.error({ err: 'just text' });
    logger.error({ err: { password: secret } });
    logger.error({ err: undefined });
    expect(lines.map((line) => line.err)).toEqual([
      expect.objectContaining({ message: 'a circle' }),
      { type: 'string', message: 'just text' },
      { type: 'object', message: 'no Error' },
      undefined,
    ]);
  });
});
