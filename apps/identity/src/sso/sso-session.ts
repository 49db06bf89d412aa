/** How long a browser stays signed in without a request of an application, and at most. */
export const idleSeconds = 14 * 86_400;
export const absoluteSeconds = 30 * 86_400;

/** Maximum number of browsers in which a person is signed in. A further sign-in ends the oldest session. */
export const sessionsMax = 100;

/** The authentication of a sign-in with a password (RFC 8176). */
export const passwordMethods = ['pwd'];
export const passwordLevel = 'aal1';
