import { afterAll, expect } from '@jest/globals';
import { findLeaks } from '@tessera/testing/leaks';

// Runs in every test file: no log line and no response may contain a secret.
afterAll(() => {
  expect(findLeaks()).toEqual([]);
});
