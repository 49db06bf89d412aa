/** A problem whose message is written for the person at the terminal: shown alone, without a stack. */
export class StackError extends Error {
  override readonly name = 'StackError';
}
