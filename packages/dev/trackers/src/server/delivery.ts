import { setTimeout as delay } from 'node:timers/promises';
import type { Response } from 'express';
import type { Fault } from '../fake-tracker.ts';
import type { TrackerResponse } from './exchange.ts';
import type { Recording } from './recording.ts';

const PIECES = 10;

export interface Delivery {
  readonly response: Response;
  readonly recording: Recording;
  readonly fault: Fault | undefined;
  /** Aborted when the server stops; unsent responses are then dropped. */
  readonly outage: AbortSignal;
}

/** Sends the response, changed by the fault. */
export async function deliver(result: TrackerResponse, delivery: Delivery): Promise<void> {
  const { response, recording, fault } = delivery;
  if (fault?.kind === 'reset_after') {
    response.socket?.destroy();
    return;
  }
  if (fault?.kind === 'status_after') {
    const { status = 500, headers = {}, body } = fault;
    return deliver({ status, headers, body }, { ...delivery, fault: undefined });
  }
  recording.status = result.status;
  const whole = textOf(result.body);
  const text = fault?.kind === 'truncated_json' ? whole.slice(0, Math.floor(whole.length / 2)) : whole;
  const type = typeof result.body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(result.status, {
    ...(whole === '' ? {} : { 'content-type': `${type}; charset=utf-8` }),
    'content-length': Buffer.byteLength(text),
    ...result.headers,
  });
  if (fault?.kind === 'slow_body') await writeSlowly(text, fault.ms ?? 1_000, delivery);
  else response.end(text);
}

async function writeSlowly(text: string, ms: number, { response, outage }: Delivery): Promise<void> {
  const bytes = Buffer.from(text);
  const size = Math.max(1, Math.ceil(bytes.length / PIECES));
  response.flushHeaders();
  for (let start = 0; start < bytes.length; start += size) {
    await delay(ms / PIECES, undefined, { signal: outage });
    if (response.destroyed) return;
    response.write(bytes.subarray(start, start + size));
  }
  response.end();
}

function textOf(body: unknown): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}
