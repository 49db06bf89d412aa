/** An error with a message for the user, printed without a stack. */
export class StackError extends Error {
  override readonly name = 'StackError';
}
