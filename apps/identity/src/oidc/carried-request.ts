import { uuid } from '@tessera/contracts';
import { z } from 'zod';
import type { Parameters } from './parameters.ts';

/** With more, a page could have more than 15 kB. */
const lengthMax = 9_216;
/** Of a value in an address: the page that goes on to the application has it twice. */
const valueMax = 4_096;

type Pairs = ReadonlyArray<readonly [string, string | undefined]>;

const carriedSchema = z.object({ subject: uuid().optional() }).catchall(z.string());

/** A request of an application that a form of a page carries, so that the service keeps no state of the browser. */
export interface CarriedRequest {
  parameters: Parameters;
  /** The person of the ID token hint. The page does not repeat the token. */
  subject: string | undefined;
}

/**
 * Writes a request for the field `request` of a form, without characters that HTML or a form would escape. So a page is never
 * longer for the texts of an application, and the form that comes back is as long as the page had it.
 */
export function carry(parameters: Pairs, subject?: string): string {
  return Buffer.from(JSON.stringify(Object.fromEntries([...parameters, ['subject', subject]]))).toString(
    'base64url',
  );
}

export function isTooLongToCarry(parameters: Pairs): boolean {
  return carry(parameters).length > lengthMax;
}

export function isTooLongForAddress(value = ''): boolean {
  return String(new URLSearchParams({ '': value })).length > valueMax;
}

/** The request of a form; undefined without one, null if no page has written it. */
export function readCarried(form: Parameters): CarriedRequest | null | undefined {
  const text = form.get('request');
  if (text === undefined) return undefined;
  try {
    const { subject, ...values } = carriedSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()));
    return { parameters: new Map(Object.entries(values)), subject };
  } catch {
    return null;
  }
}
