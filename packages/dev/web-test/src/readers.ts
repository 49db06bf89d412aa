import type { Person, Web } from './web.ts';

let count = 0;

/** A person whose inbox is empty, and who is known to the service. */
export async function aReader(web: Web): Promise<Person> {
  count += 1;
  const person = await web.createPerson(`reader${count}`, `Reader ${count}`);
  await person.api.me();
  return person;
}

/** Someone mentions a person in new issues. Their notifications are made when this resolves. */
export async function mention(by: Person, person: Person, titles: readonly string[]): Promise<string[]> {
  const { username } = await person.api.me();
  const keys: string[] = [];
  for (const title of titles)
    keys.push((await by.api.create({ title, description: `@${username} look` })).key);
  const isThere = async () => {
    const found = await person.api.notificationsIfChanged({ limit: 100 });
    const known = found?.notifications.map(({ issue }) => issue.title) ?? [];
    return titles.every((title) => known.includes(title));
  };
  while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 100));
  return keys;
}
