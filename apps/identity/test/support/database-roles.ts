/** The role of the service under test, as in production. */
export const serviceRole = { role: 'identity', password: 'identity' };

/** The role that migrates, and that tests use to read and arrange rows. */
export const ownerRole = { role: 'identity_owner', password: 'identity_owner' };
