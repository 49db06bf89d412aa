import { afterAll, expect } from '@jest/globals';
import { findLeaks } from '@tessera/testing/leaks';

// In every test file: nothing that was logged or answered in it may hold a secret.
afterAll(() => {
  expect(findLeaks()).toEqual([]);
});
