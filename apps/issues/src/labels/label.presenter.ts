import type { createLabel, getLabel, Label as WireLabel } from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import { shortHash } from '../issues/precondition.ts';
import type { Label } from './label.ts';

/** Converts a label to its representation in the API. */
export function presentLabel({ id, name, color, createdAt, updatedAt }: Label): WireLabel {
  return { id, name, color, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
}

export function labelResponse(
  label: Label,
): ResponseOf<typeof getLabel> & { status: 200; headers: { ETag: string } } {
  const body = jsonText(presentLabel(label));
  return { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body };
}

export function createdLabelResponse(label: Label, labelsUrl: string): ResponseOf<typeof createLabel> {
  const { headers, body } = labelResponse(label);
  return { status: 201, headers: { ...headers, Location: `${labelsUrl}${label.id}/` }, body };
}
