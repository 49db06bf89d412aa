import { describe, expect, it } from '@jest/globals';
import { readTour } from '../src/tour.ts';

describe('the tour', () => {
  it('contains the commands of the README and its own, and their output', () => {
    const { script, printed } = readTour();
    for (const part of [
      'helpdesk_ticket',
      '/internal/identities',
      '/token',
      '/token/refresh',
      '/jwks',
      '/api/v1/issues',
    ])
      expect(script).toContain(part);
    expect(printed).toEqual(expect.arrayContaining(['Bearer', 'IN_PROGRESS']));
  });

  it('omits the command that starts the services, and code that is not a command', () => {
    expect(readTour().script).not.toMatch(/pnpm|import /);
  });
});
