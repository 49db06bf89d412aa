/** Returns the URL of a service without a trailing slash. @throws TypeError for a URL that is not one of a service */
export function checkedBaseUrl(baseUrl: unknown): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  const problem = url === null ? 'must be an absolute URL, such as https://issues.example' : urlProblem(url);
  // Without the value, which may have a password.
  if (url === null || problem !== undefined) throw new TypeError(`the URL of the service ${problem}`);
  return url.href.replace(/\/$/, '');
}

function urlProblem({ protocol, username, password, href }: URL): string | undefined {
  if (protocol !== 'http:' && protocol !== 'https:')
    return `must begin with http:// or https://, not ${protocol}`;
  if (username !== '' || password !== '') return 'must not contain a user name or a password';
  return /[?#]/.test(href) ? 'must not have a query or a fragment' : undefined;
}
