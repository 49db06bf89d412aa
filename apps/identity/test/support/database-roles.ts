/** The role that the service under test runs under, as in production. */
export const serviceRole = { role: 'identity', password: 'identity' };

/** The role that migrates, and that tests look and arrange with. */
export const ownerRole = { role: 'identity_owner', password: 'identity_owner' };
