import type { createLabel, getLabel, Label as WireLabel } from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import type { Label } from '../issue-core/label.ts';
import { shortHash } from '../issue-core/precondition.ts';

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
