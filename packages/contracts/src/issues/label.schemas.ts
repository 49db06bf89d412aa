import { z } from 'zod';
import { isVisibleName, oneLine, trimName, uuid } from '../text.schemas.ts';

export const labelNameMaxLength = 50;
/** Maximum numbers of labels of the service and of an issue. */
export const labelsMax = 500;
export const issueLabelsMax = 20;

const labelName = oneLine(labelNameMaxLength, trimName);
const newLabelName = labelName.check(isVisibleName());
const colorPattern = /^#[0-9A-Fa-f]{6}$/;
const colorInput = z.string().regex(colorPattern, { error: 'must be #rrggbb' }).toLowerCase();
export const labelColorDefault = '#cccccc';

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

export const labelSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    color: z.string().meta({ example: '#d73a4a' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Label' });
export type Label = z.infer<typeof labelSchema>;

/** A label of an issue. */
export const issueLabelSchema = labelSchema
  .pick({ id: true, name: true, color: true })
  .meta({ id: 'IssueLabel' });
export type IssueLabel = z.infer<typeof issueLabelSchema>;

const issueLabelsError = { error: `must be at most ${issueLabelsMax} labels` };

/** A label of an issue in a request: its name, or its id from a response, which stays when the label is renamed. */
export type LabelReference = string | { id: string };

const labelReference = z.union([
  labelName,
  z.object({ id: uuid() }),
  z.object({ name: labelName }).transform(({ name }) => name),
]);

/** The labels of an issue in a request: names, or labels from a response. */
export const labelsInput = z
  .preprocess(
    // The schema would otherwise parse all items before it counts them.
    (value) => (Array.isArray(value) ? value.slice(0, issueLabelsMax + 1) : value),
    z.array(labelReference).max(issueLabelsMax, issueLabelsError),
  )
  .describe('Names of existing labels, case-insensitive, or labels from a response, by id. The whole list.');

/** A filter of a list of issues by labels. Commas do not separate names, because a name may contain a comma. */
export const labelFilter = z.preprocess(
  (given) => (Array.isArray(given) ? given.slice(0, issueLabelsMax + 1) : [given]),
  z.array(labelName).max(issueLabelsMax, issueLabelsError),
);

/** POST /api/v1/labels/ */
export const createLabelSchema = z
  .object({ name: newLabelName, color: colorInput.default(labelColorDefault) })
  .meta({ id: 'CreateLabel' });
export type CreateLabel = z.output<typeof createLabelSchema>;

/** PATCH /api/v1/labels/{id}/ */
export const updateLabelSchema = z
  .object({ name: newLabelName.optional(), color: colorInput.optional() })
  .refine(({ name, color }) => name !== undefined || color !== undefined, {
    error: 'must hold at least one of name, color',
  })
  .meta({ id: 'UpdateLabel' });
export type UpdateLabel = z.output<typeof updateLabelSchema>;
