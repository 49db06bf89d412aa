import { afterAll, expect } from '@jest/globals';
import { findUndocumentedCodes } from '@tessera/testing/error-codes';
import { findLeaks } from '@tessera/testing/leaks';

// Runs in every test file: no log line and no response may contain a secret, and each error response has a code that
// its operation documents.
afterAll(() => {
  expect(findLeaks()).toEqual([]);
  expect(findUndocumentedCodes()).toEqual([]);
});
