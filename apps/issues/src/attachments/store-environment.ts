import { isRepetitive } from '@tessera/service-kit';
import { z } from 'zod';
import { storeNames } from './blob-store.ts';
import type { S3Config } from './s3.store.ts';

/** Secrets, which can also be read from files. */
export const storeSecretNames = ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const;

const visible = z.string().regex(/^[\x21-\x7e]{1,512}$/, { error: 'must be visible ASCII without spaces' });

/** The part of the environment schema that configures the store of files. */
export const storeVariables = {
  ATTACHMENT_STORE: z.enum(storeNames, { error: 'must be database or s3' }).default('database'),
  S3_ENDPOINT: z
    .string()
    .regex(/^https?:\/\/[^\s?#@]+$/, {
      error: 'must be an http(s) URL without query, fragment and credentials',
    })
    .refine(URL.canParse, { error: 'must be an http(s) URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, { error: 'must be the name of a bucket' })
    .optional(),
  S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,50}$/, { error: 'must be the name of a region' })
    .default('us-east-1'),
  S3_ACCESS_KEY_ID: visible.optional(),
  S3_SECRET_ACCESS_KEY: visible.optional(),
};

const environment = z.object(storeVariables);
type StoreEnvironment = Partial<z.output<typeof environment>>;

const required = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const;

/** The problems of the variables, each of which names one. */
export function storeProblems(read: StoreEnvironment, isProduction: boolean): string[] {
  const given = required.filter((name) => read[name] !== undefined);
  if (given.length === 0 && read.ATTACHMENT_STORE !== 's3') return [];
  const problems = required
    .filter((name) => read[name] === undefined)
    .map((name) => `${name}: is required with ATTACHMENT_STORE=s3, and with the other variables of S3`);
  const secret = read.S3_SECRET_ACCESS_KEY ?? '';
  if (isProduction && secret !== '' && (secret.length < 16 || isRepetitive(secret)))
    problems.push('S3_SECRET_ACCESS_KEY: must be random, and at least 16 characters');
  return problems;
}

/** The bucket, also if new files go elsewhere, so that files in it are read; undefined without one. */
export function s3Config(read: StoreEnvironment): S3Config | undefined {
  const { S3_ENDPOINT: endpoint, S3_BUCKET: bucket, S3_REGION: region = 'us-east-1' } = read;
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = read;
  if (!endpoint || !bucket || !accessKeyId || !secretAccessKey) return undefined;
  return { endpoint, bucket, region, accessKeyId, secretAccessKey };
}
