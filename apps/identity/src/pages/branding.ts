import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { ConfigError } from '@tessera/service-kit';
import type { Config } from '../config.ts';
import { type Asset, defaultLogo, imageAsset, styleAsset } from './assets.ts';
import { brandColors } from './color.ts';
import { builtInMessages, type Messages } from './messages/messages.ts';
import { parseMessages } from './messages/parse-messages.ts';

/** What an operator decides about the pages; read once, at start. */
export interface Branding {
  name: string;
  logo: Asset;
  hasOwnLogo: boolean;
  style: Asset;
  /** By the id of the client. */
  clientLogos: ReadonlyMap<string, Asset>;
  /** By language, such as `en`. */
  messages: ReadonlyMap<string, Messages>;
}

const maxFiles = 200;
const maxLogoBytes = 64 * 1024;
const maxMessagesBytes = 64 * 1024;

/** Throws a `ConfigError` that names each variable and file that cannot be used. */
export async function readBranding(config: Config['branding'], basePath: string): Promise<Branding> {
  const problems: string[] = [];
  const attempt = async <Result>(reading: Promise<Result>, fallback: Result): Promise<Result> => {
    try {
      return await reading;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
      return fallback;
    }
  };
  const { name, color, logo, clientLogos, messages } = config;
  const colors = brandColors(color);
  const standIn = defaultLogo(name, colors, basePath);
  const branding: Branding = {
    name,
    hasOwnLogo: logo !== undefined,
    style: await styleAsset(colors, basePath),
    logo: logo === undefined ? standIn : await attempt(readLogo('BRAND_LOGO', logo, basePath), standIn),
    clientLogos:
      clientLogos === undefined
        ? new Map()
        : await attempt(readClientLogos(clientLogos, basePath), new Map()),
    messages: await attempt(readMessages(messages), new Map()),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return branding;
}

async function readLogo(source: string, path: string, basePath: string): Promise<Asset> {
  const asset = imageAsset(await readBounded(source, path, maxLogoBytes), basePath);
  if (asset === undefined) throw new ConfigError([`${source}: must be an SVG, PNG or WebP image`]);
  return asset;
}

/** Reads `<client id>.svg`, `.png` and `.webp`. */
async function readClientLogos(folder: string, basePath: string): Promise<Map<string, Asset>> {
  const names = await listFolder('BRAND_CLIENT_LOGOS', folder);
  const logos = await settle(
    names.map(async (name) => {
      const extension = extname(name);
      const logo = await readLogo(`BRAND_CLIENT_LOGOS: ${name}`, join(folder, name), basePath);
      return [name.slice(0, name.length - extension.length), logo] as const;
    }),
  );
  return new Map(logos);
}

/** Reads `<language>.json`. A file replaces texts of a language, or adds a language with all its texts. */
async function readMessages(folder: string | undefined): Promise<Map<string, Messages>> {
  const languages = new Map(Object.entries(builtInMessages));
  if (folder === undefined) return languages;
  const names = await listFolder('BRAND_MESSAGES', folder);
  const added = await settle(
    names.map(async (name) => {
      const source = `BRAND_MESSAGES: ${name}`;
      const language = /^([a-z]{2,3})\.json$/.exec(name)?.[1];
      if (language === undefined) throw new ConfigError([`${source}: must be named like de.json`]);
      const content = await readBounded(source, join(folder, name), maxMessagesBytes);
      return [language, parseMessages(source, content.toString('utf8'), languages.get(language))] as const;
    }),
  );
  return new Map([...languages, ...added]);
}

async function listFolder(variable: string, folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch(() => {
    throw new ConfigError([`${variable}: the folder cannot be read`]);
  });
  // Kubernetes mounts a volume with links whose names start with a dot.
  const names = entries.filter((name) => !name.startsWith('.')).sort();
  if (names.length > maxFiles) throw new ConfigError([`${variable}: has more than ${maxFiles} files`]);
  return names;
}

async function readBounded(source: string, path: string, maxBytes: number): Promise<Buffer> {
  const refuse = (problem: string) => new ConfigError([`${source}: ${problem}`]);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) throw refuse('cannot be read');
  if (found.size > maxBytes) throw refuse(`is larger than ${maxBytes / 1024} KiB`);
  return readFile(path).catch(() => {
    throw refuse('cannot be read');
  });
}

/** Collects the problems of all. */
async function settle<Result>(readings: readonly Promise<Result>[]): Promise<Result[]> {
  const settled = await Promise.allSettled(readings);
  const problems = settled.flatMap((result) => {
    if (result.status === 'fulfilled') return [];
    if (result.reason instanceof ConfigError) return result.reason.problems;
    throw result.reason;
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}
