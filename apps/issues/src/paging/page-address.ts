/** The query of a request, as it was sent. */
export type Parameters = readonly (readonly [name: string, value: string])[];

export function parametersOf(requestUrl = ''): Parameters {
  const start = requestUrl.indexOf('?');
  return start === -1 ? [] : [...new URLSearchParams(requestUrl.slice(start))];
}

/** The address of another page: the same query but for these parameters; undefined takes one away. */
export function pageAddress(
  listUrl: string,
  parameters: Parameters,
  changed: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(listUrl);
  for (const [name, value] of parameters) if (!(name in changed)) url.searchParams.append(name, value);
  for (const [name, value] of Object.entries(changed)) {
    if (value !== undefined) url.searchParams.append(name, value);
  }
  return url.href;
}

/** The `Link` header (RFC 8288) to the next page, where there is one. */
export function nextLink(
  listUrl: string,
  parameters: Parameters,
  cursor: string | undefined,
): Record<string, string> {
  return cursor === undefined
    ? {}
    : { Link: `<${pageAddress(listUrl, parameters, { cursor })}>; rel="next"` };
}
