/** Where programs are found; the services get nothing else of this process's environment. */
export const searchPath = process.env.PATH;
